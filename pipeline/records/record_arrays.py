"""Where the fields of records are, made into the arrays of Arrow: one copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from odradek.protocol.record_columns import HEADER_COLUMNS, gather, walk_headers

from .columns import HEADERS, RecordColumns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.protocol.topic_partition import TopicPartition

_MICROSECONDS = 1000
_TIME_MAX = (2**63 - 1) // _MICROSECONDS
# Behind the last slice: small ones are copied by 32 bytes where there is room.
_SLACK = 32

_BINARY, _INT64 = pa.binary(), pa.int64()
_SCHEMA = RecordColumns.of(include_headers=True).arrow_schema()
_TIMESTAMP = _SCHEMA.field("timestamp").type
_HEADERS_TYPE = _SCHEMA.field(HEADERS).type


@dataclass(frozen=True, slots=True)
class RecordRows:
    """Of some records the columns of `protocol.record_columns`, and their bytes.

    ``cells`` has a row for each column. ``is_append_time`` says of each whether the
    broker gave it its time.
    """

    data: memoryview
    cells: np.ndarray
    is_append_time: np.ndarray | bool

    @property
    def count(self) -> int:
        """How many records there are."""
        return int(self.cells.shape[1])

    @property
    def offsets(self) -> np.ndarray:
        """The offset of each."""
        return self.cells[0]  # type: ignore[no-any-return]

    @property
    def timestamps(self) -> np.ndarray:
        """The time of each, in milliseconds."""
        return self.cells[1]  # type: ignore[no-any-return]

    def within(self, start: int, end: int) -> RecordRows:
        """Those with an offset in [start, end)."""
        kept = (self.offsets >= start) & (self.offsets < end)
        if kept.all():
            return self
        times = self.is_append_time
        times = times if isinstance(times, bool) else times[kept]
        return RecordRows(self.data, np.ascontiguousarray(self.cells[:, kept]), times)


class PlacesOfRows:
    """The partitions of rows that lie one behind another: so many of each."""

    def __init__(self, places: Sequence[TopicPartition], counts: np.ndarray) -> None:
        self._places = places
        self._counts = counts

    def topics(self, rows: RecordRows) -> Any:
        """The name of each row's topic."""
        names = [place.topic.encode() for place in self._places]
        sizes = np.array([len(name) for name in names])
        positions, lengths = np.cumsum(sizes) - sizes, sizes
        cells = (np.repeat(each, self._counts) for each in (positions, lengths))
        return slices(memoryview(b"".join(names)), *cells).view(pa.string())

    def partitions(self, rows: RecordRows) -> Any:
        """The number of each row's partition."""
        numbers = np.array([place.partition for place in self._places], np.int32)
        data = pa.py_buffer(np.repeat(numbers, self._counts))
        return pa.Array.from_buffers(pa.int32(), rows.count, [None, data])


class _OnePlace:
    """One partition, of which all rows are."""

    def __init__(self, place: TopicPartition) -> None:
        self.topics = _Repeated(_one(pa.string(), place.topic.encode())).of
        self.partitions = _Repeated(_int32(place.partition)).of


class RecordArrays:
    """Makes batches of rows; what is the same in all of them, once."""

    def __init__(
        self, of: TopicPartition | PlacesOfRows, columns: RecordColumns
    ) -> None:
        """For the rows ``of`` one partition, or of one batch that has some of many."""
        self._schema = columns.arrow_schema()
        places = of if isinstance(of, PlacesOfRows) else _OnePlace(of)
        make: dict[str, Callable[[RecordRows], Any]] = {
            "key": lambda rows: slices(rows.data, rows.cells[2], rows.cells[3]),
            "value": lambda rows: slices(rows.data, rows.cells[4], rows.cells[5]),
            "topic": places.topics,
            "partition": places.partitions,
            "offset": _offsets,
            "timestamp": lambda rows: timestamp_array(rows.timestamps),
            "timestampType": self._time_types,
            HEADERS: self._headers,
        }
        self._make = [make[name] for name in columns.names]
        self._time_type = [_Repeated(_int32(n)) for n in (0, 1)]
        self._no_headers = _Repeated(pa.nulls(1, _HEADERS_TYPE)[0])

    def batch(self, rows: RecordRows) -> pa.RecordBatch:
        """The columns of some records."""
        return pa.RecordBatch.from_arrays(
            [make(rows) for make in self._make], schema=self._schema
        )

    def _time_types(self, rows: RecordRows) -> Any:
        if isinstance(rows.is_append_time, bool):
            return self._time_type[rows.is_append_time].of(rows)
        return pa.array(rows.is_append_time.astype(np.int32))

    def _headers(self, rows: RecordRows) -> Any:
        """A list for each record; null where it has no header."""
        value_positions, value_lengths, counts = rows.cells[4:]
        if not counts.any():
            return self._no_headers.of(rows)
        has_some = counts > 0
        positions = (value_positions + np.maximum(value_lengths, 0))[has_some]
        cells = np.empty((HEADER_COLUMNS, int(counts.sum())), np.int64)
        walk_headers(rows.data, positions.data, cells.data)
        names = _texts(rows.data, cells[0], cells[1])
        values = slices(rows.data, cells[2], cells[3])
        entries = pa.StructArray.from_arrays(
            [names, values], fields=list(_HEADERS_TYPE.value_type)
        )
        ends = np.zeros(rows.count + 1, np.int32)
        np.cumsum(counts, out=ends[1:])
        buffers = [validity_of(has_some), pa.py_buffer(ends)]
        return pa.Array.from_buffers(
            _HEADERS_TYPE, rows.count, buffers, children=[entries]
        )


# `pa.scalar` would say the same, and load pandas to do it: 0.3 s in every worker.


def _one(type: Any, data: bytes) -> Any:
    ends = pa.py_buffer(np.array([0, len(data)], np.int32))
    return pa.Array.from_buffers(type, 1, [None, ends, pa.py_buffer(data)])[0]


def _int32(number: int) -> Any:
    data = pa.py_buffer(np.array([number], np.int32))
    return pa.Array.from_buffers(pa.int32(), 1, [None, data])[0]


class _Repeated:
    """One value for every record: a slice of what was made for more of them."""

    def __init__(self, scalar: Any) -> None:
        self._scalar = scalar
        self._made = pa.repeat(scalar, 1024)

    def of(self, rows: RecordRows) -> Any:
        count = rows.count
        if len(self._made) < count:
            self._made = pa.repeat(self._scalar, 2 * count)
        return self._made.slice(0, count)


def slices(data: memoryview, positions: np.ndarray, lengths: np.ndarray) -> Any:
    """The slices, side by side; null where the length is negative."""
    count, size = len(lengths), int(lengths.sum())
    validity = None
    if lengths.min() < 0:
        is_there = lengths >= 0
        size += count - int(np.count_nonzero(is_there))
        validity = validity_of(is_there)
    offsets = np.empty(count + 1, np.int32)
    # Of Arrow's memory: numpy's goes back to the system and comes back as empty pages.
    target = pa.allocate_buffer(size + _SLACK)
    gather(data, positions.data, lengths.data, offsets.data, target)
    buffers = [validity, pa.py_buffer(offsets), target]
    return pa.Array.from_buffers(_BINARY, count, buffers)


def _texts(data: memoryview, positions: np.ndarray, lengths: np.ndarray) -> Any:
    """As `slices`, as text; what is not UTF-8 becomes U+FFFD, as in a Java client."""
    found = slices(data, positions, lengths)
    texts = found.view(pa.string())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        strings = [name.decode(errors="replace") for name in found.to_pylist()]
        return pa.array(strings, pa.string())
    return texts


def validity_of(is_there: np.ndarray) -> Any:
    """A bit for each row, as Arrow has it."""
    return pa.py_buffer(np.packbits(is_there, bitorder="little"))


def _offsets(rows: RecordRows) -> Any:
    buffers = [None, pa.py_buffer(rows.offsets)]
    return pa.Array.from_buffers(_INT64, rows.count, buffers)


def timestamp_array(times: np.ndarray) -> Any:
    """Milliseconds as Spark's timestamps; null for what these cannot hold."""
    validity = None
    if times.max() > _TIME_MAX or times.min() < -_TIME_MAX:
        validity = validity_of((times <= _TIME_MAX) & (times >= -_TIME_MAX))
    buffers = [validity, pa.py_buffer(times * _MICROSECONDS)]
    return pa.Array.from_buffers(_TIMESTAMP, len(times), buffers)
