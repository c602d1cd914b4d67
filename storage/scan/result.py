"""What a scan of a log file has found besides its batches."""

from collections.abc import Iterable
from typing import NamedTuple

from odradek.storage.formats.quarantine_entry import QuarantineEntry


class DamagedRange(NamedTuple):
    """Bytes of a file from ``start`` up to ``end`` that hold no valid batch.

    The offsets from ``base_offset`` up to ``next_offset`` may have been in it: those
    between the batches before and behind it. ``base_offset`` is that of the segment
    when the range begins where the scan began.
    """

    start: int
    end: int
    base_offset: int
    next_offset: int


class OffsetRepair(NamedTuple):
    """The batch at ``position`` says ``claimed`` and begins at ``base_offset``."""

    position: int
    size: int
    claimed: int
    base_offset: int
    last_offset: int
    leader_epoch: int

    @property
    def reason(self) -> str:
        """What is wrong with it."""
        return (
            f"offset {self.claimed} contradicts what surrounds it: it is"
            f" {self.base_offset}"
        )


class Recovery(NamedTuple):
    """What a scan found.

    ``valid_end`` is the position behind the last valid batch and ``next_offset`` the
    offset behind it. ``damaged`` are the ranges before it that hold no valid batch;
    what lies between it and ``size`` is a *torn tail*: nothing valid follows.
    ``repairs`` are valid batches whose base offsets are wrong in the file.
    """

    valid_end: int
    next_offset: int
    size: int
    damaged: tuple[DamagedRange, ...]
    repairs: tuple[OffsetRepair, ...] = ()

    @property
    def is_torn(self) -> bool:
        """Whether the file goes on behind its last valid batch."""
        return self.valid_end < self.size

    @property
    def is_clean(self) -> bool:
        """Whether every byte belongs to a valid batch."""
        return not self.is_torn and not self.damaged and not self.repairs

    def behind(self, passed: Iterable[QuarantineEntry]) -> "Recovery":
        """The same, where the end may be known damage, which is no torn tail."""
        valid_end, next_offset = self.valid_end, self.next_offset
        for entry in passed:
            if entry.start <= valid_end <= entry.end:
                valid_end = entry.end
                next_offset = max(next_offset, entry.last_offset + 1)
        return self._replace(valid_end=valid_end, next_offset=next_offset)
