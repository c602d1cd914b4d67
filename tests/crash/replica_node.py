"""A broker of `replicated`: its partitions, whom they follow, and what it has heard."""

import shutil
from collections import defaultdict, deque
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from odradek.broker.cluster.fetchers.fetch_settings import fetch_settings
from odradek.broker.cluster.fetchers.followed_partition import FollowedPartition
from odradek.broker.cluster.fetchers.replica_fetcher import (
    FollowerParts,
    ReplicaFetcher,
)
from odradek.broker.cluster.isr_changes import IsrChanges
from odradek.broker.cluster.throttles import make_throttles
from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.broker.handlers.records.list_offsets import handle_list_offsets
from odradek.broker.metadata.topic import NewTopic
from odradek.broker.replica.decisions import Decisions
from odradek.broker.replica.follower_replicas import FollowerReplicas
from odradek.broker.replica.partition.partition import Partition
from odradek.broker.replica.partition.replica_state import LeaderAndIsr
from odradek.broker.replica.partition.replication import Replication
from odradek.broker.runtime.bugs import Bugs
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.list_offsets import ListOffsetsRequest
from odradek.protocol.topic_partition import TopicPartition
from tests.crash.deciding_controller import MIN_INSYNC, NOBODY, TOPIC_ID
from tests.fakes.answers import fetched
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, replicas

if TYPE_CHECKING:
    from odradek.broker.replica.partition.follower import Reads
    from odradek.protocol.messages.alter_partition import (
        AlterPartitionRequest,
        AlterPartitionResponse,
    )
    from tests.crash.replicated import World

PLACES = (TopicPartition("t", 0), TopicPartition("t", 1))
_FETCH_VERSION = 17
_LIST_OFFSETS_VERSION = 8


class Node:
    """One broker, which may be off. It is its own `Cluster` and `Leaders`."""

    lag_max_ms = 30_000

    def __init__(self, node_id: int, world: "World") -> None:
        self.node_id = node_id
        self.reads: defaultdict[int, WeakSet[Reads]] = defaultdict(WeakSet)
        self.files = FakeFiles()
        self.is_on = False
        self.epoch = 0
        # Its request to the controllers, and their answer, while one is on its way.
        self.asked: AlterPartitionRequest | None = None
        self.answer: AlterPartitionResponse | None = None
        self.late: deque[tuple[TopicPartition, LeaderAndIsr]] = deque()
        self.changes = IsrChanges(node_id)
        self._heard: dict[TopicPartition, LeaderAndIsr] = {}
        self._world = world
        self._directory = world.root / str(node_id)
        self._broker: Replicas | None = None
        self._followed: dict[TopicPartition, FollowedPartition] = {}
        self._fetchers: dict[int, ReplicaFetcher] = {}
        self._stack = AsyncExitStack()

    @property
    def broker(self) -> Replicas:
        assert self._broker is not None
        return self._broker

    def partition(self, place: TopicPartition) -> Partition:
        return self.broker.manager.partition(place)

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
                replica_fetch_max_bytes=self._world.fetch_bytes_max,
            )
        )
        broker.topics.gives_leader_epochs = False
        if broker.topics.get("t") is None:
            wanted = NewTopic("t", len(PLACES), {}, TOPIC_ID)
            await broker.topics.create_topics([wanted])
        broker.manager.cluster = self
        self._followed, self._fetchers = {}, {}
        self.changes, self.asked, self.answer = IsrChanges(self.node_id), None, None
        self.late.clear()
        self.epoch = self._world.new_broker_epoch()
        self._heard = heard = self._world.controllers.decided
        self._decisions = Decisions(self.node_id, broker.manager, heard.get)
        self._decisions.leaders = self
        for place, decided in heard.items():
            self._decisions.decide(place, decided)
        await broker.manager.open(PLACES)
        self.is_on = True
        self._world.unfence(self)

    async def stop(self, *, loses_power: bool) -> None:
        self.is_on = False
        await self._stack.aclose()
        if loses_power:
            self.files.power_cut()

    def forget_everything(self) -> None:
        """Its disk is another one now."""
        self.files = FakeFiles()
        shutil.rmtree(self._directory)

    # Decisions

    def hear(self) -> None:
        """The next decision arrives."""
        place, decided = self.late.popleft()
        self._heard[place] = decided
        self._decisions.decide(place, decided)

    def hear_all(self) -> None:
        """All that are on their way arrive at once: of each partition, the newest."""
        newest, self.late = dict(self.late), deque()
        self._heard.update(newest)
        for place, decided in newest.items():
            self._decisions.decide(place, decided)

    def hear_again(self) -> None:
        """What was decided last is told once more."""
        for place, decided in self._heard.items():
            self._decisions.decide(place, decided)

    def shrink(self) -> None:
        self._decisions.shrink()

    # Leaders

    async def follow_on(self) -> None:
        """Ask one leader once, if there is one."""
        leaders = sorted({each.leader for each in self._followed.values()})
        if leaders:
            leader = self._world.random.choice(leaders)
            await self._fetchers[leader]._step()

    def follow(self, partition: Partition, decided: LeaderAndIsr) -> None:
        place = partition.topic_partition
        known = self._followed.get(place)
        if known is not None and known.leader_epoch == decided.leader_epoch:
            return
        self.forget(place)
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
            link: Any = Link(self._world.nodes[leader], self._world)
            throttles = make_throttles(self.node_id, self.broker.topics, clock)
            parts = FollowerParts(
                self.node_id,
                replicas,
                lambda: self.epoch,
                clock,
                Bugs(_fail),
                settings,
                throttles.follower,
            )
            self._fetchers[leader] = ReplicaFetcher(leader, link, parts)
        followed = FollowedPartition(partition, leader, replicas, clock, settings)
        self._followed[place] = followed
        self._fetchers[leader].add(followed)

    def forget(self, topic_partition: TopicPartition) -> None:
        known = self._followed.pop(topic_partition, None)
        if known is not None:
            known.is_ended = True
            self._fetchers[known.leader].remove(known)

    # Cluster

    def now_ms(self) -> int:
        return self.broker.clock.monotonic_ms()

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self._world.controllers.alive

    def may_be_in_sync(self, broker_id: int, broker_epoch: int) -> bool:
        known = self._world.controllers.alive.get(broker_id)
        return known is not None and broker_epoch in (-1, known)

    def alter_in_sync(self, partition: Partition, proposal: LeaderAndIsr) -> None:
        number = partition.topic_partition.partition
        self.changes.propose(
            TOPIC_ID, number, proposal, partial(_hear_answer, partition, proposal)
        )


def _fail(error: BaseException) -> None:
    raise error


def _hear_answer(partition: Partition, proposal: LeaderAndIsr, answer: Any) -> None:
    if isinstance(partition.replication, Replication):
        partition.replication.on_answer(proposal, answer)


class Link:
    """How one broker asks another."""

    def __init__(self, leader: Node, world: "World") -> None:
        self._leader, self._world = leader, world

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

    ask_briefly = ask

    def prompt(self) -> None:
        """It is asked in full."""

    async def _answer(self, handle: Any, request: Any, version: int) -> Any:
        kind = FetchRequest if handle is handle_fetch else ListOffsetsRequest
        read = kind.decode(request.encode(version), version)
        answer: Any = handle(self._leader.broker.context(version), read)
        return await answer if isinstance(answer, Awaitable) else answer

    def close(self) -> None:
        """Nothing is open."""
