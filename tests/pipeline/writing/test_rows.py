"""Rows as records: columns, types, and topics."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from odradek.pipeline.errors import SourceError
from odradek.pipeline.records.row_encoding import encoded
from odradek.pipeline.writing.rows import by_topic, check_schema

TYPES = {
    "string": StringType(),
    "binary": BinaryType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "map<string,string>": MapType(StringType(), StringType()),
    "array<struct<key:string,value:binary>>": ArrayType(
        StructType().add("key", StringType()).add("value", BinaryType())
    ),
}
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def schema_of(text: str) -> StructType:
    """Without a session, which Spark's own reader of such texts needs."""
    schema = StructType()
    for field in text.split(", "):
        name, kind = field.split(" ")
        schema.add(name, TYPES[kind])
    return schema


@pytest.mark.parametrize(
    ("ddl", "topic"),
    [
        ("value string", "t"),
        ("value binary, key string, topic string, id int", ""),
        (
            "value string, partition int, "
            "headers array<struct<key:string,value:binary>>",
            "t",
        ),
    ],
)
def test_what_records_are_made_of(ddl: str, topic: str) -> None:
    check_schema(schema_of(ddl), topic)


@pytest.mark.parametrize(
    ("ddl", "topic", "said"),
    [
        ("id int, name string", "t", "Rows need a column value, and have id, name"),
        ("value string", "", "Give the option topic, or a column topic."),
        ("value int", "t", "The column value is int; it is binary or string. Cast it"),
        ("value string, key bigint", "t", "The column key is bigint"),
        ("value string, partition string", "t", "partition is string; it is int"),
        ("value string, topic binary", "", "topic is binary; it is string"),
        ("value string, headers map<string,string>", "t", "headers is map<string"),
    ],
)
def test_what_is_no_record(ddl: str, topic: str, said: str) -> None:
    with pytest.raises(SourceError) as caught:
        check_schema(schema_of(ddl), topic)
    assert said in str(caught.value)


def rows(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_rows_of_several_topics() -> None:
    given = rows(
        value=pa.array(["1", None, "3"]),
        topic=pa.array(["a", "b", "a"]),
        id=pa.array([1, 2, 3]),
    )
    found = {topic: part.to_pylist() for topic, part in by_topic(given, "", 7)}
    assert [row["value"] for row in found["a"]] == [b"1", b"3"]
    assert [row["value"] for row in found["b"]] == [None]
    assert {row["time_ms"] for row in found["a"]} == {7}
    ((topic, part),) = by_topic(given, "c", 7)
    assert (topic, len(part)) == ("c", 3)


def test_a_row_without_a_topic() -> None:
    given = rows(value=pa.array(["1", "2"]), topic=pa.array(["a", None]))
    with pytest.raises(SourceError, match="1 rows have no topic; the option topic"):
        list(by_topic(given, "", 0))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_they_can_be_encoded(kind: pa.DataType) -> None:
    given = rows(
        key=pa.array(["k", None]).cast(kind),
        value=pa.array(["v", "w"]).cast(kind),
        partition=pa.array([1, 1], pa.int32()),
        headers=pa.array([[{"key": "h", "value": b"1"}], None], HEADERS),
    )
    ((_, part),) = by_topic(given, "t", 5)
    ((partition, records),) = encoded(part, 1000)
    assert (partition, records.records_count) == (1, 2)
