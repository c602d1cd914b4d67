"""The batches of a ``.log``, and on request their records; damage in its place."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.protocol.control_records import ControlType, decode_key, decode_value
from odradek.protocol.errors import KafkaError
from odradek.protocol.record_batch import (
    CODEC_NAMES,
    NO_SEQUENCE,
    BatchHeader,
    next_sequence,
    read_header,
)
from odradek.protocol.records import Record, iterate
from odradek.storage.files.file_system import File
from odradek.storage.scan.batch_scan import BatchScan
from odradek.storage.scan.damage import DamagedPart, LogPlace, damaged_parts

from .row import Fields, Row, RowKind, damage, note

if TYPE_CHECKING:
    from .record_decoder import RecordDecoder


@dataclass(frozen=True)
class Depth:
    """How much to show: batches, their records too, or what these hold as well."""

    records: bool = False
    data: bool = False
    decoder: "RecordDecoder | None" = None


def dump_log(log: File, base_offset: int, depth: Depth, size_max: int) -> Iterator[Row]:
    """Every batch, as long as it begins in the first ``size_max`` bytes.

    ``base_offset`` is that of the segment.
    """
    scan = BatchScan(log, 0, base_offset)
    end, next_offset = 0, base_offset
    for position, header, batch in scan:
        if position > end:
            place = LogPlace(base_offset, next_offset)
            yield from _damaged(log, end, min(position, size_max), place)
        if position >= size_max:
            return
        yield from _batch(position, header, batch, depth)
        end, next_offset = position + header.size, header.next_offset
    if end < min(log.size, size_max):
        yield from _damaged(log, end, log.size, LogPlace(base_offset, next_offset))


def base_offset_of_first(log: File) -> int:
    """The base offset of the first batch, for a log whose name does not say it."""
    data = log.read_at(0, 61)
    return max(read_header(data).base_offset, 0) if len(data) == 61 else 0


def _batch(
    position: int, header: BatchHeader, batch: memoryview, depth: Depth
) -> Iterator[Row]:
    fields = _batch_fields(position, header, is_valid=True)
    if depth.records or (header.is_control and depth.data):
        rows: list[Fields] = []
        fields["records"] = rows
        try:
            rows += [_record(header, record, depth) for record in iterate(batch)]
        except (KafkaError, ValueError) as error:
            yield Row(RowKind.BATCH, fields)
            reason = f"its records cannot be read: {error}"
            yield damage(position, position + header.size, reason)
            return
    yield Row(RowKind.BATCH, fields)


def _damaged(log: File, start: int, end: int, place: LogPlace) -> Iterator[Row]:
    for part in damaged_parts(log, start, end, place):
        if part.header is not None:
            fields = _batch_fields(part.position, part.header, part.has_valid_crc)
            yield Row(RowKind.BATCH, fields)
        yield _explained(part, log.size)


def _explained(part: DamagedPart, size: int) -> Row:
    if part.is_zeros and part.end == size:
        return note(
            f"{size - part.position} zero bytes at the end: preallocated, or never"
            " written before the machine stopped",
            position=part.position,
            end=part.end,
        )
    return damage(part.position, part.end, part.reason)


def _batch_fields(position: int, header: BatchHeader, is_valid: bool) -> Fields:
    time = "LogAppendTime" if header.is_log_append_time else "CreateTime"
    codec = header.compression
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.records_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": header.delete_horizon_ms,
        "position": position,
        time: header.max_timestamp,
        "size": header.size,
        "magic": header.magic,
        "compresscodec": CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else codec,
        "crc": header.crc,
        "isvalid": is_valid,
    }


def _record(header: BatchHeader, record: Record, depth: Depth) -> Fields:
    sequence = NO_SEQUENCE
    if header.base_sequence != NO_SEQUENCE:
        delta = record.offset - header.base_offset
        sequence = next_sequence(header.base_sequence, delta)
    time = "LogAppendTime" if header.is_log_append_time else "CreateTime"
    fields: Fields = {
        "offset": record.offset,
        time: record.timestamp,
        "keySize": _size(record.key),
        "valueSize": _size(record.value),
        "sequence": sequence,
        "headerKeys": [
            _shown(name.encode("utf-8", "surrogateescape"))
            for name, _ in record.headers
        ],
    }
    if header.is_control:
        fields.update(_control(record))
    elif depth.decoder is not None:
        fields["key"], fields["payload"] = depth.decoder.decode(
            record.key, record.value
        )
    elif depth.data:
        fields["key"], fields["payload"] = _shown(record.key), _shown(record.value)
        if record.headers:
            fields["headerValues"] = [_shown(value) for _, value in record.headers]
    return fields


def _control(record: Record) -> Fields:
    control_type = decode_key(record.key)
    if control_type is None:
        return {"controlType": "unknown"}
    if control_type > ControlType.COMMIT:
        return {"controlType": control_type.name}
    return {
        "endTxnMarker": control_type.name,
        "coordinatorEpoch": decode_value(record.value),
    }


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _shown(data: bytes | None) -> object:
    """Text where the bytes are UTF-8, else their hexadecimal digits."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"hex": data.hex()}
