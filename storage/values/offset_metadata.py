"""An offset of the log, and where in which segment it lies when that is known."""

from typing import NamedTuple


class OffsetMetadata(NamedTuple):
    """An offset with its segment and the position in it.

    Without the last two it is *message only*: the offset is known, its place in
    the files is not, so no bytes can be counted from it.
    """

    offset: int
    segment_base_offset: int = -1
    position: int = -1

    @property
    def is_message_only(self) -> bool:
        """Whether the place in the files is unknown."""
        return self.segment_base_offset < 0

    def on_older_segment(self, other: "OffsetMetadata") -> bool:
        """Whether this lies in a segment before that of ``other``.

        False when the place of either is unknown.
        """
        if self.is_message_only or other.is_message_only:
            return False
        return self.segment_base_offset < other.segment_base_offset

    def on_same_segment(self, other: "OffsetMetadata") -> bool:
        """Whether both lie in one segment. False when a place is unknown."""
        if self.is_message_only or other.is_message_only:
            return False
        return self.segment_base_offset == other.segment_base_offset

    def position_diff(self, other: "OffsetMetadata") -> int:
        """The bytes from ``other`` to this; both must lie in one segment."""
        assert self.on_same_segment(other), (self, other)
        return self.position - other.position


UNKNOWN_OFFSET = OffsetMetadata(-1)


class LogOffsetSnapshot(NamedTuple):
    """The offsets of a log at one moment, with their places."""

    log_start_offset: int
    log_end: OffsetMetadata
    high_watermark: OffsetMetadata
    last_stable: OffsetMetadata
