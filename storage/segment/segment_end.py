"""Where the offsets of a segment end, as far as its log knows.

That is where the next segment begins, or in the active one where the log ends, which
every append moves. No checksum covers the offset of a batch: this bounds what is
believed of one.
"""

from typing import TYPE_CHECKING, Protocol

from odradek.storage.formats.index_entry import RELATIVE_OFFSET_MAX

if TYPE_CHECKING:
    from weakref import ref

    from odradek.storage.values.offset_metadata import OffsetMetadata


class GrowingLog(Protocol):
    """Who knows where the log ends now."""

    end: "OffsetMetadata"


class SegmentEnd:
    """The end of one segment; nothing is known of it at first."""

    __slots__ = (
        "_highest",
        "_log",
        "next_base",
    )

    def __init__(self, base_offset: int) -> None:
        self._highest = base_offset + RELATIVE_OFFSET_MAX + 1
        self._log: ref[GrowingLog] | None = None
        self.next_base: int | None = None  # of the segment that follows

    def put_before(self, next_base: int | None) -> None:
        """Offsets from ``next_base`` on are another segment's; None: no other."""
        self.next_base = next_base
        self._log = None

    def follow(self, log: "ref[GrowingLog]") -> None:
        """It is the last segment of a log, and ends where that does.

        The log is not held: who lets go of it frees it, and all of its segments.
        """
        self._log, self.next_base = log, None

    @property
    def offset(self) -> int | None:
        """What follows its last batch, if that is known."""
        if self.next_base is None and self._log is not None:
            log = self._log()
            return None if log is None else log.end.offset
        return self.next_base

    @property
    def limit(self) -> int:
        """No batch of it has this offset, or one above it."""
        offset = self.offset
        return self._highest if offset is None else offset
