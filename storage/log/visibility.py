"""Up to where a log is seen, and how the high watermark moves.

A reader sees records up to the high watermark, one of committed records up to the
last stable offset, and a follower all of them.

Invariant: after the log has failed its high watermark stays at what was durable.
"""

from odradek.storage.producers.state import NO_OFFSET
from odradek.storage.values.log_read import FetchIsolation
from odradek.storage.values.offset_metadata import LogOffsetSnapshot, OffsetMetadata

from .state import LogState


class Visibility:
    """What of a log its readers see."""

    __slots__ = ("_local", "_producers", "_state", "_watermarks")

    def __init__(self, state: LogState) -> None:
        self._state = state
        # Not through the state: they are asked for each append and each fetch.
        self._local = state.local
        self._producers = state.producers
        self._watermarks = state.watermarks

    @property
    def high_watermark_metadata(self) -> OffsetMetadata:
        """The high watermark with its place in the files.

        Raises:
            OffsetOutOfRange: it lies below the first segment.
        """
        return self._watermarks.locate_high()

    @property
    def first_unstable_offset(self) -> int:
        """Where the first transaction begins that is open, or ended unreplicated.

        -1 when there is none. Never below the log start.
        """
        first = self._producers.first_unstable_offset
        if first == NO_OFFSET:
            return first
        return max(first, self._watermarks.log_start_offset)

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which every transaction is decided, and replicated."""
        return self._watermarks.stable(self._producers.first_unstable_offset)

    def offsets(self) -> tuple[int, int, int]:
        """The high watermark, the last stable offset and the log start together."""
        marks, first_unstable = self._watermarks, self._producers.first_unstable_offset
        high = stable = marks.high.offset
        if first_unstable >= 0:
            stable = marks.stable(first_unstable)
        return high, stable, marks.log_start_offset

    def end_offset(self, isolation: FetchIsolation) -> OffsetMetadata:
        """Up to where a reader of this isolation sees records."""
        marks = self._watermarks
        if isolation is FetchIsolation.HIGH_WATERMARK:
            return marks.high
        if isolation is FetchIsolation.TXN_COMMITTED:
            return marks.locate_stable(self._producers.first_unstable_offset)
        return self._local.end if self._state.failure is None else marks.durable

    def snapshot(self) -> LogOffsetSnapshot:
        """All offsets at once, each with its place where that can be found."""
        return LogOffsetSnapshot(
            self._watermarks.log_start_offset,
            self.end_offset(FetchIsolation.LOG_END),
            self.end_offset(FetchIsolation.HIGH_WATERMARK),
            self.end_offset(FetchIsolation.TXN_COMMITTED),
        )

    # The high watermark

    def raise_to(self, target: OffsetMetadata | int) -> bool:
        """Raise the high watermark to ``target``, or as far as it may go.

        Returns whether it moved; the same offset in a newer segment counts. It never
        falls here.
        """
        if self._state.failure is not None or not self._watermarks.raise_high(target):
            return False
        self._producers.on_high_watermark(self._watermarks.high.offset)
        return True

    def raise_to_end(self) -> None:
        """What `raise_to` does right after an append, without asking."""
        if self._state.failure is None:
            self._watermarks.high = end = self._local.end
            if self._producers.first_unstable_offset >= 0:
                self._producers.on_high_watermark(end.offset)

    def raise_to_durable(self) -> None:
        """The same right after a sync, up to where that was begun."""
        marks, durable = self._watermarks, self._watermarks.durable
        if self._state.failure is not None or durable.offset <= marks.high.offset:
            self.raise_to(durable)
            return
        end = self._local.end  # which a roll during the sync has moved
        marks.high = end if durable.offset == end.offset else durable
        if self._producers.first_unstable_offset >= 0:
            self._producers.on_high_watermark(durable.offset)

    def restore(self, checkpointed: int) -> None:
        """Begin with the high watermark that was known before the log was loaded.

        Transactions that ended above it before that count as replicated: loading
        begins with it at the log end.
        """
        marks = self._watermarks
        if self._state.failure is None and marks.restore_high(checkpointed):
            self._producers.on_high_watermark(marks.high.offset)
