"""Three brokers with a copy each, in memory: they are cut off, elected, and put right.

Decisions reach a broker late, and answers are lost. What happens next a random number
says; the same seed does the same.
"""

import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

from odradek.broker.cluster.fetchers.fetch_settings import fetch_settings
from odradek.broker.cluster.fetchers.followed_partition import FollowedPartition
from odradek.broker.cluster.fetchers.replica_fetcher import (
    FollowerParts,
    ReplicaFetcher,
)
from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.broker.handlers.records.list_offsets import handle_list_offsets
from odradek.broker.metadata.topic import NewTopic
from odradek.broker.replica.decisions import Decisions
from odradek.broker.replica.follower_replicas import FollowerReplicas
from odradek.broker.replica.partition.partition import Partition
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.broker.replica.partition.replication import Replication
from odradek.broker.runtime.parked import Parked
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.list_offsets import ListOffsetsRequest
from odradek.protocol.record_batch import scan
from odradek.protocol.records import iterate
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.crash.deciding_controller import MIN_INSYNC, NOBODY, NODES, Controller
from tests.fakes.answers import fetched
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, batch_of, replicas

T0 = TopicPartition("t", 0)
TOPIC_ID = b"T" * 16
_FETCH_VERSION = 17
_LIST_OFFSETS_VERSION = 8
_SIZE_MAX = 1 << 20


class Proposal(NamedTuple):
    """A leader's, on its way to the controller."""

    partition: Partition
    wanted: LeaderAndIsr


class Node:
    """One broker, which may be off. It is its own `Cluster` and `Leaders`."""

    lag_max_ms = 30_000

    def __init__(self, node_id: int, world: "World") -> None:
        self.node_id = node_id
        self.files = FakeFiles()
        self.is_on = False
        self.epoch = 0
        self.proposals: deque[Proposal] = deque()
        self.late: deque[LeaderAndIsr] = deque()
        self._world = world
        self._directory = world.root / str(node_id)
        self._broker: Replicas | None = None
        self._followed: FollowedPartition | None = None
        self._fetchers: dict[int, ReplicaFetcher] = {}
        self._stack = AsyncExitStack()

    @property
    def broker(self) -> Replicas:
        assert self._broker is not None
        return self._broker

    @property
    def partition(self) -> Partition:
        return self.broker.manager.partition(T0)

    async def start(self) -> None:
        """As one that was killed, or whose power was cut, and is registered anew."""
        self._directory.mkdir(exist_ok=True)
        self._broker = broker = await self._stack.enter_async_context(
            replicas(
                self._directory,
                self.files,
                stops_cleanly=False,
                durability=self._world.durability,
                min_insync_replicas=MIN_INSYNC,
                replica_fetch_wait_max_ms=0,
            )
        )
        broker.topics.gives_leader_epochs = False
        if broker.topics.get("t") is None:
            await broker.topics.create_topics([NewTopic("t", 1, {}, TOPIC_ID)])
        broker.manager.cluster = self
        self._followed, self._fetchers = None, {}
        self.proposals.clear()
        self.late.clear()
        self.epoch = self._world.new_broker_epoch()
        decided = self._world.controller.decided
        self._decisions = Decisions(self.node_id, broker.manager, lambda _: decided)
        self._decisions.leaders = self
        self._decisions.decide(T0, decided)
        await broker.manager.open([T0])
        self.is_on = True
        self._world.unfence(self.node_id)

    async def stop(self, *, loses_power: bool) -> None:
        self.is_on = False
        await self._stack.aclose()
        if loses_power:
            self.files.power_cut()

    def hear(self, count: int | None = None) -> None:
        """The next decisions arrive, one or all."""
        for _ in range(len(self.late) if count is None else count):
            self._decisions.decide(T0, self.late.popleft())

    async def follow_on(self) -> None:
        """Ask the leader once, if there is one."""
        if self._followed is not None:
            await self._fetchers[self._followed.leader]._step()

    # Leaders

    def follow(self, partition: Partition, decided: LeaderAndIsr) -> None:
        known = self._followed
        if known is not None and known.leader_epoch == decided.leader_epoch:
            return
        self.forget(T0)
        if decided.leader == NOBODY:
            return
        replicas = FollowerReplicas(
            self.broker.manager,
            self.broker.logs,
            self.broker.topics,
            self.broker.clock,
        )
        settings = fetch_settings(self.broker.config)
        clock, leader = self.broker.clock, decided.leader
        if leader not in self._fetchers:
            link: Any = Link(self, self._world.nodes[leader], self._world)
            bugs = self.broker.services.bugs
            parts = FollowerParts(
                self.node_id, replicas, lambda: self.epoch, clock, bugs, settings
            )
            self._fetchers[leader] = ReplicaFetcher(leader, link, parts)
        self._followed = FollowedPartition(partition, leader, replicas, clock, settings)
        self._fetchers[leader].add(self._followed)

    def forget(self, topic_partition: TopicPartition) -> None:
        known, self._followed = self._followed, None
        if known is not None:
            known.is_ended = True
            self._fetchers[known.leader].remove(known)

    # Cluster

    def now_ms(self) -> int:
        return self.broker.clock.monotonic_ms()

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self._world.controller.alive

    def may_be_in_sync(self, broker_id: int, broker_epoch: int) -> bool:
        known = self._world.nodes[broker_id].epoch
        return self.is_alive(broker_id) and broker_epoch in (-1, known)

    def alter_in_sync(self, partition: Partition, proposal: LeaderAndIsr) -> None:
        self.proposals.append(Proposal(partition, proposal))


class Link:
    """How one broker asks another."""

    def __init__(self, asker: Node, leader: Node, world: "World") -> None:
        self._asker, self._leader, self._world = asker, leader, world

    async def ask(self, request: Any, response_class: Any, timeout_s: float) -> Any:
        world = self._world
        await world.meanwhile()
        if not self._leader.is_on:
            raise ConnectionError("it is off")
        if isinstance(request, ListOffsetsRequest):
            answer = await self._answer(
                handle_list_offsets, request, _LIST_OFFSETS_VERSION
            )
        else:
            found = await self._answer(handle_fetch, request, _FETCH_VERSION)
            answer = fetched(found, _FETCH_VERSION)
        await world.meanwhile()
        if not world.is_calm and world.random.random() < 0.05:
            raise ConnectionError("the answer is lost")
        return answer

    async def _answer(self, handle: Any, request: Any, version: int) -> Any:
        kind = FetchRequest if handle is handle_fetch else ListOffsetsRequest
        read = kind.decode(request.encode(version), version)
        answer: Any = handle(self._leader.broker.context(version), read)
        return await answer if isinstance(answer, Awaitable) else answer

    def close(self) -> None:
        """Nothing is open."""


class World:
    """The brokers, and what was promised: acknowledged, and shown to readers."""

    def __init__(self, root: Path, seed: int, durability: str = "commit") -> None:
        self.root = root
        self.durability = durability
        self.random = random.Random(seed)
        self.controller = Controller()
        self.nodes = {each: Node(each, self) for each in NODES}
        self.acknowledged: dict[int, bytes] = {}
        self.seen: dict[int, bytes] = {}
        self._waiting: list[tuple[Node, Parked[Any], bytes]] = []
        self._produced = self._broker_epochs = 0
        self._is_inside = False
        self.is_calm = False

    def new_broker_epoch(self) -> int:
        self._broker_epochs += 1
        return self._broker_epochs

    def unfence(self, node_id: int) -> None:
        self._decide(lambda: self.controller.unfence(node_id))

    async def open(self) -> None:
        for each in self.nodes.values():
            await each.start()

    async def close(self) -> None:
        for each in self.nodes.values():
            await each.stop(loses_power=False)

    async def step(self) -> None:
        """Something happens, and what is promised then is noted."""
        node = self.random.choice(list(self.nodes.values()))
        if not node.is_on:
            if self.random.random() < 0.5:
                await node.start()
            return
        chosen = self.random.random()
        if chosen < 0.02:
            await self.cut_off(node, loses_power=self.random.random() < 0.7)
        elif chosen < 0.026:
            await self.black_out()
        elif chosen < 0.45:
            await node.follow_on()
        else:
            self._disturb(node)
        for each in self.nodes.values():
            if each.is_on:  # else chance would be the threads', and not the seed's
                await each.broker.manager.recorded()
        self.note()

    async def meanwhile(self) -> None:
        """While a follower and its leader talk, the rest of the world goes on."""
        if self.is_calm or self._is_inside or self.random.random() < 0.5:
            return
        self._is_inside = True
        nodes = [each for each in self.nodes.values() if each.is_on]
        self._disturb(self.random.choice(nodes))
        self._is_inside = False

    def _disturb(self, node: Node) -> None:
        self.random.choice(
            [self.produce, self.sync, self.hear, self.let_propose, self.shrink]
        )(node)

    # What may happen

    async def cut_off(self, node: Node, *, loses_power: bool) -> None:
        await node.stop(loses_power=loses_power)
        self._decide(lambda: self.controller.fence(node.node_id))

    async def black_out(self) -> None:
        """All lose their power; the controllers notice it of one after the other."""
        nodes = [each for each in self.nodes.values() if each.is_on]
        self.random.shuffle(nodes)
        for each in nodes:
            await self.cut_off(each, loses_power=True)

    def produce(self, node: Node) -> None:
        self._produced += 1
        value = b"%d" % self._produced
        answer = node.broker.manager.append_records(
            {T0: batch_of(value)}, acks=-1, timeout_ms=600_000
        )
        if isinstance(answer, Parked):
            self._waiting.append((node, answer, value))
        else:
            self._take(answer, value)

    def sync(self, node: Node) -> None:
        node.broker.sync()

    def hear(self, node: Node) -> None:
        if node.late:
            node.hear(1)

    def let_propose(self, node: Node) -> None:
        """A proposal reaches the controller; its answer may not come back."""
        if not node.proposals:
            return
        partition, wanted = node.proposals.popleft()
        answer = self._decide(lambda: self.controller.alter(node.node_id, wanted))
        if isinstance(partition.replication, Replication):
            if self.is_calm or self.random.random() < 0.7:
                partition.replication.on_answer(wanted, answer)
            else:
                node.proposals.append(Proposal(partition, wanted))

    def shrink(self, node: Node) -> None:
        if self.random.random() < 0.1:
            node.broker.clock.advance(node.lag_max_ms + 1)
            node._decisions.shrink()

    def _decide(self, act: Callable[[], Any]) -> Any:
        before = self.controller.decided
        answer = act()
        if self.controller.decided != before:
            for each in self.nodes.values():
                if each.is_on:
                    each.late.append(self.controller.decided)
        return answer

    # What is promised

    def note(self) -> None:
        waiting, self._waiting = self._waiting, []
        for node, parked, value in waiting:
            if parked.done() and node.is_on:
                self._take(parked.result(), value)
            elif node.is_on:
                self._waiting.append((node, parked, value))
        for node in self.nodes.values():
            if node.is_on and node.partition.log is not None:
                self.show(node, FetchIsolation.HIGH_WATERMARK)

    def _take(self, results: Any, value: bytes) -> None:
        ((_, result),) = results.items()
        if not result.error_code:
            known = self.acknowledged.setdefault(result.base_offset, value)
            assert known == value, (result.base_offset, known, value)

    def show(self, node: Node, isolation: FetchIsolation) -> None:
        for offset, value in values_of(node, isolation).items():
            known = self.seen.setdefault(offset, value)
            assert known == value, (node.node_id, offset, known, value)

    async def put_right(self) -> None:
        """All are on; they hear and do what there is to be heard and done."""
        self.is_calm = True
        for node in self.nodes.values():
            if not node.is_on:
                await node.start()
        for _ in range(40):
            for node in self.nodes.values():
                node.hear()
                await node.follow_on()
                await node.broker.commit()
                while node.proposals:
                    self.let_propose(node)
                node.hear()
                node.broker.clock.advance(1_000)
            self.note()


def values_of(node: Node, isolation: FetchIsolation) -> dict[int, bytes]:
    """The records of a broker by their offsets, as far as they are to be seen."""
    view, found = node.partition.view, {}
    offset = view.log_start_offset
    while True:
        read = view.read(offset, _SIZE_MAX, isolation, True, True)
        if not len(read.records):
            return found
        data = memoryview(bytes(read.records))
        for position, header in scan(data):
            for record in iterate(data[position : position + header.size]):
                found[record.offset] = bytes(record.value or b"")
            offset = header.next_offset
