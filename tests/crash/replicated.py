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

Place = tuple[TopicPartition, int]  # with an offset


class World:
    """The brokers, and what was promised: acknowledged, and shown to readers."""

    def __init__(self, root: Path, seed: int, durability: str = "commit") -> None:
        self.root = root
        self.durability = durability
        self.random = random.Random(seed)
        self.controllers = Controllers(PLACES)
        self.nodes = {each: Node(each, self) for each in NODES}
        self.acknowledged: dict[Place, bytes] = {}
        self.seen: dict[Place, bytes] = {}
        self._waiting: list[tuple[Node, Parked[Any], bytes]] = []
        self._produced = self._broker_epochs = 0
        self._is_inside = False
        self.is_calm = False

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
        self._decide(lambda: self.controllers.fence(node.node_id))

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
            {self.random.choice(PLACES): batch_of(value)}, acks=-1, timeout_ms=600_000
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

    def shrink(self, node: Node) -> None:
        if self.random.random() < 0.1:
            node.shrink()

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
        for _ in range(80):
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
