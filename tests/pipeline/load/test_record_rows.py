from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.load.record_rows import RecordColumns, record_rows, usual_columns
from odradek.protocol.murmur2 import partition_of_key

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

MOMENT = datetime(2026, 1, 31, 12, tzinfo=UTC)


def rows_of(
    spark: "SparkSession", data: list[Any], schema: str, columns: RecordColumns
) -> "list[Row]":
    rows = spark.createDataFrame(data, schema).coalesce(1)
    return sorted(record_rows(rows, columns, 4, 2).collect(), key=str)


def test_the_columns_that_a_source_has_are_found_by_their_names() -> None:
    found = usual_columns(["value", "n", "key", "partition"])
    assert found == RecordColumns("key", "value", "", "", "partition")


def test_keys_choose_partitions_and_partitions_tasks(spark: "SparkSession") -> None:
    from pyspark.sql import functions as f

    data = [(f"k{number}", str(number)) for number in range(100)]
    rows = spark.createDataFrame(data, "key string, value string")
    placed = record_rows(rows, usual_columns(rows.columns), 4, 2)
    found = placed.withColumn("task", f.spark_partition_id()).collect()
    assert len(found) == 100
    for row in found:
        assert row.partition == partition_of_key(row.key, 4)
        assert row.task == row.partition % 2


def test_without_keys_rows_are_spread(spark: "SparkSession") -> None:
    data = [(str(number),) for number in range(40)]
    found = rows_of(spark, data, "value string", RecordColumns(value="value"))
    counts = [sum(row.partition == number for row in found) for number in range(4)]
    assert counts == [10, 10, 10, 10]


def test_every_part_of_a_record(spark: "SparkSession") -> None:
    schema = (
        "key int, value binary, headers array<struct<key string, value binary>>,"
        " timestamp timestamp, partition int"
    )
    data = [
        (7, b"\xff", [("h", b"1"), ("n", None)], MOMENT, 3),
        (8, None, None, None, None),
    ]
    columns = RecordColumns("key", "value", "headers", "timestamp", "partition")
    first, second = rows_of(spark, data, schema, columns)
    assert (first.key, first.value, first.partition) == (b"7", b"\xff", 3)
    assert [tuple(each) for each in first.headers] == [("h", b"1"), ("n", None)]
    assert first.time_ms == 1_769_860_800_000
    assert (second.value, second.headers) == (None, [])
    assert second.time_ms > first.time_ms  # now
    assert second.partition == partition_of_key(b"8", 4)


def test_without_a_value_all_columns_are_json(spark: "SparkSession") -> None:
    data = [(1, "x", None)]
    schema = "`the id` int, name string, gone string"
    (row,) = rows_of(spark, data, schema, RecordColumns(key="the id"))
    assert row.value == b'{"the id":1,"name":"x","gone":null}'
    assert row.key == b"1"


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        (RecordColumns(key="k"), "no column k for the key; it has n"),
        (RecordColumns(timestamp="s"), "column s is string: no time"),
    ],
)
def test_what_cannot_be_a_part(
    spark: "SparkSession", columns: RecordColumns, complaint: str
) -> None:
    rows = spark.createDataFrame([(1, "x")], "n int, s string")
    with pytest.raises(JobError, match=complaint):
        record_rows(rows, columns, 1, 1)
