"""How far a log is durable, replicated, decided, and where it begins.

Invariants: log start <= durable <= log end, and log start <= high <= log end. Each
watermark carries its place in the files, so that a read up to it needs no look-up.
None of them falls, except the high watermark to the durable offset when the log fails:
what was not durable may be gone.
"""

from protocol.errors import OffsetOutOfRange

from .local_log import LocalLog
from .offset_metadata import OffsetMetadata


class Watermarks:
    """The watermarks of one log. ``durable`` is Kafka's recovery point."""

    def __init__(self, local: LocalLog, log_start_offset: int) -> None:
        """Begin with a log that is durable and replicated to its end."""
        self.log_start_offset = log_start_offset
        self.durable = local.end
        self.high = local.end
        self._local = local

    def raise_high(self, target: OffsetMetadata | int) -> bool:
        """Raise the high watermark to ``target``, at most to the log end.

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

    def raise_durable(self, end: OffsetMetadata) -> None:
        """Note that everything below ``end`` is on the disk."""
        if end.offset >= self.durable.offset:
            self.durable = end

    def raise_log_start(self, offset: int) -> bool:
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
        self.log_start_offset = offset
        if offset > self.durable.offset:
            # What is given up needs no sync any more.
            self.durable = self._local.convert_to_offset_metadata(offset)
        return True

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

    def stable(self, first_unstable_offset: int) -> int:
        """The last stable offset, when that is the first unstable one (-1: none)."""
        if not 0 <= first_unstable_offset < self.high.offset:
            return self.high.offset
        # DeleteRecords may have gone past the start of an open transaction.
        return max(first_unstable_offset, self.log_start_offset)

    def _located(self, target: OffsetMetadata | int) -> OffsetMetadata:
        """``target`` inside of the log, with its place."""
        offset = target if isinstance(target, int) else target.offset
        if offset >= self._local.end.offset:
            return self._local.end
        if offset == self.durable.offset:
            return self.durable
        if offset <= self.high.offset:
            return self.high
        if isinstance(target, int) or target.is_message_only:
            return self._local.convert_to_offset_metadata(offset)
        return target
