from typing import Any

import pyarrow as pa
import pytest

from odradek.client.batch_builder import NOBODY, BatchFormat, seal_records
from odradek.pipeline.records.row_encoding import encoded, fields_of, partitions_of
from odradek.protocol.murmur2 import partition_of_key
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import iterate
from odradek.protocol.topic_partition import TopicPartition

Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]] | None, int, int]
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def batch(rows: list[Row], binary: Any) -> pa.RecordBatch:
    keys, values, headers, times, partitions = zip(*rows, strict=True)
    given = [
        None if each is None else [{"key": name, "value": data} for name, data in each]
        for each in headers
    ]
    return pa.record_batch(
        {
            "key": pa.array(keys, binary),
            "value": pa.array(values, binary),
            "headers": pa.array(given, HEADERS),
            "time_ms": pa.array(times, pa.int64()),
            "partition": pa.array(partitions, pa.int32()),
        }
    )


def records_in(rows: pa.RecordBatch, size_max: int) -> list[tuple[int, list[Row]]]:
    """The batches, with their partitions; sealed, and read again."""
    found = []
    for partition, records in encoded(rows, size_max):
        place = TopicPartition("t", partition)
        data = seal_records(place, records, BatchFormat(), NOBODY, 0).data
        read: list[Row] = [
            (each.key, each.value, list(each.headers), each.timestamp, partition)
            for each in iterate(data)
        ]
        header = read_header(data)
        assert header.max_timestamp == max(row[3] for row in read)
        assert len(data) <= max(size_max, 200)
        found.append((partition, read))
    return found


ROWS: list[Row] = [
    (b"gone", b"gone", None, 0, 0),
    (b"k", b"a", [], 50, 1),
    (None, b"b" * 40, [("h", b"1"), ("h", None)], 40, 0),
    (b"", None, [], 60, 1),
    (b"k", b"c" * 100, [], 10, 1),
    (b"k", b"d", [("\u00fc", b"")], 11, 0),
]


@pytest.mark.parametrize("binary", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize(
    ("size_max", "counts"), [(1, [1, 1, 1]), (100, [2, 1]), (1000, [3])]
)
def test_records_are_those_of_the_rows(
    binary: Any, size_max: int, counts: list[int]
) -> None:
    """Of a slice, as Arrow hands them over; a long one is alone where it has to be."""
    found = records_in(batch(ROWS, binary).slice(1), size_max)
    for partition in (0, 1):
        batches = [read for where, read in found if where == partition]
        expected = [row for row in ROWS[1:] if row[4] == partition]
        assert [row for read in batches for row in read] == expected
    assert [len(read) for where, read in found if where == 1] == counts


def test_columns_without_anything() -> None:
    assert records_in(batch([(None, None, None, 5, 2)], pa.binary()), 100) == [
        (2, [(None, None, [], 5, 2)])
    ]


def test_fields_are_where_the_column_has_them() -> None:
    column = pa.array([b"xx", b"ab", None, b"", b"c"], pa.binary()).slice(1)
    data, positions, lengths = fields_of(column)
    assert lengths.tolist() == [2, -1, 0, 1]
    assert bytes(data)[positions[0] : positions[0] + 2] == b"ab"
    assert partitions_of(column, 3).tolist() == [
        partition_of_key(b"ab", 3),
        -1,
        partition_of_key(b"", 3),
        partition_of_key(b"c", 3),
    ]
