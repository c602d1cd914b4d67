"""The producers in a ``.snapshot``; also when its checksum is wrong, and it says so."""

from collections.abc import Iterator
from struct import Struct

from odradek.protocol.checksum import crc32c
from odradek.protocol.record_batch import next_sequence
from odradek.storage.files.file_system import File

from .index_dump import entries
from .row import Fields, Row, RowKind, damage

_VERSION = 1
_HEADER = Struct(">hIi")
_ENTRY = Struct(">qhiqiqiq")
_CRC_START = 6
_CHUNK_SIZE = 1 << 20


def dump_snapshot(snapshot: File) -> Iterator[Row]:
    """One entry a producer, in the order of the file."""
    if snapshot.size < _HEADER.size:
        reason = f"{snapshot.size} bytes are too few for a snapshot"
        yield damage(0, snapshot.size, reason)
        return
    version, crc, count = _HEADER.unpack(snapshot.read_at(0, _HEADER.size))
    if version != _VERSION:
        yield damage(0, snapshot.size, f"version {version} of a snapshot is not known")
        return
    if _crc(snapshot) != crc:
        yield damage(0, snapshot.size, "the checksum is wrong")
    end = snapshot.size - (snapshot.size - _HEADER.size) % _ENTRY.size
    present = (end - _HEADER.size) // _ENTRY.size
    for _, fields in entries(snapshot, _ENTRY, end, _HEADER.size):
        yield Row(RowKind.ENTRY, _producer(fields))
    if end < snapshot.size or present != count:
        reason = f"{count} producers announced, {present} present"
        yield damage(end, snapshot.size, reason)


def _producer(fields: tuple[int, ...]) -> Fields:
    (
        producer_id,
        producer_epoch,
        last_sequence,
        last_offset,
        offset_delta,
        timestamp,
        coordinator_epoch,
        first_offset,
    ) = fields
    shown: Fields = {
        "producerId": producer_id,
        "producerEpoch": producer_epoch,
        "coordinatorEpoch": coordinator_epoch,
        "currentTxnFirstOffset": first_offset if first_offset >= 0 else None,
        "lastTimestamp": timestamp,
    }
    if last_offset >= 0:
        shown |= {
            "firstSequence": _first_sequence(last_sequence, offset_delta),
            "lastSequence": last_sequence,
            "lastOffset": last_offset,
            "offsetDelta": offset_delta,
            "timestamp": timestamp,
        }
    return shown


def _first_sequence(last_sequence: int, offset_delta: int) -> int:
    """Sequences count up to 2147483647, then from 0 again."""
    first = last_sequence - offset_delta
    return first if first >= 0 else next_sequence(2**31 - 1, first + 1)


def _crc(snapshot: File) -> int:
    crc, position = 0, _CRC_START
    while data := snapshot.read_at(position, _CHUNK_SIZE):
        crc = crc32c(data, crc)
        position += len(data)
    return crc
