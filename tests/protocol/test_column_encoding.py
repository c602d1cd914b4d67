"""Records made of columns: what C and Python write, and what is read of it."""

from array import array
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.murmur2 import partition_of_key
from odradek.protocol.plain import column_encoding as column_encoding_plain
from odradek.protocol.plain.records import wrap_int64
from odradek.protocol.records import encode_headers
from tests.plain.records import read_records
from tests.protocol.record_payloads import INT64

speedups = pytest.importorskip(
    "odradek.protocol.speedups", reason="the extension is not built"
)
PLAIN_AND_FAST = pytest.mark.parametrize("made", [column_encoding_plain, speedups])

Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]

FIELDS = st.none() | st.binary(max_size=20) | st.just(b"v" * 200)
HEADERS = st.lists(st.tuples(st.text(max_size=3), FIELDS), max_size=2)
ROWS = st.lists(st.tuples(FIELDS, FIELDS, HEADERS, INT64), min_size=1, max_size=6)
CELLS = st.lists(st.integers(-2, 12) | INT64, max_size=4)


def column(fields: Sequence[bytes | None]) -> tuple[bytes, bytes, bytes]:
    """Its data, positions and lengths."""
    positions, lengths, data = array("q"), array("q"), b"before"
    for field in fields:
        positions.append(len(data))
        lengths.append(-1 if field is None else len(field))
        data += field or b""
    return data, positions.tobytes(), lengths.tobytes()


def columns_of(rows: list[Row]) -> list[bytes]:
    keys, values, headers, times = zip(*rows, strict=True)
    blocks = [encode_headers(each) if each else b"" for each in headers]
    made = [*column(keys), *column(values), *column(blocks)]
    return [*made, array("q", times).tobytes()]


def encoded(made: ModuleType, columns: list[bytes], room: int, first: int) -> Any:
    """What it answers, and what it wrote; or what is wrong."""
    target = bytearray(room)
    try:
        count, size = made.encode_columns(*columns, target, first)
    except (ValueError, BufferError) as error:
        return repr(error)
    if not count:
        assert target == bytes(room)
        return 0, size
    return count, bytes(target[:size])


@given(ROWS, st.integers(0, 600), st.integers(0, 7))
def test_records_are_read_as_they_were_given(
    rows: list[Row], room: int, first: int
) -> None:
    columns = columns_of(rows)
    fast = encoded(speedups, columns, room, first)
    assert fast == encoded(column_encoding_plain, columns, room, first)
    if first >= len(rows):
        assert fast == "BufferError('a column has no such row')"
        return
    count, payload = fast
    if not count:
        assert payload > room
        count, payload = encoded(speedups, columns, payload, first)
        assert count >= 1
    read = read_records(payload, count)
    for place, (record, row) in enumerate(zip(read, rows[first:], strict=False)):
        assert (record.key, record.value) == row[:2]
        headers = [(name.decode("utf-8"), value) for name, value in record.headers]
        assert headers == row[2]
        assert record.offset_delta == place
        assert record.timestamp_delta == wrap_int64(row[3] - rows[first][3])
    if count < len(rows) - first:  # the next one has no room any more
        _, larger = encoded(speedups, columns, 10_000, first)
        rest = read_records(larger, len(rows) - first)
        assert len(read) == count < len(rest)


@given(st.binary(max_size=10), CELLS, CELLS, CELLS, st.integers(-1, 4))
def test_both_refuse_the_same(
    data: bytes, positions: list[int], lengths: list[int], times: list[int], first: int
) -> None:
    fields = data, array("q", positions).tobytes(), array("q", lengths).tobytes()
    columns = [*fields, *fields, *fields, array("q", times).tobytes()]
    fast = encoded(speedups, columns, 50, first)
    assert fast == encoded(column_encoding_plain, columns, 50, first)


@PLAIN_AND_FAST
def test_a_field_that_is_not_in_the_data(made: ModuleType) -> None:
    columns = columns_of([(b"k", b"v", [], 0)])
    columns[3] = b"before"  # of the value
    assert encoded(made, columns, 50, 0).startswith("ValueError('A field is not in")


@given(st.lists(FIELDS, max_size=5), st.integers(1, 50))
def test_keys_have_the_partitions_of_javas_client(
    keys: list[bytes | None], count: int
) -> None:
    wanted = [-1 if key is None else partition_of_key(key, count) for key in keys]
    for made in speedups, column_encoding_plain:
        target = array("q", bytes(8 * len(keys)))
        made.place_keys(*column(keys), target, count)
        assert target.tolist() == wanted


@given(st.binary(max_size=10), CELLS, CELLS, st.integers(0, 4), st.integers(-1, 3))
def test_both_refuse_the_same_keys(
    data: bytes, positions: list[int], lengths: list[int], room: int, count: int
) -> None:
    found = []
    for made in speedups, column_encoding_plain:
        target = array("q", bytes(8 * room))
        try:
            made.place_keys(
                data, array("q", positions), array("q", lengths), target, count
            )
            found.append(target.tolist())
        except (ValueError, BufferError) as error:
            found.append(repr(error))
    assert found[0] == found[1]


def test_arguments_are_looked_at() -> None:
    with pytest.raises(TypeError, match="2 arguments given, 12 wanted"):
        speedups.encode_columns(b"", 0)
    with pytest.raises(TypeError, match="1 arguments given, 5 wanted"):
        speedups.place_keys(b"")
    with pytest.raises(BufferError):
        speedups.place_keys(b"", b"", b"", b"read only", 1)
    with pytest.raises(TypeError):
        speedups.encode_columns(*[b""] * 9, "text", bytearray(), 0)
