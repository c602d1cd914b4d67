"""Metrics as clients push them: OpenTelemetry's MetricsData v1, in protobuf.

Only what is shown is read: names, attributes, and the newest number of each point (of
a histogram its count and sum). Unknown fields are passed over, as protobuf wants.
"""

from collections.abc import Iterator
from struct import Struct, error
from typing import Any, Final, NamedTuple

from .errors import InvalidRecord

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE = Struct("<d")
_SIGNED = Struct("<q")
# The kinds of data of a metric: field numbers.
_GAUGE, _SUM, _HISTOGRAM = 5, 7, 9
_POINT_ATTRIBUTES, _HISTOGRAM_ATTRIBUTES = 7, 9
_AS_DOUBLE, _AS_INTEGER = 4, 6
_COUNT, _TOTAL = 4, 5
_SAMPLES_MAX: Final = 10_000


class Sample(NamedTuple):
    """One number of one metric."""

    name: str
    attributes: tuple[tuple[str, str], ...]
    value: float


class _Field(NamedTuple):
    """A field of a message: its number, and its bytes or integer."""

    number: int
    value: Any


def read_metrics(data: memoryview) -> list[Sample]:
    """Every number in ``data``, in its order; at most 10,000.

    Raises:
        InvalidRecord: these are no such metrics.
    """
    try:
        samples = []
        for sample in _samples(data):
            samples.append(sample)
            if len(samples) == _SAMPLES_MAX:
                break
        return samples
    except (IndexError, TypeError, ValueError, error) as reason:
        raise InvalidRecord(f"the metrics cannot be read: {reason}") from reason


def _samples(data: memoryview) -> Iterator[Sample]:
    for of_resource in _messages(data, 1):
        for of_scope in _messages(of_resource, 2):
            for metric in _messages(of_scope, 2):
                yield from _samples_of(metric)


def _samples_of(metric: memoryview) -> Iterator[Sample]:
    name = ""
    for number, value in _fields(metric):
        if number == 1:
            name = _text(value)
        elif number in (_GAUGE, _SUM):
            for point in _messages(value, 1):
                yield Sample(
                    name, _attributes(point, _POINT_ATTRIBUTES), _number(point)
                )
        elif number == _HISTOGRAM:
            for point in _messages(value, 1):
                attributes = _attributes(point, _HISTOGRAM_ATTRIBUTES)
                numbers = dict(_fields(point))
                (count,) = _SIGNED.unpack(numbers.get(_COUNT, bytes(8)))
                (total,) = _DOUBLE.unpack(numbers.get(_TOTAL, bytes(8)))
                yield Sample(f"{name}.count", attributes, count)
                yield Sample(f"{name}.sum", attributes, total)


def _number(point: memoryview) -> float:
    numbers = dict(_fields(point))
    if _AS_INTEGER in numbers:
        (value,) = _SIGNED.unpack(numbers[_AS_INTEGER])
    else:
        (value,) = _DOUBLE.unpack(numbers.get(_AS_DOUBLE, bytes(8)))
    return float(value)


def _attributes(point: memoryview, number: int) -> tuple[tuple[str, str], ...]:
    found = []
    for attribute in _messages(point, number):
        key, text = "", ""
        for part, value in _fields(attribute):
            if part == 1:
                key = _text(value)
            elif part == 2:
                text = _any_value(value)
        found.append((key, text))
    return tuple(found)


def _any_value(data: memoryview) -> str:
    for number, value in _fields(data):
        if number == 1:
            return _text(value)
        if number == 2:
            return "true" if value else "false"
        if number == 3:
            return str(value)
        if number == 4:
            return str(_DOUBLE.unpack(value)[0])
    return ""


def _text(value: Any) -> str:
    if not isinstance(value, memoryview):  # bytes of a number would be that many
        raise ValueError("a text is a number")
    return bytes(value).decode()


def _messages(data: memoryview, wanted: int) -> Iterator[memoryview]:
    """The messages in a field that may be repeated."""
    for number, value in _fields(data):
        if number == wanted:
            if not isinstance(value, memoryview):
                raise ValueError(f"field {number} is not a message")
            yield value


def _fields(data: memoryview) -> Iterator[_Field]:
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        kind = tag & 7
        value: Any
        if kind == _VARINT:
            value, position = _varint(data, position)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            value = data[position : position + size]
            position += size
        elif kind == _BYTES:
            size, position = _varint(data, position)
            value = data[position : position + size]
            position += size
        else:
            raise ValueError(f"there is no wire type {kind}")
        if position > end:
            raise ValueError("a field goes beyond its message")
        yield _Field(tag >> 3, value)


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")
