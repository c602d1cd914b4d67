"""Rows as Spark hands them over become the records of batches, column by column.

No row becomes an object of Python, but for its headers where it has some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.client.batch_builder import EncodedRecords
from odradek.protocol.column_encoding import encode_columns, place_keys
from odradek.protocol.record_batch import BATCH_OVERHEAD
from odradek.protocol.records import encode_headers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

KEY, VALUE, HEADERS, TIME_MS = "key", "value", "headers", "time_ms"
PARTITION = "partition"


class Fields(NamedTuple):
    """A column of bytes: where in ``data`` each row's are; -1 is the length of null."""

    data: Any
    positions: Any
    lengths: Any

    def of_rows(self, rows: Any) -> Fields:
        """Those of some rows."""
        return Fields(self.data, self.positions[rows], self.lengths[rows])


def fields_of(column: pa.Array) -> Fields:
    """The fields of a binary column; nothing is copied but numbers."""
    import numpy as np
    import pyarrow as pa

    _, offsets, data = column.buffers()
    kind = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    first = column.offset
    bounds = np.frombuffer(offsets, kind)[first : first + len(column) + 1]
    bounds = bounds.astype(np.int64)
    lengths = np.diff(bounds)
    if column.null_count:
        lengths[column.is_null().to_numpy(zero_copy_only=False)] = -1
    return Fields(b"" if data is None else data, bounds[:-1], lengths)


def partitions_of(keys: pa.Array, count: int) -> Any:
    """The partition of each key, of ``count``, as Java's client has it; -1 of nulls."""
    import numpy as np

    fields = fields_of(keys)
    placed = np.empty(len(keys), np.int64)
    place_keys(*fields, placed.data, count)
    return placed


def encoded(
    rows: pa.RecordBatch, size_max: int
) -> Iterator[tuple[int, EncodedRecords]]:
    """Batches of up to ``size_max`` bytes, in order for each partition.

    A record that is larger is alone in its batch. Each has to be used before the next
    is taken: they share their memory.
    """
    import numpy as np

    partitions = rows.column(PARTITION).to_numpy()
    times = rows.column(TIME_MS).to_numpy()
    columns = [
        fields_of(rows.column(KEY)),
        fields_of(rows.column(VALUE)),
        _header_fields(rows.column(HEADERS)),
    ]
    target = bytearray(max(size_max - BATCH_OVERHEAD, 1))
    for partition in np.unique(partitions):
        places = np.flatnonzero(partitions == partition)
        part = [fields.of_rows(places) for fields in columns]
        for records in _batches(part, times[places], target):
            yield int(partition), records


def _batches(
    columns: list[Fields], times: Any, target: bytearray
) -> Iterator[EncodedRecords]:
    keys, values, headers = columns
    first = 0
    while first < len(times):
        room = target
        count, size = encode_columns(*keys, *values, *headers, times, room, first)
        if not count:
            room = bytearray(size)
            count, size = encode_columns(*keys, *values, *headers, times, room, first)
        taken = times[first : first + count]
        yield EncodedRecords(
            memoryview(room)[:size], count, int(taken[0]), int(taken.max())
        )
        first += count


def _header_fields(column: pa.Array) -> Fields:
    """Encoded as a record has them; nothing where there are none."""
    import numpy as np

    blocks: list[bytes] = []
    lengths = np.zeros(len(column), np.int64)
    if len(column.flatten()):
        for place, given in enumerate(column.to_pylist()):
            if given:
                pairs = [(each["key"], each["value"]) for each in given]
                blocks.append(encode_headers(pairs))
                lengths[place] = len(blocks[-1])
    return Fields(b"".join(blocks), np.cumsum(lengths) - lengths, lengths)
