"""The offsets that groups have committed, and those of transactions still open.

Invariants: what a transaction commits is *pending* until its marker comes; a commit
moves it to the committed ones, unless these were written later in the log; an abort
drops it. Everything here comes from `replay` and `end_transaction`. For each group,
``_unstable`` counts the transactions that would move an offset, which consumers ask
for at every start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.broker.coordinator.decision import Place

    from .records import CommittedOffset, OffsetRecord

TopicAndPartition = tuple[str, int]
_T = TypeVar("_T")
_new = tuple.__new__


class StoredOffset(NamedTuple):
    """A committed offset, and the offset of its record in the coordinator's log."""

    committed: CommittedOffset
    record_offset: int


_Offsets = dict[TopicAndPartition, StoredOffset]


class GroupOffsets:
    """All offsets of the groups of one shard."""

    def __init__(self) -> None:
        self._committed: dict[str, _Offsets] = {}
        self._pending: dict[int, dict[str, _Offsets]] = {}
        self._unstable: dict[str, dict[TopicAndPartition, int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._committed.values()))

    # Questions

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """The committed offset, if there is one."""
        stored = self._committed.get(group_id, {}).get((topic, partition))
        return None if stored is None else stored.committed

    def of_group(self, group_id: str) -> dict[TopicAndPartition, CommittedOffset]:
        """Everything that a group has committed."""
        return {
            key: stored.committed
            for key, stored in self._committed.get(group_id, {}).items()
        }

    def group_ids(self) -> list[str]:
        """The groups that have committed something."""
        return list(self._committed)

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction would move this offset."""
        return (topic, partition) in self._unstable.get(group_id, ())

    def pending_of_group(self, group_id: str) -> Iterable[TopicAndPartition]:
        """The partitions whose offsets open transactions would move."""
        return self._unstable.get(group_id, ())

    def topic_ids(self, group_id: str, topic: str, partition: int) -> set[bytes]:
        """The ids of the topics for which this was committed, or is pending."""
        key = topic, partition
        return {
            groups[group_id][key].committed.topic_id
            for groups in (self._committed, *self._pending.values())
            if key in groups.get(group_id, {})
        }

    def of_topic(self, topic: str) -> list[tuple[str, int]]:
        """Group and partition of every offset in a topic, pending ones too."""
        everywhere: list[Mapping[str, _Offsets]] = [self._committed]
        everywhere += self._pending.values()
        found = {
            (group_id, partition)
            for groups in everywhere
            for group_id, offsets in groups.items()
            for name, partition in offsets
            if name == topic
        }
        return sorted(found)

    # Changes

    def replay(self, record: OffsetRecord, place: Place) -> None:
        """Apply a record; within a transaction it is pending."""
        group_id, topic, partition, committed = record
        key = topic, partition
        if committed is None:
            self._drop(group_id, key)
            return
        groups = self._committed
        if place.producer_id >= 0:
            groups = self._pending.setdefault(place.producer_id, {})
            if key not in groups.get(group_id, ()):
                unstable = self._unstable.setdefault(group_id, {})
                unstable[key] = unstable.get(key, 0) + 1
        offsets = groups.get(group_id)
        if offsets is None:
            offsets = groups[group_id] = {}
        offsets[key] = _new(StoredOffset, (committed, place.offset))

    def put(self, group_id: str, key: TopicAndPartition, stored: StoredOffset) -> None:
        """Apply an offset that is committed, and was read already."""
        offsets = self._committed.get(group_id)
        if offsets is None:
            offsets = self._committed[group_id] = {}
        offsets[key] = stored

    def put_all(
        self, group_id: str, records: Iterable[OffsetRecord], base_offset: int
    ) -> None:
        """`replay` of records of one group that lie one behind another."""
        offsets = self._committed.get(group_id)
        if offsets is None:
            offsets = self._committed[group_id] = {}
        for place, record in enumerate(records, base_offset):
            _, topic, partition, committed = record
            offsets[topic, partition] = _new(StoredOffset, (committed, place))

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """Commit or drop what a producer's transaction has pending."""
        for group_id, offsets in self._pending.pop(producer_id, {}).items():
            for key in offsets:
                self._note_ended(group_id, key)
            if not is_commit:
                continue
            committed = self._committed.setdefault(group_id, {})
            for key, stored in offsets.items():
                known = committed.get(key)
                if known is None or known.record_offset < stored.record_offset:
                    committed[key] = stored

    def _note_ended(self, group_id: str, key: TopicAndPartition) -> None:
        unstable = self._unstable[group_id]
        unstable[key] -= 1
        if not unstable[key]:
            _remove(self._unstable, group_id, key)

    def _drop(self, group_id: str, key: TopicAndPartition) -> None:
        _remove(self._committed, group_id, key)
        if key not in self._unstable.get(group_id, ()):
            return
        _remove(self._unstable, group_id, key)
        for producer_id, groups in list(self._pending.items()):
            _remove(groups, group_id, key)
            if not groups:
                del self._pending[producer_id]


def _remove(
    groups: dict[str, dict[TopicAndPartition, _T]],
    group_id: str,
    key: TopicAndPartition,
) -> None:
    values = groups.get(group_id)
    if values is not None and values.pop(key, None) is not None and not values:
        del groups[group_id]
