"""How far a log is durable, replicated, decided, and where it begins.

Invariants: log start <= durable <= log end, and log start <= high <= log end. Each
watermark carries its place in the files when that can be found, so that a read up to
it needs no look-up.

None of them falls, except: the high watermark, when the log fails, to the durable
offset, for what was not durable may be gone; when a leader says so to its follower;
and all of them with the log end, when the log is truncated.
"""

import logging
from enum import Enum
from typing import TYPE_CHECKING

from odradek.protocol.errors import OffsetOutOfRange
from odradek.storage.values.log_lines import LogLines
from odradek.storage.values.offset_metadata import UNKNOWN_OFFSET, OffsetMetadata

if TYPE_CHECKING:
    from .local_log import LocalLog

_log = logging.getLogger(__name__)


class LogStartReason(Enum):
    """Why a log begins later than before."""

    SEGMENT_DELETION = "segment deletion"
    CLIENT_RECORD_DELETION = "client delete records request"
    LEADER_OFFSET_INCREMENT = "leader offset increment"


class Watermarks:
    """The watermarks of one log. ``durable`` is Kafka's recovery point."""

    __slots__ = (
        "_local",
        "_stable",
        "durable",
        "high",
        "log_start_offset",
    )

    def __init__(self, local: "LocalLog", log_start_offset: int) -> None:
        """Begin with a log that is durable and replicated to its end."""
        self.log_start_offset = log_start_offset
        self.durable = local.end
        self.high = local.end
        self._local = local
        self._stable = UNKNOWN_OFFSET  # where it was found last; its place stays

    # The high watermark

    def raise_high(self, target: OffsetMetadata | int) -> bool:
        """Raise the high watermark to ``target``, at most to the log end.

        A target without its place keeps none, until somebody reads up to there.
        Returns whether it moved; the same offset in a newer segment counts.
        """
        current = self.high
        moved = self._located(target)
        if moved.offset < current.offset or (
            moved.offset == current.offset and not current.on_older_segment(moved)
        ):
            return False
        self.high = moved
        return True

    def restore_high(self, offset: int) -> bool:
        """Let the high watermark be ``offset``, or the nearest that is in the log.

        It may fall. Returns whether it is another offset now.
        """
        before, end = self.high.offset, self._local.end
        offset = max(offset, self.log_start_offset)
        if offset >= end.offset:
            self.high = end
        elif offset > before:
            self.high = self._located(offset)
        elif offset < before:
            self.high = self._local.maybe_convert_to_offset_metadata(offset)
        return self.high.offset != before

    def locate_high(self) -> OffsetMetadata:
        """The high watermark with its place, which is looked up when it is missing."""
        if self.high.is_message_only:
            self.high = self._local.convert_to_offset_metadata(self.high.offset)
        return self.high

    # The durable offset

    def raise_durable(self, end: OffsetMetadata) -> None:
        """Note that everything below ``end`` is on the disk."""
        if end.offset >= self.durable.offset:
            self.durable = end

    # The log start

    def raise_log_start(self, offset: int, reason: LogStartReason) -> bool:
        """Let the log begin at ``offset``. Returns whether it began before.

        Raises:
            OffsetOutOfRange: ``offset`` is above the high watermark.
        """
        if offset > self.high.offset:
            raise OffsetOutOfRange(
                f"offset {offset} is above the high watermark, {self.high.offset}"
            )
        if offset <= self.log_start_offset:
            return False
        durable = self.durable
        if offset > durable.offset:
            # What is given up needs no sync any more.
            durable = self._local.maybe_convert_to_offset_metadata(offset)
        LogLines(_log, self._local.directory).info(
            "the log starts at %d instead of %d, because of %s",
            offset,
            self.log_start_offset,
            reason.value,
        )
        self.log_start_offset, self.durable = offset, durable
        return True

    # All of them

    def follow_roll(self) -> None:
        """Move what stands at the log end into the segment that was just begun."""
        end = self._local.end
        if self.high.offset == end.offset:
            self.high = end
        if self.durable.offset == end.offset:
            self.durable = end

    def fall_to_durable(self) -> None:
        """Show nothing that may be gone."""
        if self.high.offset > self.durable.offset:
            self.high = self.durable

    def fall_to(self, end: OffsetMetadata) -> None:
        """Follow a log end that was truncated, or is about to be, down to ``end``."""
        if self.high.offset >= end.offset:
            self.high = end
        if self.durable.offset >= end.offset:
            self.durable = end
        self.log_start_offset = min(self.log_start_offset, end.offset)
        self._stable = UNKNOWN_OFFSET

    def begin_at(self, end: OffsetMetadata, log_start_offset: int) -> None:
        """Begin anew with a log that is empty and ends at ``end``."""
        self.high = self.durable = end
        self.log_start_offset = log_start_offset
        self._stable = UNKNOWN_OFFSET

    # The last stable offset

    def stable(self, first_unstable_offset: int) -> int:
        """The last stable offset, when that is the first unstable one (-1: none)."""
        if not 0 <= first_unstable_offset < self.high.offset:
            return self.high.offset
        # DeleteRecords may have gone past the start of an open transaction.
        return max(first_unstable_offset, self.log_start_offset)

    def locate_stable(self, first_unstable_offset: int) -> OffsetMetadata:
        """The last stable offset with its place, if it can be found."""
        offset = self.stable(first_unstable_offset)
        if offset == self.high.offset:
            return self.high
        if offset != self._stable.offset:
            self._stable = self._local.maybe_convert_to_offset_metadata(offset)
        return self._stable

    def _located(self, target: OffsetMetadata | int) -> OffsetMetadata:
        """``target`` inside of the log, with its place."""
        offset = target if isinstance(target, int) else target.offset
        if offset >= self._local.end.offset:
            return self._local.end
        if offset == self.durable.offset:
            return self.durable
        if offset <= self.high.offset:
            return self.high
        if isinstance(target, int):
            return self._local.maybe_convert_to_offset_metadata(offset)
        return target
