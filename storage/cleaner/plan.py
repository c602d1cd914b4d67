"""What one round of cleaning is to do, and what it did: values, for another thread."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import NamedTuple

from odradek.storage.formats.transaction_entry import TransactionEntry
from odradek.storage.values.log_config import LogConfig


class SourceSegment(NamedTuple):
    """A sealed segment as it is before the round; sizes in bytes.

    ``end_offset`` is where the next one begins. One with ``has_damage`` stays as it
    is, byte for byte; its sound records count all the same. The sizes of its indexes
    are found by `with_details`.
    """

    base_offset: int
    end_offset: int
    size: int
    has_damage: bool = False
    offset_index_size: int = 0
    time_index_size: int = 0


class CleaningPlan(NamedTuple):
    """A log as it is when a round begins.

    ``segments`` are all up to ``end_offset``, where records that may be cleaned end;
    from ``first_dirty_offset`` on they were not cleaned before. ``base_offsets`` are
    those of all segments of the log; ``aborted`` the transactions that their indexes
    say were aborted, found by `with_details`; ``producers`` is what `producer_ends`
    packs. A tombstone or marker
    that is kept for the first time stays for ``delete_retention_ms`` from ``now_ms``
    on. ``map_size`` bounds the memory for keys, in bytes, of which a part up to
    ``load_factor`` is filled; ``bytes_per_second`` what is read and written.
    """

    directory: Path
    segments: tuple[SourceSegment, ...]
    first_dirty_offset: int
    end_offset: int
    now_ms: int
    delete_retention_ms: int
    config: LogConfig
    map_size: int
    base_offsets: tuple[int, ...] = ()
    aborted: Sequence[TransactionEntry] = ()
    producers: bytes = b""
    bytes_per_second: float = inf
    load_factor: float = 0.9


class CleanedSegment(NamedTuple):
    """A new segment, its files named ``.cleaned``, and those that it replaces."""

    base_offset: int
    replaced: tuple[int, ...]
    size: int


@dataclass(slots=True)
class CleaningStats:
    """What a round has read and written."""

    bytes_read: int = 0
    bytes_written: int = 0
    records_read: int = 0
    records_written: int = 0
    null_key_count: int = 0
    key_count: int = 0


class RoundEnd(NamedTuple):
    """How a round ended: the error that ended it, or None, and what it did."""

    error: Exception | None
    next_dirty_offset: int
    stats: CleaningStats


class DamageFound(Exception):
    """A segment has damage that was not known: to be quarantined first."""

    def __init__(self, base_offset: int, position: int) -> None:
        super().__init__(base_offset, position)
        self.base_offset = base_offset
        self.position = position

    def __str__(self) -> str:
        return f"segment {self.base_offset} is damaged at byte {self.position}"
