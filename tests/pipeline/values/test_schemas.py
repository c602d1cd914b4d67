"""Schemas as people write them, and what they are told about mistakes."""

import pyarrow as pa
import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.values.schemas import read_schema


def test_all_types() -> None:
    found = read_schema(
        "a BIGINT NOT NULL, b Int, c smallint, d TINYINT, e double, f FLOAT, g boolean,"
        " h STRING, i BINARY, j DATE, k TIMESTAMP, l timestamp_ntz, m DECIMAL(12, 2),"
        " n array<struct<x: int, y: ARRAY<string>>>, `an odd name` long, o decimal"
    )
    inner = pa.struct([("x", pa.int32()), ("y", list_of(pa.string()))])
    assert found.field("a") == pa.field("a", pa.int64(), nullable=False)
    assert [field.type for field in found][1:] == [
        pa.int32(),
        pa.int16(),
        pa.int8(),
        pa.float64(),
        pa.float32(),
        pa.bool_(),
        pa.string(),
        pa.binary(),
        pa.date32(),
        pa.timestamp("us", "UTC"),
        pa.timestamp("us"),
        pa.decimal128(12, 2),
        list_of(inner),
        pa.int64(),
        pa.decimal128(10, 0),
    ]
    assert "an odd name" in found.names


def list_of(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id BIGINTT", "Did you mean bigint?"),
        ("id", "expected a type, found 'the end'"),
        ("id BIGINT name STRING", "expected 'a comma or the end', found 'name'"),
        ("id BIGINT, id INT", "id is there twice"),
        ("id BIGINT,", "expected the name of a column"),
        ("m MAP<STRING, INT>", "STRUCT"),
        ("a ARRAY<INT", "expected '>'"),
        ("d DECIMAL(40, 2)", "at most"),
        ("d DECIMAL(x)", "expected a number"),
        ("", "expected the name of a column"),
        ("id BIGINT; x INT", "found ';'"),
    ],
)
def test_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(JobError, match=r"schema: ") as raised:
        read_schema(text)
    assert said in str(raised.value)
