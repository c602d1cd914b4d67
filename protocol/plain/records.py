"""The walk over the records of a batch, in plain Python.

``speedups.c`` does the same 250 times faster; this serves where it was not
built, and says what it does. Both raise ValueError with the same sentence.
"""

from struct import Struct
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

# Length, attributes, timestamp, offset, key length, value length, header count.
RECORD_SIZE_MIN = 7

_ROW = Struct("=6q")

_VARINT_BYTES = 5
_VARLONG_BYTES = 10
# What the last byte of a varint may hold: 35 bits for 32, 70 bits for 64.
_LAST_BYTE_MAX = {_VARINT_BYTES: 0x0F, _VARLONG_BYTES: 0x01}

_BAD_NUMBER = "holds a number that is cut short or too large"


class _MalformedRecordError(ValueError):
    """What is wrong with a record, without its place."""


# attributes, then what index_records writes: see there
_Record: TypeAlias = tuple[int, int, int, int, int, int, int]


def summarize(
    payload: "Buffer", count: int, base_timestamp: int
) -> tuple[int, int, int, int]:
    """Check all records of an uncompressed payload, as a client may send them.

    Every length must fit, offset deltas be 0 to count - 1, attributes 0, and the
    records fill the payload.

    Returns:
        The smallest timestamp, the largest, the place of the first record with the
        largest, and how many keys are null. A timestamp outside of int64 wraps.
        Without records: -1 for the timestamps and the place.

    Raises:
        ValueError: which record breaks which rule.
    """
    data = bytes(payload)  # a third faster to index than a memoryview
    timestamp_min = timestamp_max = place_of_max = -1
    position = place = null_keys = 0
    check_count(count, len(data))
    try:
        for place in range(count):
            record, position = _read_record(data, position)
            attributes, timestamp_delta, offset_delta, _, key_length, *_ = record
            if attributes != 0:
                raise _MalformedRecordError("has attributes other than 0")
            if offset_delta != place:
                raise _MalformedRecordError("has an offset delta other than its place")
            timestamp = wrap_int64(base_timestamp + timestamp_delta)
            if place == 0 or timestamp > timestamp_max:
                timestamp_max, place_of_max = timestamp, place
            if place == 0 or timestamp < timestamp_min:
                timestamp_min = timestamp
            null_keys += key_length < 0
    except _MalformedRecordError as error:
        raise ValueError(f"Record {place} of the batch {error}.") from None
    _check_end(position, len(data))
    return timestamp_min, timestamp_max, place_of_max, null_keys


def index_records(payload: "Buffer", count: int, rows: "Buffer") -> None:
    """Say where the fields of each record are; offsets and attributes are free.

    Six int64 a record are written into ``rows``: timestamp delta, offset delta, key
    position, key length, value position, value length. Positions are in the
    payload, the length of null is -1. The headers begin where the value ends.

    Raises:
        ValueError: which record is malformed.
        BufferError: ``rows`` is too small.
    """
    data = bytes(payload)
    check_count(count, len(data))
    if len(memoryview(rows).cast("B")) < count * _ROW.size:
        raise BufferError("six int64 a record are needed")
    for place, (row, _, _) in enumerate(walk_records(data, count)):
        _ROW.pack_into(rows, place * _ROW.size, *row)


def walk_records(
    data: bytes, count: int
) -> "Iterator[tuple[tuple[int, int, int, int, int, int], int, int]]":
    """Yield the row of each record, as above, and where it begins and ends.

    Raises:
        ValueError: which record is malformed, when its turn comes.
    """
    position = place = 0
    try:
        for place in range(count):  # noqa: B007  (named in the message)
            start = position
            (_, *row), position = _read_record(data, position)
            yield tuple(row), start, position  # type: ignore[misc]
    except _MalformedRecordError as error:
        raise ValueError(f"Record {place} of the batch {error}.") from None
    _check_end(position, len(data))


def wrap_int64(number: int) -> int:
    """``number`` as Java's long addition would have it."""
    if -(2**63) <= number < 2**63:
        return number
    return (number + 2**63) % 2**64 - 2**63


def read_varint(
    data: bytes | memoryview, position: int, end: int, bytes_max: int = _VARINT_BYTES
) -> tuple[int, int]:
    """The zigzag number at ``position`` and where it ends."""
    if position < end and (byte := data[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1  # most of them
    bits = 0
    last = position + bytes_max - 1
    for at in range(position, min(end, last + 1)):
        byte = data[at]
        bits |= (byte & 0x7F) << 7 * (at - position)
        if byte < 0x80:
            if at == last and byte > _LAST_BYTE_MAX[bytes_max]:
                break
            return (bits >> 1) ^ -(bits & 1), at + 1
    raise _MalformedRecordError(_BAD_NUMBER)


def _read_record(data: bytes, position: int) -> tuple[_Record, int]:
    length, position = read_varint(data, position, len(data))
    if not 0 <= length <= len(data) - position:
        raise _MalformedRecordError("is longer than what is left of the batch")
    end = position + length
    if length == 0:
        raise _MalformedRecordError(_BAD_NUMBER)
    attributes = data[position]
    timestamp, position = read_varint(data, position + 1, end, _VARLONG_BYTES)
    offset, position = read_varint(data, position, end)
    key_position, key_length = _read_field(data, position, end, "key")
    position = key_position + key_length if key_length > 0 else key_position
    value_position, value_length = _read_field(data, position, end, "value")
    position = value_position + value_length if value_length > 0 else value_position
    if position < end and data[position] == 0:
        position += 1  # no headers, as most records
    else:
        position = _skip_headers(data, position, end)
    if position != end:
        raise _MalformedRecordError("does not end where its length says")
    key, value = (key_position, key_length), (value_position, value_length)
    return (attributes, timestamp, offset, *key, *value), end


def _read_field(data: bytes, position: int, end: int, name: str) -> tuple[int, int]:
    """Where a field begins, and its length; -1 is null."""
    length, position = read_varint(data, position, end)
    if not -1 <= length <= end - position:
        raise _MalformedRecordError(f"has a {name} length that does not fit")
    return position, length


def _skip_headers(data: bytes, position: int, end: int) -> int:
    count, position = read_varint(data, position, end)
    if count < 0:
        raise _MalformedRecordError("has a negative number of headers")
    for _ in range(count):
        position, length = _read_field(data, position, end, "header key")
        if length < 0:
            raise _MalformedRecordError("has a header key length that does not fit")
        position, length = _read_field(data, position + length, end, "header value")
        position += max(length, 0)
    return position


def check_count(count: int, size: int) -> None:
    """Raise ValueError when so many records cannot be in so many bytes."""
    if not 0 <= count <= size // RECORD_SIZE_MIN:
        raise ValueError(f"The batch says {count} records, in {size} bytes.")


def _check_end(position: int, size: int) -> None:
    if position != size:
        raise ValueError(
            f"The batch has {size - position} bytes after its last record."
        )
