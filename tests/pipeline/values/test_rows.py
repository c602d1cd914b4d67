"""Rows that a library has read become columns; those that do not fit are reasons."""

from typing import Any

import pyarrow as pa
import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.values.rows import decode_rows

SCHEMA = pa.schema([("n", pa.int32())])


def read(value: bytes) -> dict[str, Any]:
    if value == b"bad":
        raise KeyError("what  is\nthat")
    return {"n": int(value)}


def test_good_bad_and_null_values() -> None:
    found = decode_rows(pa.array([b"1", b"bad", None, b"2"]), SCHEMA, read)
    assert found.columns.to_pylist() == [{"n": 1}, {"n": None}, {"n": 2}]
    assert found.rows.to_pylist() == [0, 2, 3]
    assert list(found.reasons) == [1]


def test_what_no_column_can_hold() -> None:
    large = str(1 << 40).encode()
    found = decode_rows(pa.array([b"1", large, b"2"]), SCHEMA, read)
    assert found.columns.to_pylist() == [{"n": 1}, {"n": 2}]
    assert found.rows.to_pylist() == [0, 2]
    assert list(found.reasons) == [1]


def test_what_is_no_fault_of_a_value_is_raised() -> None:
    def away(_: bytes) -> dict[str, Any]:
        raise JobError("the registry is away")

    with pytest.raises(JobError):
        decode_rows(pa.array([b"1"]), SCHEMA, away)
