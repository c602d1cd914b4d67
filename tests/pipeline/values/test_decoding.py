"""Records become rows of the table and dead letters."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.values.decoding import RowMaker, ValueFormat

RECORDS = RecordColumns.of(include_headers=False).arrow_schema()
AT = datetime(2026, 1, 31, tzinfo=UTC)


def records(*values: bytes | None) -> pa.RecordBatch:
    rows = [
        {
            "key": b"k",
            "value": value,
            "topic": "t",
            "partition": 1,
            "offset": number,
            "timestamp": AT,
            "timestampType": 0,
        }
        for number, value in enumerate(values)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RECORDS)


def made(how: ValueFormat, *values: bytes | None) -> tuple[list[Any], list[Any]]:
    maker = RowMaker(how, RECORDS)
    rows, dead = maker.make(records(*values))
    assert rows.schema == maker.schema
    assert dead.schema == maker.dead_schema
    return rows.to_pylist(), dead.to_pylist()


def test_none_keeps_bytes() -> None:
    rows, dead = made(ValueFormat(), b"\xff", None)
    assert [row["value"] for row in rows] == [b"\xff", None]
    assert list(rows[0]) == [
        "topic",
        "partition",
        "offset",
        "timestamp",
        "key",
        "value",
    ]
    assert dead == []


def test_string_keeps_texts_and_buries_others() -> None:
    rows, dead = made(ValueFormat("string"), "ü".encode(), b"a\xffb", None)
    assert [(row["offset"], row["value"]) for row in rows] == [(0, "ü"), (2, None)]
    (letter,) = dead
    assert letter == {
        "topic": "t",
        "partition": 1,
        "offset": 1,
        "timestamp": AT,
        "key": b"k",
        "value": b"a\xffb",
        "reason": "not UTF-8: invalid start byte at byte 1",
    }


def test_json_has_fields_and_the_places_of_the_record() -> None:
    how = ValueFormat("json", schema="id BIGINT", columns=("offset",))
    rows, dead = made(how, b'{"id": 5}', b"x", b'{"id": 6}')
    assert rows == [{"id": 5, "_offset": 0}, {"id": 6, "_offset": 2}]
    assert [letter["offset"] for letter in dead] == [1]


def test_columns_that_meet_are_refused() -> None:
    with pytest.raises(JobError, match="_offset is the record's offset already"):
        RowMaker(ValueFormat("json", schema="_offset BIGINT"), RECORDS)
    how = ValueFormat("json", schema="_offset BIGINT", columns=("topic",))
    assert RowMaker(how, RECORDS).schema.names == ["_offset", "_topic"]


def test_json_without_a_schema() -> None:
    with pytest.raises(JobError, match="needs schema"):
        ValueFormat("json").decoder()
