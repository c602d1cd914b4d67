"""What no partition takes is a dead letter, and nothing else is."""

import pyarrow as pa

from odradek.pipeline.tables.partitions.partitioning import read_partitioning
from odradek.pipeline.values.decoding import RowMaker, ValueFormat
from odradek.pipeline.values.partition_rows import PartitionedMaker
from odradek.pipeline.values.upsert_rows import UpsertMaker
from tests.pipeline.fake_job import RECORDS

HOW = ValueFormat("json", schema="kind STRING")
LONG = b'{"kind":"%s"}' % (b"x" * 300)
PARTITIONING = read_partitioning("", ["kind"], "delta")


def records(*values: bytes | None) -> pa.RecordBatch:
    rows = [
        {"topic": "t", "partition": 0, "offset": n, "key": b"k", "value": value}
        for n, value in enumerate(values)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RECORDS)


def test_rows_without_a_place() -> None:
    maker = PartitionedMaker(RowMaker(HOW, RECORDS), PARTITIONING)
    good, bad = maker.make(records(b'{"kind":"a"}', LONG, b"bad", b'{"kind":"b"}'))
    assert good["_offset"].to_pylist() == [0, 3]
    assert good.schema == maker.schema
    assert bad["offset"].to_pylist() == [1, 2]
    reasons = bad["reason"].to_pylist()
    assert "has 300 bytes; a folder cannot be called so" in reasons[0]
    assert "JSON" in reasons[1]


def test_all_have_a_place() -> None:
    inner = RowMaker(HOW, RECORDS)
    maker = PartitionedMaker(inner, PARTITIONING)
    given = records(b'{"kind":"a"}', b"bad", None)
    assert maker.make(given) == inner.make(given)


def test_rows_that_take_the_place_of_others() -> None:
    maker = PartitionedMaker(UpsertMaker(HOW, RECORDS), PARTITIONING)
    good, bad = maker.make(records(LONG, b'{"kind":"a"}', None))
    assert good["__deleted"].to_pylist() == [False, True]
    assert bad["offset"].to_pylist() == [0]
