"""Members of both protocols in one group, which becomes what its members are.

A `MixedWorld` has consumers of the consumer protocol, and eager ones of the classic
protocol, which stop to read before they join again. They come, go, fall silent; the
broker is killed. It asserts that no partition is read by two, and that a group which is
left in peace has all of it read, by whichever protocol.
"""

import random
from dataclasses import dataclass, field
from typing import Any

from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaError
from tests.broker.coordinator.group.consumer.mixed_rig import (
    CLASSIC_SESSION_MS,
    GROUP,
    MixedGroups,
    Places,
)

REBALANCE_MS = 30_000
SILENT_MS = CLASSIC_SESSION_MS
PARTITIONS = 6


@dataclass(eq=False)
class Reader:
    """Whoever reads partitions of t."""

    member_id: str
    is_classic: bool
    epoch: int = 0
    reads: set[int] = field(default_factory=set)
    heard_ms: int = 0
    asked: Parked | None = None

    @property
    def is_asking(self) -> bool:
        return self.asked is not None and not self.asked.done()


class MixedWorld:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        policy = self.random.choice(("bidirectional", "bidirectional", "upgrade"))
        self.groups = MixedGroups(
            {"group_consumer_migration_policy": policy}, t=PARTITIONS
        )
        self.readers: list[Reader] = []
        self.number = 0
        self.types: list[str] = []

    @property
    def now_ms(self) -> int:
        return self.groups.clock.now_ms()

    # What may happen

    def step(self) -> None:
        happening = self.random.choices(
            (
                self._someone_goes_on,
                self._someone_comes,
                self._someone_leaves,
                self._someone_dies,
                self._time_passes,
                self._disk_syncs,
                self._broker_restarts,
            ),
            (70, 5, 4, 1, 10, 20, 1),
        )[0]
        happening()
        kind = "consumer" if GROUP in self.groups.state.consumer_groups else "classic"
        if self.types[-1:] != [kind]:
            self.types.append(kind)

    def _someone_goes_on(self) -> None:
        if self.readers:
            self._go_on(self.random.choice(self.readers))

    def _someone_comes(self) -> None:
        if len(self.readers) < 6:
            self.number += 1
            is_classic = self.random.random() < 0.5
            member_id = "" if is_classic else f"m{self.number}"
            self.readers.append(Reader(member_id, is_classic, heard_ms=self.now_ms))

    def _someone_leaves(self) -> None:
        there = [each for each in self.readers if each.epoch and not each.is_asking]
        if not there:
            return
        leaving = self.random.choice(there)
        leaving.reads.clear()
        self.readers.remove(leaving)
        if leaving.is_classic:
            self.groups.classic_leave(leaving.member_id)
        else:
            self.groups.beat_as(leaving.member_id, -1)

    def _someone_dies(self) -> None:
        if self.readers:
            self.readers.remove(self.random.choice(self.readers))

    def _time_passes(self) -> None:
        self._advance(self.random.choice((1, 100, 800)))

    def _advance(self, by_ms: int) -> None:
        for each in self.readers:
            if self.now_ms + by_ms - each.heard_ms >= SILENT_MS and not each.is_asking:
                self._begin_anew(each)
                each.heard_ms = self.now_ms
        self.groups.clock.advance(by_ms)

    def _disk_syncs(self) -> None:
        self.groups.flush()

    def _broker_restarts(self) -> None:
        self.groups.flush()
        for each in self.readers:
            if each.is_asking:  # the connection is cut
                each.asked = None
                self._begin_anew(each)
            each.heard_ms = self.now_ms
        self.groups.reload()

    # What readers do

    def _go_on(self, reader: Reader) -> None:
        if not reader.is_classic:
            self._beat(reader)
        elif not reader.is_asking:
            if reader.epoch and reader.asked is None:
                code = self.groups.classic_beat(reader.member_id, reader.epoch)
                reader.heard_ms = self.now_ms
                if code == 0:
                    return
                if code != ErrorCode.REBALANCE_IN_PROGRESS:
                    reader.member_id = ""
            self._join(reader)

    def _beat(self, reader: Reader) -> None:
        joining = {"rebalance_timeout_ms": REBALANCE_MS, "names": ["t"]}
        owned: Places = {"t": sorted(reader.reads)} if reader.reads else {}
        answer = self.groups.beat_as(
            reader.member_id,
            reader.epoch,
            owned=owned,
            **({} if reader.epoch else joining),
        )
        if isinstance(answer, KafkaError):
            self._begin_anew(reader)
            self.number += 1
            reader.member_id = f"m{self.number}"
            return
        reader.heard_ms = self.now_ms
        reader.epoch = answer.member_epoch
        told = self.groups.told(answer)
        if told is not None:
            self._read(reader, set(told.get("t", [])))

    def _join(self, reader: Reader) -> None:
        reader.reads.clear()
        reader.epoch = 0
        answer = self.groups.classic_join(
            reader.member_id, rebalance_timeout_ms=REBALANCE_MS
        )
        self._when(reader, answer, self._joined)

    def _joined(self, reader: Reader, answer: Any) -> None:
        reader.heard_ms = self.now_ms
        if isinstance(answer, KafkaError) or answer.error_code:
            reader.member_id = ""
            return
        reader.member_id, reader.epoch = answer.member_id, answer.generation_id
        given: dict[str, Places] = {}
        if answer.leader == reader.member_id:
            ids = sorted(each.member_id for each in answer.members)
            for place, each in enumerate(ids):
                mine = list(range(place, PARTITIONS, len(ids)))
                given[each] = {"t": mine} if mine else {}
        synced = self.groups.classic_sync(reader.member_id, reader.epoch, given=given)
        self._when(reader, synced, self._synced)

    def _synced(self, reader: Reader, answer: Any) -> None:
        reader.heard_ms = self.now_ms
        if isinstance(answer, KafkaError) or answer.error_code:
            reader.epoch = 0
            return
        self._read(reader, set(self.groups.read_of(answer).get("t", [])))

    def _when(self, reader: Reader, answer: Any, note: Any) -> None:
        if not isinstance(answer, Parked):
            note(reader, answer)
            return
        reader.asked = answer

        def told(parked: Parked) -> None:
            if reader.asked is parked:
                reader.asked = None
                if reader in self.readers:
                    note(reader, parked.result())

        answer.listen(told)

    def _read(self, reader: Reader, partitions: set[int]) -> None:
        for each in self.readers:
            if each is not reader:
                both = each.reads & partitions
                assert not both, (reader, each, both, self.types[-1:])
        reader.reads = partitions

    def _begin_anew(self, reader: Reader) -> None:
        reader.reads.clear()
        reader.epoch = 0
        reader.asked = None
        if reader.is_classic:
            reader.member_id = ""

    def finish(self) -> None:
        """Nobody comes or goes any more: the group settles, and all is read."""
        if not self.readers:
            self._someone_comes()
        for _ in range(120):
            for each in list(self.readers):
                self._go_on(each)
                self.groups.flush()
            self._advance(1000)  # all in all longer than any session
        read = [partition for each in self.readers for partition in each.reads]
        assert sorted(read) == list(range(PARTITIONS)), self.readers
