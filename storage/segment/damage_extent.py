"""How far damage reaches: from the last valid batch before it to the next one.

Or it is no more than an offset that can be put right.

A reader only knows where it stumbled. A mangled length leads it into the middle of
another batch, so the damage may lie before that place, never behind it.

A batch that the scan finds sound is never taken for damage, whatever a reader says of
it: its records may have been acknowledged. What led the reader astray may be an index
that changed on its disk, or bytes that came over wrong once.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from odradek.protocol.errors import CorruptMessage
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    NO_LEADER_EPOCH,
    check_crc,
    read_header,
)
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.scan.batch_scan import BatchScan, Expected
from odradek.storage.scan.damage import LogPlace, damaged_parts
from odradek.storage.scan.result import OffsetRepair

if TYPE_CHECKING:
    from .reader import SegmentReader

Damage: TypeAlias = QuarantineEntry | OffsetRepair

_ANCHOR_TRIES = 4


class NoDamage(CorruptMessage):
    """A reader stumbled, and every batch up to there is sound."""


class _Anchor(NamedTuple):
    """A valid batch, or the start of the segment."""

    position: int
    base_offset: int


def find_extent(
    reader: "SegmentReader",
    position: int,
    next_base: int,
    known: Sequence[QuarantineEntry],
) -> Damage:
    """The damage at or before ``position`` that is not ``known`` yet.

    It reads the log from the index entry before ``position`` on, or if the damage
    lies before that, from the start. Waits for the disk.

    Raises:
        NoDamage: every batch up to ``position`` is valid.
    """
    start = _Anchor(0, reader.base_offset)
    for first in (_anchor_before(reader, position), start):
        for entry in _gaps(reader, first, position, next_base):
            if not _is_known(entry, known):
                return entry
    raise NoDamage(f"{reader.log.path}: no damage up to position {position}")


def is_offset_wrong(reader: "SegmentReader", position: int) -> bool:
    """Whether a valid batch is at ``position`` that does not begin where it says.

    It reads the log from the index entry before ``position`` on. Waits for the disk.
    """
    end = reader.end
    anchor = _anchor_before(reader, position)
    scan = _scan(reader, anchor, end.limit, end.offset)
    for at, header, _ in scan:
        if at > position or at + header.size > position:
            break
    found = scan.recovery()
    if any(each.position == position for each in found.repairs):
        return True
    ranges = [(each.start, each.end) for each in found.damaged]
    if not _size_at(reader, position) or not any(
        start <= position < end
        for start, end in [*ranges, (found.valid_end, found.size)]
    ):
        return False
    batch = reader.log.read_at(position, _size_at(reader, position))
    return check_crc(batch, read_header(batch))


def _scan(
    reader: "SegmentReader", anchor: _Anchor, next_base: int, end: int | None
) -> BatchScan:
    expected = Expected(
        anchor.base_offset,
        end,
        next_base - reader.base_offset - 1,
        reader.indexes.has_gaps,
        reader.indexes.claims(),
    )
    return BatchScan(reader.log, anchor.position, reader.base_offset, expected=expected)


def _anchor_before(reader: "SegmentReader", position: int) -> _Anchor:
    """A valid, indexed batch before ``position``."""
    log, offsets = reader.log, reader.indexes.offsets
    for _ in range(_ANCHOR_TRIES):
        try:
            entry = offsets.before_position(position)
        except CorruptIndex:
            break
        position = entry.position
        if not position:
            break
        batch = log.read_at(position, _size_at(reader, position))
        if batch:
            header = read_header(batch)
            if header.last_offset == entry.offset and check_crc(batch, header):
                return _Anchor(position, header.base_offset)
    return _Anchor(0, reader.base_offset)


def _size_at(reader: "SegmentReader", position: int) -> int:
    """The bytes of the batch at ``position``; 0 when it cannot be whole."""
    try:
        size = read_header(reader.log.read_at(position, BATCH_OVERHEAD)).size
    except CorruptMessage:
        return 0
    return size if BATCH_OVERHEAD <= size <= reader.log.size - position else 0


def _gaps(
    reader: "SegmentReader",
    anchor: _Anchor,
    position: int,
    next_base: int,
) -> Iterator[Damage]:
    """The bytes from ``anchor`` on that hold no valid batch, and wrong offsets.

    Those that begin behind ``position`` are left out. A batch that reaches into the
    next segment counts as damaged.
    """
    log = reader.log
    end, next_offset, epoch = *anchor, NO_LEADER_EPOCH

    def gap(gap_end: int, gap_next: int) -> QuarantineEntry:
        place = LogPlace(reader.base_offset, next_offset)
        reason = next(damaged_parts(log, end, gap_end, place)).reason
        byte_range, offsets = (end, gap_end), (next_offset, gap_next - 1)
        return QuarantineEntry(reader.base_offset, *byte_range, *offsets, reason, epoch)

    scan = _scan(reader, anchor, next_base, next_base)
    repairs_seen = 0
    for at, header, _ in scan:
        repairs = scan.recovery().repairs[repairs_seen:]
        repairs_seen += len(repairs)
        yield from repairs
        if epoch == NO_LEADER_EPOCH:
            epoch = header.partition_leader_epoch
        if at > end:
            yield gap(at, header.base_offset)
        end, next_offset = at + header.size, header.next_offset
        epoch = header.partition_leader_epoch
        if end > position:
            return
    if end < log.size:
        yield gap(log.size, next_base)


def _is_known(entry: Damage, known: Sequence[QuarantineEntry]) -> bool:
    if isinstance(entry, OffsetRepair):
        start, end = entry.position, entry.position + entry.size
        return any(each.start <= start and end <= each.end for each in known)
    return any(each.start <= entry.start and entry.end <= each.end for each in known)
