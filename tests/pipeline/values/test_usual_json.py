"""What is read in one pass is what Arrow reads; the rest is left to it."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.pipeline.values import usual_json
from odradek.pipeline.values.json import Decoded, JsonDecoder
from odradek.pipeline.values.schemas import read_schema
from odradek.pipeline.values.usual_json import UsualJson

pytestmark = pytest.mark.skipif(not usual_json.IS_HERE, reason="it is not built")

ALL = read_schema(
    "tiny TINYINT, small SMALLINT, plain INT, id BIGINT, x DOUBLE, ok BOOLEAN,"
    " name STRING, raw BINARY, day DATE, at TIMESTAMP, here TIMESTAMP_NTZ"
)


def usual(*values: bytes, schema: pa.Schema = ALL) -> list[Any] | None:
    kind = pa.struct(list(schema))
    assert UsualJson.reads(kind)
    found = UsualJson(kind).read(pa.array(values, pa.binary()))
    return None if found is None else found.to_pylist()


def by_arrow(values: list[bytes], monkeypatch: pytest.MonkeyPatch) -> Decoded:
    with monkeypatch.context() as patch:
        patch.setattr(usual_json, "IS_HERE", False)
        return JsonDecoder(ALL).decode(pa.array(values, pa.binary()))


@pytest.mark.parametrize(
    "field",
    [
        '"tiny": -128',
        '"small": 32767',
        '"plain": -2147483648',
        '"id": 9223372036854775807',
        '"id": -0',
        '"x": 259.3540143280076',
        '"x": -0.0',
        '"x": 5',
        '"x": 1E+5',
        '"x": 9007199254740993',
        '"x": 123456789012345678901234567890',
        '"x": 4503599627370497.5',
        '"ok": true',
        '"ok" : false',
        '"name": "plain"',
        '"name": ""',
        '"name": "\\"\\\\\\/\\b\\f\\n\\r\\t"',
        '"name": "\\u0041\\u00e9\\u20ac\\ud83d\\ude00 é€😀"',
        '"raw": "caf\\u00e9"',
        '"day": "2024-02-29"',
        '"day": "0001-01-01"',
        '"at": "2026-11-28T10:00:00"',
        '"at": "2026-11-28 10:00:00.123456Z"',
        '"here": "1969-12-31T23:59:59.5"',
        '"here": "9999-12-31T23:59:59Z"',
        '"id": null',
        '"name": null, "ok": null',
        '"more": {"id": [1, -2.5e3, {}, [], null, true, "\\u0000"]}, "id": 1',
        '\t"id"\r:\n1 ',
    ],
)
def test_what_many_write_is_read_as_arrow_does(
    field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [b"{}", f"{{{field}}}".encode(), b' {"id": 1} ']
    found = usual(*values)
    assert found == by_arrow(values, monkeypatch).columns.to_pylist()


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"1",
        b"{",
        b'{"id": 1',
        b'{"id": 1}}',
        b'{"id": 1} {}',
        b'{"id": 1,}',
        b'{,"id": 1}',
        b'{"id": 01}',
        b'{"id": 1.0}',
        b'{"id": 1e3}',
        b'{"id": "1"}',
        b'{"id": 9223372036854775808}',
        b'{"tiny": 128}',
        b'{"small": -32769}',
        b'{"plain": 2147483648}',
        b'{"x": 1.}',
        b'{"x": .5}',
        b'{"x": NaN}',
        b'{"x": 1e400}',
        b'{"more": 1e400}',
        b'{"more": Infinity}',
        b'{"ok": 1}',
        b'{"ok": truer}',
        b'{"name": 1}',
        b'{"name": "a\nb"}',
        b'{"name": "\\x"}',
        b'{"name": "\\ud800"}',
        b'{"name": "\\ud800\\u0041"}',
        b'{"name": "\\udc00"}',
        b'{"name": "\\u12"}',
        b'{"day": "2026-02-29"}',
        b'{"day": "2026-11-28T00:00:00"}',
        b'{"at": "2026-11-28"}',
        b'{"at": "2026-11-28T10:00:00+01:00"}',
        b'{"at": "2026-11-28T24:00:00"}',
        b'{"at": "2026-11-28T10:00:00.1234567"}',
        b'{"id": 1, "id": 2}',
        b'{"id": null, "id": 2}',
        b'{"\\u0069d": 1}',
        b'{"more": %s}' % (b"[" * 18 + b"]" * 18),
        b'{"id": {"id": 1}}',
    ],
)
def test_a_doubt_is_left_to_arrow(value: bytes) -> None:
    assert usual(b'{"id": 1}') is not None
    assert usual(b'{"id": 1}', value) is None


def test_types_that_are_not_flat_are_not_read() -> None:
    for kind in ("FLOAT", "DECIMAL(5, 2)", "ARRAY<INT>", "STRUCT<a: INT>"):
        assert not UsualJson.reads(pa.struct(list(read_schema(f"id INT, x {kind}"))))


def test_part_of_an_array_is_read() -> None:
    values = pa.array([b'{"id": %d, "name": "n%d"}' % (n, n) for n in range(9)])
    kind = pa.struct(list(read_schema("name STRING, id BIGINT")))
    found = UsualJson(kind).read(values.slice(3, 4))
    assert found is not None
    assert found.to_pylist() == [{"name": f"n{n}", "id": n} for n in range(3, 7)]


_FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "tiny": st.integers(-128, 127),
        "id": st.integers(-(2**63), 2**63 - 1) | st.none(),
        "x": st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
        "ok": st.booleans(),
        "name": st.text(max_size=8) | st.none(),
        "day": st.dates().map(str),
        "at": st.datetimes().map(lambda at: at.isoformat()),
        "else": st.recursive(
            st.none() | st.text(max_size=3), lambda one: st.lists(one, max_size=2)
        ),
    },
)


@settings(max_examples=200)
@given(st.lists(_FIELDS, min_size=1, max_size=5), st.booleans())
def test_objects_are_read_as_arrow_does(
    objects: list[dict[str, Any]], is_ascii: bool
) -> None:
    values = [json.dumps(each, ensure_ascii=is_ascii).encode() for each in objects]
    found = usual(*values)
    if found is not None:
        with pytest.MonkeyPatch.context() as patch:
            there = by_arrow(values, patch)
        assert not there.reasons
        assert found == there.columns.to_pylist()
