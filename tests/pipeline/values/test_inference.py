"""Columns that are found in values, and what is not guessed."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.values.inference import infer
from odradek.pipeline.values.json import JsonDecoder
from odradek.pipeline.values.schemas import read_schema


def found(*values: Any) -> str:
    return infer([json.dumps(value).encode() for value in values])


def test_types() -> None:
    value = {"id": 1, "name": "x", "good": True, "price": 1.5, "no": None}
    assert found(value) == "id BIGINT, name STRING, good BOOLEAN, price DOUBLE"


def test_what_one_lacks_another_has() -> None:
    assert found({"a": None}, {"b": 1, "a": "x"}, {"b": 2.5}) == "a STRING, b DOUBLE"


def test_objects_and_lists() -> None:
    value = {"at": {"x": 1, "y": {}}, "tags": ["a"], "rows": [{"n": 1}, {"m": 2}]}
    assert found(value, {"empty": []}) == (
        "at STRUCT<x BIGINT>, tags ARRAY<STRING>,"
        " rows ARRAY<STRUCT<n BIGINT, m BIGINT>>"
    )


def test_names_that_have_to_be_quoted() -> None:
    text = found({"a b": 1, "größe": 2, "x`y": 3, "": 4, "at-time": {"c d": 1}})
    assert text == "`a b` BIGINT, `größe` BIGINT, `at-time` STRUCT<`c d` BIGINT>"
    assert read_schema(text).names == ["a b", "größe", "at-time"]


def test_what_is_no_object_is_passed_over() -> None:
    assert infer([b"bad", None, b"[1]", b"\xff", b'{"a": 1}']) == "a BIGINT"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([{"a": 1}, {"a": "x"}], "values of a are BIGINT and STRING"),
        ([{"a": {"b": 1}}, {"a": {"b": [1]}}], "values of a.b are BIGINT and ARRAY"),
        ([{"a": [1, "x"]}], r"values of a\[\] are BIGINT and STRING"),
        ([{"a": 1 << 70}], "a has numbers beyond BIGINT"),
        ([[1], 3], "is no JSON object"),
        ([{"a": None}, {}], "is 2 objects without a field"),
    ],
)
def test_what_is_not_guessed(values: list[Any], said: str) -> None:
    with pytest.raises(JobError, match=said):
        found(*values)


def test_what_is_nested_without_end() -> None:
    with pytest.raises(JobError, match="nested too deeply"):
        infer([b'{"a":' * 30 + b"1" + b"}" * 30])
    with pytest.raises(JobError, match="no JSON object"):
        infer([b"[" * 100_000])


NAMES = st.text("abcXYZ_ -é", min_size=1, max_size=5)
LEAVES = st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES,
    lambda each: st.dictionaries(NAMES, each, min_size=1, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_what_is_found_reads_the_values(value: dict[str, Any]) -> None:
    decoder = JsonDecoder(read_schema(found(value)))
    decoded = decoder.decode(pa.array([json.dumps(value).encode()], pa.binary()))
    assert not decoded.reasons
    assert decoded.columns.to_pylist() == [value]
