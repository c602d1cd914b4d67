"""Three brokers with a copy each, in memory: they are cut off, elected, and put right.

Decisions reach a broker late, several at once, or again; proposals wait, and answers
are lost. What happens next a random number says; the same seed does the same.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from odradek.broker.runtime.parked import Parked
from odradek.protocol.record_batch import scan
from odradek.protocol.records import iterate
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.crash.deciding_controller import NODES, Controllers
from tests.crash.replica_node import PLACES, Node
from tests.fakes.replicas import batch_of

_SIZE_MAX = 1 << 20
_ROUNDS_MAX = 200  # until all copies are one

Place = tuple[TopicPartition, int]  # with an offset


class World:
    """The brokers, and what was promised: acknowledged, and shown to readers."""

    def __init__(self, root: Path, seed: int, durability: str = "commit") -> None:
        self.root = root
        self.durability = durability
        self.random = random.Random(seed)
        # Of a partition: with few, followers are behind most of the time.
        self.fetch_bytes_max = self.random.choice([1, 200, 1 << 20])
        self.controllers = Controllers(PLACES)
        self.nodes = {each: Node(each, self) for each in NODES}
        self.acknowledged: dict[Place, bytes] = {}
        self.seen: dict[Place, bytes] = {}
        self._waiting: list[tuple[Node, Parked[Any], bytes]] = []
        self._produced = self._broker_epochs = 0
        self._is_inside = False
        self.is_calm = self.has_lost_disk = False

    def new_broker_epoch(self) -> int:
        self._broker_epochs += 1
        return self._broker_epochs

    def unfence(self, node: Node) -> None:
        self._decide(lambda: self.controllers.unfence(node.node_id, node.epoch))

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
        elif chosen < 0.03:
            await self.usurp(self.random.choice(PLACES))
        elif chosen < 0.1 and self.is_proposing(node):
            await self.beset(node)
        elif chosen < 0.4:
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
        acts = {
            self.produce: 30,
            self.sync: 25,
            self.hear: 20,
            self.let_propose: 40,
            self.grow_older: 5,
            self.elect: 3,
        }
        (act,) = self.random.choices(list(acts), list(acts.values()))
        act(node)

    # Much at once, as chance alone hardly ever has it

    def is_proposing(self, node: Node) -> bool:
        return node.asked is not None and node.answer is None

    def joining(self, node: Node) -> set[int]:
        """Whom it has proposed to let in."""
        assert node.asked is not None
        decided = self.controllers.decided
        return {
            each.broker_id
            for topic in node.asked.topics
            for wanted in topic.partitions
            for each in wanted.new_isr_with_epochs
            for place in PLACES
            if place.partition == wanted.partition_index
            and each.broker_id not in decided[place].in_sync
        }

    async def beset(self, node: Node) -> None:
        """A proposal is on its way, and agreed to; then its leader is gone.

        Some follow no more, or what they had is lost, who may be those that it lets in.
        """
        others = [x for x in self.nodes.values() if x.is_on and x is not node]
        joining = self.joining(node)
        is_fair = self.random.random() < 0.3
        awake = [x for x in others if is_fair or x.node_id not in joining]
        for _ in range(12):
            self.random.choice(
                [self.produce, self.produce, self.grow_older, Node.hear_again]
            )(node)
            node.broker.sync()
            for other in awake:
                await self.follow_durably(other)
        for other in awake:
            for _ in range(20):
                await self.follow_durably(other)
        self.note()
        lost = [x for x in others if x.node_id in joining]
        if lost and not self.has_lost_disk and self.random.random() < 0.3:
            await self.lose_disk(self.random.choice(lost))
        self.let_propose(node)
        await self.cut_off(node, loses_power=True)

    async def rejoin(self) -> None:
        """A broker was away, and one that leads proposes to let it in again."""
        gone = self.random.choice(list(self.nodes.values()))
        await self.cut_off(gone, loses_power=True)
        others = [each for each in self.nodes.values() if each is not gone]
        for _ in range(10):
            for each in others:
                each.hear_all()
                self.produce(each)
                await self.follow_durably(each)
        await gone.start()
        for _ in range(60):
            await self.follow_durably(gone)
            for each in others:
                each.hear_all()
                if each.asked is None:
                    self.let_propose(each)
                if self.is_proposing(each) and self.joining(each):
                    await self.beset(each)
                    return
                await self.follow_durably(each)

    async def usurp(self, place: TopicPartition) -> None:
        """Another broker leads for a while, and who led before hears of it afterwards.

        Meanwhile the third is cut to what that other one has.
        """
        on = [each for each in self.nodes.values() if each.is_on]
        leader = self.nodes.get(self.controllers.decided[place].leader)
        if leader not in on or len(on) < len(self.nodes):
            return
        usurper, third = self.random.sample([x for x in on if x is not leader], 2)
        for _ in range(3):
            self.produce(leader, place)
            leader.broker.sync()
            for _ in range(6):
                await self.follow_durably(third)
        self._decide(lambda: self.controllers.elect(place, usurper.node_id))
        usurper.hear_all()
        third.hear_all()
        for _ in range(6):
            await self.follow_durably(third)
        await self.cut_off(usurper, loses_power=True)
        leader.hear_all()
        leader.broker.sync()
        self.note()
        await self.cut_off(leader, loses_power=True)

    async def follow_durably(self, node: Node) -> None:
        await node.follow_on()
        node.broker.sync()

    async def lose_disk(self, node: Node) -> None:
        """All that it had is gone; it is there again before anybody wonders."""
        self.has_lost_disk = True
        await self.cut_off(node, loses_power=True)
        self._decide(lambda: self.controllers.note_lost(node.node_id))
        node.forget_everything()
        await node.start()

    # What may happen

    async def cut_off(self, node: Node, *, loses_power: bool) -> None:
        await node.stop(loses_power=loses_power)
        self._decide(lambda: self.controllers.fence(node.node_id))

    async def black_out(self) -> None:
        """All lose their power; the controllers notice it of one after the other."""
        nodes = [each for each in self.nodes.values() if each.is_on]
        self.random.shuffle(nodes)
        for each in nodes:
            await self.cut_off(each, loses_power=True)

    def produce(self, node: Node, place: TopicPartition | None = None) -> None:
        self._produced += 1
        value = b"%d" % self._produced
        answer = node.broker.manager.append_records(
            {place or self.random.choice(PLACES): batch_of(value)},
            acks=-1,
            timeout_ms=600_000,
        )
        if isinstance(answer, Parked):
            self._waiting.append((node, answer, value))
        else:
            self._take(answer, value)

    def sync(self, node: Node) -> None:
        node.broker.sync()

    def hear(self, node: Node) -> None:
        chosen = self.random.random()
        if chosen < 0.2:
            node.hear_again()
        elif chosen < 0.4:
            node.hear_all()
        elif node.late:
            node.hear()

    def let_propose(self, node: Node) -> None:
        """A request gets a step further: it leaves, arrives, or its answer does."""
        if node.asked is None:
            node.asked = node.changes.next_request(node.epoch)
        elif node.answer is None:
            asked = node.asked
            node.answer = self._decide(lambda: self.controllers.alter(asked))
        else:
            answer, node.asked, node.answer = node.answer, None, None
            if self.is_calm or self.random.random() < 0.7:
                node.changes.take(answer)
            else:
                node.changes.lost()

    def grow_older(self, node: Node) -> None:
        """Who had all records a while ago is taken at its word no longer."""
        node.broker.clock.advance(self.random.choice([10_000, node.lag_max_ms + 1]))
        if self.random.random() < 0.3:
            node.shrink()

    def elect(self, node: Node) -> None:
        """Another broker leads, though who led is there."""
        place = self.random.choice(PLACES)
        self._decide(lambda: self.controllers.elect(place, node.node_id))

    def _decide(self, act: Callable[[], Any]) -> Any:
        before = self.controllers.decided
        answer = act()
        for place, decided in self.controllers.decided.items():
            if decided != before[place]:
                for each in self.nodes.values():
                    if each.is_on:
                        each.late.append((place, decided))
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
            for place in PLACES if node.is_on else ():
                if node.partition(place).log is not None:
                    self.show(node, place)

    def _take(self, results: Any, value: bytes) -> None:
        ((place, result),) = results.items()
        if not result.error_code:
            known = self.acknowledged.setdefault((place, result.base_offset), value)
            assert known == value, (place, result.base_offset, known, value)

    def show(self, node: Node, place: TopicPartition) -> None:
        shown = values_of(node, place, FetchIsolation.HIGH_WATERMARK)
        for offset, value in shown.items():
            known = self.seen.setdefault((place, offset), value)
            assert known == value, (node.node_id, place, offset, known, value)

    async def put_right(self) -> None:
        """All are on; they hear and do what there is to be heard and done."""
        self.is_calm = True
        for node in self.nodes.values():
            if not node.is_on:
                await node.start()
        for _ in range(_ROUNDS_MAX):
            for node in self.nodes.values():
                node.hear_all()
                await node.follow_on()
                await node.broker.commit()
                for _ in range(3):
                    self.let_propose(node)
                node.hear_all()
                node.broker.clock.advance(1_000)
            self.note()


def values_of(
    node: Node, place: TopicPartition, isolation: FetchIsolation
) -> dict[int, bytes]:
    """The records of a broker by their offsets, as far as they are to be seen."""
    view, found = node.partition(place).view, {}
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
