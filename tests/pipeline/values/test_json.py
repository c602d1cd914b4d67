"""JSON values become columns, as if each had been read alone."""

import json
import math
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.pipeline.values.json import Decoded, JsonDecoder
from odradek.pipeline.values.schemas import read_schema

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
        b'{"id": 1},"x":2',
        b'{"id": 1}, "a":1, "b":[{}',
        b'{"id": 1}, "a":1, "b":{"c":[{}]',
        b'{"id": 1}, "a":{}',
        b'{"id": 1},"w":{"id": 2}}',
        b'{"id": 1},{"id": 2}',
        b'{"id": 1} {}',
        b'[{"id": 1}]',
        b'x {"id": 1}',
        b'{"id": 1}\x00',
        b'\x00{"id": 1}',
        b'{"id": 1}\x00{}',
        b'{"id": \x00 1}',
        b'\xef\xbb\xbf{"id": 1}',
        '{"id": 1}'.encode("utf-16"),
        b'{"id": 1,}',
        b'{"id": 1} // {}',
        b'{"id": 1, "more": Inf}',
        b'{"id": 1, "more": -Inf}',
        b'{"id": 1, "score": -NaN}',
        b'{"id": 1, "name": "\\ud800"}',
        b'{"id": 1, "name": "\\udc00\\ud800"}',
        b'{"id": 1, "name": "\xed\xa0\x80"}',
        b'{"id": 1, "id": 2}',
        b'{"id": 01}',
        b"{'id': 1}",
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


def test_bad_values_do_not_make_up_for_each_other() -> None:
    """Of two documents and none, or of one that the next value would go on with."""
    together = [
        b'{"id":1}{"id":2}',
        b"",
        b'{"id":3',
        b',"name":"x"}',
        b'{"id":4,"x":{}',
    ]
    for values in together, together[::-1]:
        found = decoded([b"{}", *values, b'{"id":5}'])
        assert set(found.reasons) == set(range(1, 6))
        assert [row["id"] for row in found.columns.to_pylist()] == [None, 5]


def test_numbers_beyond_numbers_as_python_reads_them() -> None:
    values = [b'{"score": %s}' % text for text in (b"NaN", b"Infinity", b"-Infinity")]
    found = decoded([*values, b'{"name": "Inf, -NaN"}'])
    assert found.reasons == {}
    scores = found.columns.field("score").to_pylist()
    assert math.isnan(scores[0])
    assert scores[1:] == [math.inf, -math.inf, None]


def test_nested_too_deeply_for_a_second_look() -> None:
    deep = b'{"x": %s "Inf" %s}' % (b"[" * 100_000, b"]" * 100_000)
    found = decoded([b'{"id": 1}', deep])
    assert found.reasons == {1: "JSON parse error: it is nested too deeply"}


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


@settings(max_examples=150)
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


EXAMPLES = 20_000 if os.environ.get("ODRADEK_LONG") else 100
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
# No name of the schema, whose types other values would not have.
_OBJECTS = st.builds(
    lambda known, more: {**known, **{f"-{name}": each for name, each in more.items()}},
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.integers(-(1 << 63), (1 << 63) - 1),
            "name": st.text(max_size=8) | st.none(),
            "score": st.floats(),
            "ok": st.booleans(),
        },
    ),
    st.dictionaries(st.text(max_size=3), _ANY, max_size=4),
)
_TEXTS = st.builds(
    lambda value, indent, ascii: json.dumps(
        value, indent=indent, ensure_ascii=ascii
    ).encode(),
    _OBJECTS,
    st.sampled_from([None, 1, "\t"]),
    st.booleans(),
)


@settings(max_examples=EXAMPLES)
@given(st.lists(_TEXTS, min_size=1, max_size=6))
def test_every_object_is_a_row(values: list[bytes]) -> None:
    found = decoded(list(values))
    assert found.reasons == {}
    for row, value in zip(found.columns.to_pylist(), values, strict=True):
        expected = json.loads(value)
        assert all(_same(row[name], expected.get(name)) for name in SCHEMA.names)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))


_PIECES = [
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\n", b"\r", b"\t", b" "),
    *(b"\x00", b"\x0b", b"\xff", b"\xef\xbb\xbf", b"\xc2\xa0", b"\xed\xa0\x80"),
    *(b"0", b"-", b"1e5", b".", b"NaN", b"Inf", b"Infinity", b"nul", b"null", b"true"),
    *(b"{}", b"[{}", b',"x":2', b',"id":', b'"v":', b"//", b"/**/", b"\\ud800", b"'"),
]


@st.composite
def _mangled(draw: st.DrawFn) -> bytes:
    """A document with something put into it, or taken out."""
    value = draw(_TEXTS | st.sampled_from([b'{"id":1}', b'{"id":1,"x":{"y":[1]}}']))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(value)) | st.just(len(value)))
        end = start + draw(st.integers(0, 2))
        value = value[:start] + draw(st.sampled_from([b"", *_PIECES])) + value[end:]
    return value


def is_object(value: bytes) -> bool:
    """Whether Python takes it for one object of UTF-8."""
    try:
        return isinstance(json.loads(value.decode()), dict)
    except ValueError:
        return False


@settings(max_examples=EXAMPLES)
@given(st.lists(_mangled(), min_size=1, max_size=4))
def test_what_python_refuses_is_a_dead_letter(values: list[bytes]) -> None:
    found = decoded([b'{"id": 7}', *values, b'{"id": 7}'])
    refused = {place for place, each in enumerate(values, 1) if not is_object(each)}
    assert refused <= set(found.reasons)
    assert not {0, len(values) + 1} & set(found.reasons)
