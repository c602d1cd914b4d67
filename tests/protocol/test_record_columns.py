"""Records as columns: the C functions, their twin and the format as described agree."""

from array import array
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.plain import record_columns as record_columns_plain
from odradek.protocol.plain.records import wrap_int64
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    COMPRESSION_ZSTD,
    LOG_APPEND_TIME,
    BatchHeader,
    pack_header,
)
from odradek.protocol.record_columns import (
    GATHERED_SIZE_MAX,
    HEADER_COLUMNS,
    RECORD_COLUMNS,
)
from tests.plain import records as described
from tests.plain.records import PlainRecord, write_record
from tests.protocol.record_payloads import INT64, anything

speedups = pytest.importorskip(
    "odradek.protocol.speedups", reason="the extension is not built"
)
PLAIN_AND_FAST = pytest.mark.parametrize("made", [record_columns_plain, speedups])

ONE = write_record(PlainRecord(0, 5, 0, b"k", None, [(b"h", None), (b"", b"x")]))


BASE_OFFSET, BASE_TIME, APPEND_TIME = 7, 1000, 77


def batch_of(
    payload: bytes,
    count: int,
    attributes: int = 0,
    length: int | None = None,
    base: int = BASE_OFFSET,
) -> bytes:
    """A header in front of ``payload``, its checksum left out."""
    length = len(payload) + BATCH_OVERHEAD - 12 if length is None else length
    times = BASE_TIME, APPEND_TIME
    header = BatchHeader(
        base, length, 0, 2, 0, attributes, 0, *times, -1, -1, -1, count
    )
    batch = bytearray(BATCH_OVERHEAD)
    pack_header(batch, header)
    return bytes(batch) + payload


def rows_of(cells: "array[int]", width: int, count: int) -> list[tuple[int, ...]]:
    capacity = len(cells) // width
    return [
        tuple(cells[column * capacity + place] for column in range(width))
        for place in range(count)
    ]


def walk(
    made: ModuleType, batches: list[bytes], room: int, *, cut: int = 0
) -> tuple[int, list[tuple[int, ...]]]:
    data = b"".join(batches)
    starts = [sum(map(len, batches[:place])) for place in range(len(batches))]
    cells = array("q", bytes(8 * RECORD_COLUMNS * room))
    data = data[: len(data) - cut]
    done, count = made.walk_records(data, array("q", starts), cells)
    return done, rows_of(cells, RECORD_COLUMNS, count)


def walk_headers(
    made: ModuleType, data: bytes, positions: list[int], room: int
) -> list[tuple[int, ...]] | str:
    cells = array("q", bytes(8 * HEADER_COLUMNS * room))
    try:
        count = made.walk_headers(data, array("q", positions), cells)
    except ValueError as error:
        return str(error)
    return rows_of(cells, HEADER_COLUMNS, count)


def cut(data: bytes, position: int, length: int) -> bytes | None:
    return None if length < 0 else data[position : position + length]


@given(st.lists(anything, max_size=4), INT64, st.booleans(), st.integers(0, 20))
def test_walks_agree_with_the_description(
    cases: list[tuple[bytes, int]], base: int, is_append_time: bool, room: int
) -> None:
    attributes = LOG_APPEND_TIME if is_append_time else 0
    batches = [batch_of(*case, attributes, base=base) for case in cases]
    fast = walk(speedups, batches, room)
    assert fast == walk(record_columns_plain, batches, room)
    wanted: list[PlainRecord] = []
    done = 0
    for payload, count in cases:
        try:
            read = described.read_records(payload, count)
        except described.MalformedError:
            break
        if len(wanted) + len(read) > room:
            break
        wanted += read
        done += 1
    assert (fast[0], len(fast[1])) == (done, len(wanted))
    data, positions = b"".join(batches), []
    for row, record in zip(fast[1], wanted, strict=True):
        time = wrap_int64(BASE_TIME + record.timestamp_delta)
        assert row[0] == wrap_int64(base + record.offset_delta)
        assert row[1] == (APPEND_TIME if is_append_time else time)
        assert cut(data, row[2], row[3]) == record.key
        assert cut(data, row[4], row[5]) == record.value
        assert row[6] == len(record.headers)
        positions.append(row[4] + max(row[5], 0))
    headers = walk_headers(speedups, data, positions, 100)
    assert headers == walk_headers(record_columns_plain, data, positions, 100)
    assert not isinstance(headers, str)
    assert [(cut(data, *header[:2]), cut(data, *header[2:])) for header in headers] == [
        header for record in wanted for header in record.headers
    ]


@given(st.binary(max_size=40), st.lists(st.integers(-2, 45), max_size=3))
def test_header_walks_agree_on_noise(data: bytes, positions: list[int]) -> None:
    fast = walk_headers(speedups, data, positions, 4)
    assert fast == walk_headers(record_columns_plain, data, positions, 4)


ROW = (BASE_OFFSET, BASE_TIME + 5, 66, 1, 68, -1, 2)
GOOD = batch_of(ONE, 1)
SIZE = len(GOOD) - 12


@PLAIN_AND_FAST
@pytest.mark.parametrize(
    "batch",
    [
        batch_of(ONE, 2),
        batch_of(ONE, -1),
        batch_of(ONE, 0),
        batch_of(ONE, 2**31 - 1),
        batch_of(ONE, 1, length=SIZE + 1),
        batch_of(ONE, 1, length=SIZE - 1),
        batch_of(ONE, 1, length=2**31 - 1),
        batch_of(b"", 0, length=0),
        batch_of(b"", 0, length=-(2**31)),
        batch_of(ONE, 1, COMPRESSION_ZSTD),
        batch_of(b"", 0)[:60],
    ],
)
def test_what_is_no_batch_ends_the_walk(made: ModuleType, batch: bytes) -> None:
    assert walk(made, [GOOD, batch], 9) == (1, [ROW])


@PLAIN_AND_FAST
@pytest.mark.parametrize("position", [-1, 1, len(GOOD), 2**62, -(2**63)])
def test_a_batch_has_to_be_in_the_data(made: ModuleType, position: int) -> None:
    cells = array("q", bytes(8 * RECORD_COLUMNS))
    assert made.walk_records(GOOD, array("q", [position]), cells) == (0, 0)


@PLAIN_AND_FAST
def test_without_room_nothing_is_written_behind(made: ModuleType) -> None:
    assert walk(made, [GOOD, GOOD, GOOD], 2)[0] == 2
    assert walk(made, [GOOD], 0) == (0, [])
    assert walk(made, [GOOD], 1, cut=1) == (0, [])
    complaint = "Block 1 of headers is malformed, or has no room."
    assert walk_headers(made, ONE, [7, 7], 3) == complaint


@st.composite
def slices(draw: st.DrawFn) -> tuple[bytes, list[tuple[int, int]], int]:
    data = draw(st.binary(max_size=120))
    places = st.tuples(st.integers(0, len(data)), st.integers(-1, 40))
    wild = st.tuples(INT64, INT64)
    usual = st.lists(places, max_size=6)
    found = draw(usual | st.lists(places | wild, max_size=4))
    return data, found, draw(st.integers(0, 160))


def gather(
    made: ModuleType, data: bytes, places: list[tuple[int, int]], room: int
) -> tuple[list[int], bytes] | str:
    positions = array("q", [position for position, _ in places])
    lengths = array("q", [length for _, length in places])
    offsets, target = array("i", bytes(4 * (len(places) + 1))), bytearray(room)
    try:
        size = made.gather(data, positions, lengths, offsets, target)
    except ValueError as error:
        return str(error)
    return offsets.tolist(), bytes(target[:size])


@given(slices())
def test_gathering_is_joining(
    case: tuple[bytes, list[tuple[int, int]], int],
) -> None:
    data, places, room = case
    fast = gather(speedups, *case)
    assert fast == gather(record_columns_plain, *case)
    pieces = [data[at : at + size] if size > 0 else b"" for at, size in places]
    fits = all(size <= 0 or (at >= 0 and at + size <= len(data)) for at, size in places)
    wanted = b"".join(pieces)
    if not fits or len(wanted) > room:
        assert isinstance(fast, str)
        return
    ends = [sum(map(len, pieces[:count])) for count in range(len(pieces) + 1)]
    assert fast == (ends, wanted)


@PLAIN_AND_FAST
def test_numbers_for_every_slice_are_needed(made: ModuleType) -> None:
    two = array("q", [0, 0])
    for lengths, offsets in ((two[:1], bytearray(12)), (two, bytearray(8))):
        with pytest.raises(BufferError, match="one offset more"):
            made.gather(b"", two, lengths, offsets, bytearray(9))


def test_offsets_have_32_bits() -> None:
    assert GATHERED_SIZE_MAX == 2**31 - 1
