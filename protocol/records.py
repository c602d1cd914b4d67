"""The records inside a batch: checked in one pass, read one by one, or built.

A record is ``length`` varint, ``attributes`` int8 (0), ``timestamp_delta`` varlong,
``offset_delta`` varint, ``key`` and ``value`` with a varint length each (-1 is null),
a varint count of headers, and for each header its key (never null) and value. All
varints are zigzag. A compressed batch compresses its records together.
"""

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

from .compression import STORED_SIZE_MAX, compress, decompress
from .errors import CorruptMessage, InvalidRecord
from .plain.records import RECORD_SIZE_MIN, read_varint, wrap_int64
from .record_batch import (
    BATCH_OVERHEAD,
    COMPRESSION_MASK,
    COMPRESSION_NONE,
    CONTROL,
    CURRENT_MAGIC,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
    pack_header,
    read_header,
    restamp_crc,
)

try:
    from .speedups import index_records
    from .speedups import summarize as _summarize
except ImportError:  # installed where there was no compiler
    from .plain.records import index_records
    from .plain.records import summarize as _summarize

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from typing_extensions import Buffer

_ROW = Struct("=6q")
_INT64_LIMIT = 1 << 63
_ONE_BYTE = tuple(bytes([number]) for number in range(0x80))
_NULL = b"\x01"  # the length -1

_new = tuple.__new__


class Record(NamedTuple):
    """A record as a consumer sees it: its own offset and time, bytes of its own."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class NewRecord(NamedTuple):
    """A record to be written; the batch gives it an offset."""

    key: "Buffer | None" = None
    value: "Buffer | None" = None
    timestamp: int = NO_TIMESTAMP
    headers: "Sequence[tuple[str, Buffer | None]]" = ()


class RecordsSummary(NamedTuple):
    """What the leader has to know of the records of a valid batch.

    Without records, the timestamps and the offset delta are -1.
    """

    min_timestamp: int
    max_timestamp: int
    offset_delta_of_max_timestamp: int
    null_key_count: int

    @property
    def has_null_key(self) -> bool:
        """Whether a compacted topic must refuse the batch."""
        return self.null_key_count > 0


class BatchFields(TypedDict, total=False):
    """What may be said of a batch besides its records; -1 is none."""

    base_offset: int
    leader_epoch: int
    compression: int
    compression_level: int | None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool
    is_control: bool
    log_append_time_ms: int | None


def summarize(payload: "Buffer", count: int, base_timestamp: int) -> RecordsSummary:
    """Check every byte of uncompressed records, and sum them up; see plain.records.

    Raises:
        InvalidRecord: which record breaks which rule.
    """
    try:
        return _new(RecordsSummary, _summarize(payload, count, base_timestamp))
    except ValueError as error:
        raise InvalidRecord(str(error)) from None


def index_rows(
    batch: "Buffer",
    header: BatchHeader,
    decompress_limit: int = STORED_SIZE_MAX,
) -> "tuple[bytes, Iterator[tuple[int, ...]]]":
    """The records of a whole batch as bytes, and a row of integers for each.

    A row is the record's timestamp delta and offset delta, then position and length
    of its key and of its value in these bytes; a length of -1 is null. For who reads
    so many that a `Record` each is too dear.

    Raises:
        CorruptMessage, MessageTooLarge, InvalidRecord: as `iterate`.
    """
    view = memoryview(batch)
    if not BATCH_OVERHEAD <= header.size <= len(view):
        raise CorruptMessage("The batch is cut short.")
    payload = decompress(
        header.compression, view[BATCH_OVERHEAD : header.size], decompress_limit
    )
    # Slices of bytes are three times quicker than bytes of slices of a view.
    return bytes(payload), _ROW.iter_unpack(_index(payload, header.records_count))


def uncompressed(batch: "Buffer", header: BatchHeader) -> "Buffer":
    """A whole batch that does not compress its records: itself, or one for a while.

    The checksum of that one is not made.

    Raises:
        CorruptMessage, MessageTooLarge: as `iterate`.
    """
    if header.compression == COMPRESSION_NONE:
        return batch
    payload = decompress(
        header.compression,
        memoryview(batch)[BATCH_OVERHEAD : header.size],
        STORED_SIZE_MAX,
    )
    opened = bytearray(BATCH_OVERHEAD)
    opened += payload
    fields = header._replace(
        attributes=header.attributes & ~COMPRESSION_MASK,
        batch_length=len(opened) - LOG_OVERHEAD,
    )
    pack_header(opened, fields)
    return opened


def iterate(
    batch: "Buffer", decompress_limit: int = STORED_SIZE_MAX
) -> "Iterator[Record]":
    """Yield the records of one whole batch, with absolute offsets and timestamps.

    The checksum is the caller's business. A header key that is not UTF-8 has its
    strange bytes as surrogates, so that writing it again gives the same bytes.

    Raises:
        CorruptMessage: the batch is cut short, or its compressed data are corrupt.
        MessageTooLarge: the records are larger than ``decompress_limit``.
        InvalidRecord: a record is malformed.
    """
    header = read_header(batch)
    data, rows = index_rows(batch, header, decompress_limit)
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    append_time = header.max_timestamp if header.is_log_append_time else None
    for row in rows:
        timestamp_delta, offset_delta, key_at, key_length, value_at, value_length = row
        timestamp = base_timestamp + timestamp_delta
        if append_time is not None:
            timestamp = append_time
        elif not 0 <= timestamp < _INT64_LIMIT:
            timestamp = wrap_int64(timestamp)
        end = value_at + value_length if value_length > 0 else value_at
        fields = (
            base_offset + offset_delta,
            timestamp,
            data[key_at : key_at + key_length] if key_length >= 0 else None,
            data[value_at:end] if value_length >= 0 else None,
            _read_headers(data, end) if data[end] else (),
        )
        yield _new(Record, fields)


def build_batch(
    records: "Iterable[NewRecord]", **fields: "Unpack[BatchFields]"
) -> bytearray:
    """A whole batch of at least one record, as a client or a coordinator writes it."""
    records = list(records)
    base_timestamp = max_timestamp = records[0].timestamp
    pieces = []
    for place, record in enumerate(records):
        timestamp = record.timestamp
        max_timestamp = max(max_timestamp, timestamp)
        pieces.append(encode_record(place, timestamp - base_timestamp, record))
    log_append_time_ms = fields.get("log_append_time_ms")
    if log_append_time_ms is not None:
        max_timestamp = log_append_time_ms
    # Coordinators make a batch for each request: without names, a third faster.
    header = _new(
        BatchHeader,
        (
            fields.get("base_offset", 0),
            0,  # its length; see `assemble`
            fields.get("leader_epoch", NO_LEADER_EPOCH),
            CURRENT_MAGIC,
            0,  # its checksum
            _attributes(fields),
            len(records) - 1,
            base_timestamp,
            max_timestamp,
            fields.get("producer_id", NO_PRODUCER_ID),
            fields.get("producer_epoch", NO_PRODUCER_EPOCH),
            fields.get("base_sequence", NO_SEQUENCE),
            len(records),
        ),
    )
    return assemble(header, b"".join(pieces), fields.get("compression_level"))


def assemble(
    header: BatchHeader, payload: "Buffer", compression_level: int | None = None
) -> bytearray:
    """A batch with these fields and records: compressed here, length and CRC made."""
    if header.compression != COMPRESSION_NONE:
        payload = compress(header.compression, payload, compression_level)
    batch = bytearray(BATCH_OVERHEAD)
    batch += payload
    base_offset, _, *others = header
    fields = (base_offset, len(batch) - LOG_OVERHEAD, *others)
    pack_header(batch, _new(BatchHeader, fields))
    restamp_crc(batch)
    return batch


def encode_record(
    offset_delta: int, timestamp_delta: int, record: "NewRecord | Record"
) -> bytes:
    """The bytes of one record, its length in front."""
    pieces = [
        b"\x00",
        encode_varint(timestamp_delta),
        encode_varint(offset_delta),
        *_field(record.key),
        *_field(record.value),
        encode_headers(record.headers) if record.headers else b"\x00",
    ]
    body = b"".join(pieces)
    return encode_varint(len(body)) + body


def encode_headers(headers: "Collection[tuple[str, Buffer | None]]") -> bytes:
    """The bytes of a record's headers, their count in front."""
    pieces: list[Buffer] = [encode_varint(len(headers))]
    for name, value in headers:
        pieces += _field(name.encode("utf-8", "surrogateescape"))
        pieces += _field(value)
    return b"".join(pieces)


def _index(payload: memoryview, count: int) -> bytearray:
    """The rows of ``index_records``; room is made only for what can be there."""
    if not 0 <= count <= len(payload) // RECORD_SIZE_MIN:
        raise InvalidRecord(f"The batch says {count} records, in {len(payload)} bytes.")
    rows = bytearray(count * _ROW.size)
    try:
        index_records(payload, count, rows)
    except ValueError as error:
        raise InvalidRecord(str(error)) from None
    return rows


def _read_headers(data: bytes, position: int) -> tuple[tuple[str, bytes | None], ...]:
    """The headers at ``position``; ``index_records`` has checked all lengths."""
    end = len(data)
    headers: list[tuple[str, bytes | None]] = []
    count, position = read_varint(data, position, end)
    for _ in range(count):
        length, position = read_varint(data, position, end)
        name = data[position : position + length].decode("utf-8", "surrogateescape")
        length, position = read_varint(data, position + length, end)
        if length < 0:
            headers.append((name, None))
            continue
        headers.append((name, data[position : position + length]))
        position += length
    return tuple(headers)


def _attributes(fields: BatchFields) -> int:
    attributes = fields.get("compression", COMPRESSION_NONE)
    if fields.get("log_append_time_ms") is not None:
        attributes |= LOG_APPEND_TIME
    if fields.get("is_transactional"):
        attributes |= TRANSACTIONAL
    if fields.get("is_control"):
        attributes |= CONTROL
    return attributes


def encode_varint(number: int) -> bytes:
    """A zigzag varint, of any number of bits."""
    bits = number << 1 if number >= 0 else ~(number << 1)
    if bits < 0x80:
        return _ONE_BYTE[bits]
    encoded = bytearray()
    while bits >= 0x80:
        encoded.append(bits & 0x7F | 0x80)
        bits >>= 7
    encoded.append(bits)
    return bytes(encoded)


def _field(data: "Buffer | None") -> "tuple[Buffer, ...]":
    if data is None:
        return (_NULL,)
    size = len(data) if type(data) is bytes else memoryview(data).nbytes
    return encode_varint(size), data
