"""The batch of records that a member's usual commit becomes.

A member commits the same partitions again and again, with the same note if any: only
offsets and the time change. So its records are encoded once, and these numbers are put
into a copy.
"""

from __future__ import annotations

from functools import partial
from struct import Struct
from typing import TYPE_CHECKING

from odradek.broker.coordinator.batches import batch_of
from odradek.broker.coordinator.group.state.records import (
    NO_EXPIRY,
    CommittedOffset,
    OffsetRecord,
)
from odradek.broker.coordinator.phase import Phase
from odradek.protocol.checksum import crc32c
from odradek.protocol.errors import KafkaError
from odradek.protocol.plain.records import read_varint
from odradek.protocol.record_batch import CHECKED_POSITION

from .commit import WantedOffset, check_may_commit, renew, utf16_length

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from odradek.broker.coordinator.batches import Encoded
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.runtime import CoordinatorRuntime
    from odradek.broker.coordinator.shard import Shard
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.metadata.topic_index import TopicIndex

    from .commit import Committer

_TIMES = Struct(">qq")  # of the batch: the first, and the latest
_TIMES_POSITION = 27
_CRC = Struct(">I")
_CRC_POSITION = 17
_RECORDS_POSITION = 61
_NO_HEADERS = 1  # a count of one byte, behind the value
# In a value: offset and leader epoch; the note; the time, the topic's id.
_NUMBERS_POSITION = 2
_PLACE_SIZE = 8 + 4
_TIME_AND_ID_SIZE = 8 + 19
_new = tuple.__new__


class UsualOffsets:
    """The partitions that somebody commits, and what is written of them."""

    __slots__ = (
        "_template",
        "_values",
        "api_version",
        "committer",
        "note_size",
        "partitions",
        "seen_version",
        "shard",
        "wanted",
    )

    def __init__(
        self,
        committer: Committer,
        partitions: Sequence[tuple[Topic, int, str]],
        api_version: int,
    ) -> None:
        """``partitions`` are topics, indexes and notes.

        ``api_version`` is that of the requests, which some groups want to know.
        """
        self.committer = committer
        self.api_version = api_version
        self.partitions = tuple(partitions)
        self.seen_version = -1  # of the topics, when these were looked for last
        self.shard: Shard[GroupShard] | None = None  # that has had it last
        self.note_size = max(
            (utf16_length(note) for _, _, note in partitions), default=0
        )
        self.wanted = [
            WantedOffset(topic.name, index, 0, -1, note, topic.topic_id)
            for topic, index, note in partitions
        ]
        records = self.records([(0, -1)] * len(self.wanted), 0)
        encoded: list[Encoded] = [(record, *record.encode()) for record in records]
        self._template = bytes(batch_of(encoded, None, 0))
        self._values = _values(self._template, encoded)

    def is_current(self, topics: TopicIndex) -> bool:
        """Whether its topics are those of these names still."""
        version = topics.index_version
        if self.seen_version != version:
            if any(
                topics.get(topic.name) is not topic for topic, *_ in self.partitions
            ):
                return False
            self.seen_version = version
        return True

    def batch(self, numbers: Sequence[tuple[int, int]], now_ms: int) -> memoryview:
        """The batch; ``numbers`` are offset and leader epoch of each partition."""
        batch = bytearray(self._template)
        _TIMES.pack_into(batch, _TIMES_POSITION, now_ms, now_ms)
        for value, (offset, epoch) in zip(self._values, numbers, strict=True):
            pack, position, note = value
            pack(batch, position, offset, epoch, note, now_ms)
        view = memoryview(batch)
        _CRC.pack_into(batch, _CRC_POSITION, crc32c(view[CHECKED_POSITION:]))
        return view

    def records(
        self, numbers: Sequence[tuple[int, int]], now_ms: int
    ) -> list[OffsetRecord]:
        """The same as values, to be replayed."""
        group_id, records = self.committer.group_id, []
        for each, (offset, epoch) in zip(self.wanted, numbers, strict=True):
            topic, index, _, _, note, topic_id = each
            fields = offset, epoch, note, now_ms, NO_EXPIRY, topic_id
            committed = _new(CommittedOffset, fields)
            records.append(_new(OffsetRecord, (group_id, topic, index, committed)))
        return records


def commit(
    runtime: CoordinatorRuntime[GroupShard],
    usual: UsualOffsets,
    numbers: Sequence[tuple[int, int]],
    frame: bytes,
    refuse: Callable[[KafkaError], Any],
) -> Any:
    """Commit for topics that are there; the answer is ``frame`` when it is durable.

    None, and nothing was done, where anything is special, or wrong.
    """
    committer = usual.committer
    try:
        shard = usual.shard
        if shard is None or shard.phase is not Phase.ACTIVE:  # else it is the one still
            shard = runtime.shard(runtime.partition_of(committer.group_id))
            shard.check_active()
            usual.shard = shard
        if usual.note_size > shard.state.config.offset_metadata_max_bytes:
            return None
        group = check_may_commit(
            shard.state, committer, usual.wanted, usual.api_version
        )
    except KafkaError:
        return None
    now_ms = runtime.clock.now_ms()
    records = usual.records(numbers, now_ms)
    replay = partial(shard.state.replay_usual, records, now_ms)
    batch = usual.batch(numbers, now_ms)
    answer = shard.write_usual(batch, replay, now_ms, frame, refuse)
    if answer is not None and group is not None:
        renew(shard.state, group, committer)
    return answer


def _values(
    batch: bytes, encoded: list[Encoded]
) -> list[tuple[Callable[..., None], int, bytes]]:
    """For each record what packs its numbers, where, and what lies between them."""
    values = []
    position = _RECORDS_POSITION
    for _, _, value in encoded:
        assert value is not None
        size, position = read_varint(batch, position, len(batch))
        position += size
        note = value[_NUMBERS_POSITION + _PLACE_SIZE : -_TIME_AND_ID_SIZE]
        pack = Struct(f">qi{len(note)}sq").pack_into
        start = position - _NO_HEADERS - len(value) + _NUMBERS_POSITION
        values.append((pack, start, note))
    return values
