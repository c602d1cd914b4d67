"""JSON values become columns, as if each had been read alone."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_odradek.json_values import Decoded, JsonDecoder
from pyspark_odradek.schemas import read_schema

SCHEMA = read_schema("id BIGINT, name STRING, score DOUBLE, ok BOOLEAN")


def decoded(values: list[bytes | None], schema: pa.Schema = SCHEMA) -> Decoded:
    return JsonDecoder(schema).decode(pa.array(values, pa.binary()))


def rows(found: Decoded) -> dict[int, Any]:
    places = found.rows.to_pylist()
    assert places == sorted(places)
    return dict(zip(places, found.columns.to_pylist(), strict=True))


def test_missing_fields_are_null_and_others_are_passed_over() -> None:
    found = decoded([b'{"id": 1, "more": {"x": [1]}}', b"{}", None])
    empty = dict.fromkeys(SCHEMA.names)
    assert rows(found) == {0: {**empty, "id": 1}, 1: empty, 2: empty}
    assert found.reasons == {}


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b" ",
        b"null",
        b"1",
        b"[]",
        b'"text"',
        b"nope",
        b'{"id": 1',
        b'{"id": 1}{"id": 2}',
        b'{"id": 1}\n{"id": 2}',
        # What would be two documents once it is wrapped.
        b'{"id": 1}}{"v":{"id": 2}',
        b'{"id": 1}}\n{"v":{"id": 2}',
        b'{"id": 1},"v":{"id":2}',
        b'{"id": "1"}',
        b'{"id": 1.5}',
        b'{"id": 9223372036854775808}',
        b'{"name": 1}',
        b'{"name": "\xff"}',
        b'{"name": "a\nb"}',
        b'{"ok": 1}',
        b'{"id": 1} x',
    ],
)
def test_bad_value_is_a_reason_and_changes_no_other(value: bytes) -> None:
    values: list[bytes | None] = [b'{"id": %d}' % number for number in range(50)]
    values[20] = value
    found = decoded(values)
    assert list(found.reasons) == [20]
    assert found.reasons[20]
    assert {place: row["id"] for place, row in rows(found).items()} == {
        number: number for number in range(50) if number != 20
    }


def test_values_over_several_lines() -> None:
    found = decoded([json.dumps({"id": 1, "name": "x"}, indent=2).encode()] * 3)
    assert [row["id"] for row in found.columns.to_pylist()] == [1, 1, 1]


def test_dates_moments_decimals_and_nested_values() -> None:
    schema = read_schema(
        "d DATE, t TIMESTAMP, m DECIMAL(10, 2), s STRUCT<d: DATE, n: ARRAY<INT>>"
    )
    value = {
        "d": "2026-01-31",
        "t": "2026-01-31T12:00:00.25+01:00",
        "m": "12.50",
        "s": {"d": "2026-02-01", "n": [1, 2]},
    }
    bad = {"d": "31.1.2026"}
    found = decoded([json.dumps(value).encode(), json.dumps(bad).encode()], schema)
    assert found.columns.to_pylist() == [
        {
            "d": date(2026, 1, 31),
            "t": datetime(2026, 1, 31, 11, 0, 0, 250_000, tzinfo=UTC),
            "m": Decimal("12.50"),
            "s": {"d": date(2026, 2, 1), "n": [1, 2]},
        }
    ]
    assert list(found.reasons) == [1]


def test_what_must_not_be_null() -> None:
    schema = read_schema("id BIGINT NOT NULL, name STRING")
    values = [b'{"id": 1}', b'{"name": "x"}', b'{"id": null}', None, b'{"id": 2}']
    found = decoded(values, schema)
    assert [row["id"] for row in found.columns.to_pylist()] == [1, 2]
    assert found.rows.to_pylist() == [0, 4]
    assert set(found.reasons) == {1, 2, 3}
    assert found.reasons[1] == "id is missing, and NOT NULL"


def test_nothing_to_read() -> None:
    found = decoded([])
    assert len(found.columns) == len(found.rows) == 0


_VALUES = st.one_of(
    st.none(),
    st.binary(max_size=20),
    st.sampled_from(
        [b"{", b"}", b'{"id":1}', b'"', b"\n", b'{"id":1}\n', b"[{", b"}{"]
    ),
    st.builds(
        lambda n, text: json.dumps({"id": n, "name": text}).encode(),
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.text(max_size=8),
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_VALUES, max_size=12))
def test_many_at_once_are_read_as_each_alone(values: list[bytes | None]) -> None:
    together = decoded(values)
    expected = {}
    for place, value in enumerate(values):
        alone = decoded([value])
        if not alone.reasons:
            expected[place] = alone.columns.to_pylist()[0]
    assert rows(together) == expected
    assert set(together.reasons) == set(range(len(values))) - set(expected)
