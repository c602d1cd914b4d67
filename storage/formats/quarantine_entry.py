"""The text of a partition's ``quarantine`` file: damaged ranges, one a line.

.. code-block:: text

    0
    1
    685b29ec 0 4096 5120 30 39 2 the checksum is wrong

A version and a count, then of each range: CRC-32C of what follows in its line, base
offset of its segment, the bytes from ``start`` up to ``end``, its first and last
offset, the leader epoch, and the reason. A wrong digit would hide sound records.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from odradek.protocol.checksum import crc32c
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    pack_header,
    restamp_crc,
)

from .checkpoint import format_lines, parse_lines

_LAST_OFFSET_DELTA_MAX: Final = 2**31 - 1


class QuarantineEntry(NamedTuple):
    """A range of a segment that holds no valid batch.

    ``start`` up to ``end`` are its bytes (none, if only offsets were lost),
    ``base_offset`` to ``last_offset`` the offsets that readers skip. The last may be
    one below the first: then no offset was lost. ``leader_epoch`` is that of the log
    there, -1 when it is not known.
    """

    segment_base: int
    start: int
    end: int
    base_offset: int
    last_offset: int
    reason: str
    leader_epoch: int = NO_LEADER_EPOCH

    @property
    def has_offsets(self) -> bool:
        """Whether there is an offset to skip."""
        return self.last_offset >= self.base_offset


def empty_batch(entry: QuarantineEntry, start_offset: int = 0) -> bytes:
    """A valid batch without records that spans the offsets of ``entry``.

    A span that one batch cannot have begins at ``start_offset``, where a reader is.
    """
    base_offset, last_offset = entry.base_offset, entry.last_offset
    assert entry.has_offsets, entry
    if last_offset - base_offset > _LAST_OFFSET_DELTA_MAX:
        base_offset = max(base_offset, start_offset)
        last_offset = min(last_offset, base_offset + _LAST_OFFSET_DELTA_MAX)
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=BATCH_OVERHEAD - LOG_OVERHEAD,
        partition_leader_epoch=entry.leader_epoch,
        magic=CURRENT_MAGIC,
        crc=0,
        attributes=0,
        last_offset_delta=last_offset - base_offset,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=NO_TIMESTAMP,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        records_count=0,
    )
    batch = bytearray(BATCH_OVERHEAD)
    pack_header(batch, header)
    restamp_crc(batch)
    return bytes(batch)


def format_quarantine(entries: Iterable[QuarantineEntry]) -> str:
    """The text of a quarantine."""
    return format_lines(map(_format_entry, entries))


def _format_entry(entry: QuarantineEntry) -> str:
    *numbers, reason, leader_epoch = entry
    line = " ".join(map(str, (*numbers, leader_epoch, *reason.split())))
    return f"{_checksum(line)} {line}"


def _checksum(line: str) -> str:
    return f"{crc32c(line.encode()):08x}"


def parse_quarantine(text: str) -> list[QuarantineEntry]:
    """The entries of a quarantine, in the order of the file.

    Raises:
        CheckpointError: another version, a malformed line or a wrong count.
    """
    return parse_lines(text, _entry)


def _entry(fields: list[str]) -> QuarantineEntry:
    if fields[:1] != [_checksum(" ".join(fields[1:]))]:
        raise ValueError
    segment_base, start, end, base_offset, last_offset, leader_epoch = map(
        int, fields[1:7]
    )
    if not (0 <= segment_base <= base_offset <= last_offset + 1 and 0 <= start <= end):
        raise ValueError
    reason = " ".join(fields[7:])
    return QuarantineEntry(
        segment_base, start, end, base_offset, last_offset, reason, leader_epoch
    )
