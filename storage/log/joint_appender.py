"""Several batches of one writer, appended together: all of them, or none.

Invariant: every batch is checked before the first one is written, and they reach the
segment in one call. So a disk that gets full in the middle leaves nothing of them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.protocol.errors import RecordListTooLarge
from odradek.protocol.record_batch import stamp
from odradek.storage.files.files import Buffer
from odradek.storage.producers.append_info import AppendInfo, AppendOrigin
from odradek.storage.validation.batch_analysis import analyse
from odradek.storage.validation.validator import validate

from .replica_appender import ReplicaAppender
from .state import LogState

if TYPE_CHECKING:
    from odradek.storage.producers.verification_state import VerificationGuard


class JointAppender:
    """The log as a coordinator sees it, whose decision may take several batches."""

    __slots__ = ("_replica_appender", "_state")

    def __init__(self, state: LogState, replica_appender: ReplicaAppender) -> None:
        """``replica_appender`` writes what has its offsets: here they are given."""
        self._state = state
        self._replica_appender = replica_appender

    def append(
        self,
        batches: Sequence[Buffer],
        leader_epoch: int,
        now_ms: int,
        guard: "VerificationGuard | None" = None,
    ) -> AppendInfo:
        """Write batches of a coordinator, one behind the other. Not durable on return.

        Raises:
            KafkaError: as `append_as_leader`, of any of them. Nothing was written.
            RecordListTooLarge: together they are more than a segment takes.
            DiskFull: nothing was written; it may be tried again.
            KafkaStorageError: the log has failed.
        """
        state = self._state
        state.check_writable()
        config, offset = state.local.config, state.local.end.offset
        size, size_max = sum(map(len, batches)), config.segment_bytes
        if size > size_max:
            raise RecordListTooLarge(f"{size} bytes, segment.bytes is {size_max}")
        origin, stamped = AppendOrigin.COORDINATOR, []
        for each in batches:
            valid = validate(each, config, now_ms, origin, state.topic_partition)
            header = valid.header
            if header.producer_id >= 0:
                state.producers.check(header, valid.batch, origin, guard)
            stamp(valid.batch, offset, leader_epoch)
            stamped.append(valid.batch)
            offset += header.last_offset_delta + 1
        data = memoryview(b"".join(stamped))
        found = analyse(data)
        has_rolled = self._replica_appender.write(found, data, now_ms)
        state.appended_bytes += len(data)
        return AppendInfo(
            found.first_offset,
            found.last_offset,
            found.max_timestamp,
            -1,
            state.watermarks.log_start_offset,
            len(data),
            has_rolled=has_rolled,
            last_offset_of_first_batch=found.batches[0][1].last_offset,
            offset_of_max_timestamp=found.offset_of_max_timestamp,
        )
