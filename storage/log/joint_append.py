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

from .writer import LogWriter

if TYPE_CHECKING:
    from odradek.storage.producers.verification_state import VerificationGuard


class JointWriter(LogWriter):
    """The log as a coordinator sees it, whose decision may take several batches."""

    def append_jointly(
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
        self._check_writable()
        config, offset = self.local.config, self.local.end.offset
        size, size_max = sum(map(len, batches)), config.segment_bytes
        if size > size_max:
            raise RecordListTooLarge(f"{size} bytes, segment.bytes is {size_max}")
        origin, stamped = AppendOrigin.COORDINATOR, []
        for each in batches:
            valid = validate(each, config, now_ms, origin, self.topic_partition)
            header = valid.header
            if header.producer_id >= 0:
                self.producers.check(header, valid.batch, origin, guard)
            stamp(valid.batch, offset, leader_epoch)
            stamped.append(valid.batch)
            offset += header.last_offset_delta + 1
        data = memoryview(b"".join(stamped))
        found = analyse(data)
        has_rolled = self._write_replicated(found, data, now_ms)
        self.appended_bytes += len(data)
        return AppendInfo(
            found.first_offset,
            found.last_offset,
            found.max_timestamp,
            -1,
            self.log_start_offset,
            len(data),
            has_rolled=has_rolled,
            last_offset_of_first_batch=found.batches[0][1].last_offset,
            offset_of_max_timestamp=found.offset_of_max_timestamp,
        )
