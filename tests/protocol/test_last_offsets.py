"""Of each key the last offset: the C functions, their twin and a dict agree."""

import sys
from array import array
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.plain import last_offsets as last_offsets_plain
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    HAS_DELETE_HORIZON,
    TRANSACTIONAL,
    check_crc,
    read_header,
    restamp_crc,
    scan,
)
from odradek.protocol.records import NewRecord, Record, build_batch, iterate
from tests.protocol.walked_batches import laid_out

speedups = pytest.importorskip(
    "odradek.protocol.speedups", reason="the extension is not built"
)
PLAIN_AND_FAST = pytest.mark.parametrize("made", [last_offsets_plain, speedups])

SECRET = bytes(range(16))
NOTHING_PINNED = array("q")
ROOM = 1000

keys = st.sampled_from([None, b"", b"a", b"b", b"a longer key than eight bytes"])
values = st.none() | st.binary(max_size=9)


@st.composite
def batches(draw: st.DrawFn) -> bytearray:
    pairs = draw(st.lists(st.tuples(keys, values), min_size=1, max_size=4))
    records = [NewRecord(*pair, draw(st.integers(0, 9))) for pair in pairs]
    batch = build_batch(
        records,
        is_transactional=draw(st.sampled_from([False, False, False, True])),
        log_append_time_ms=draw(st.sampled_from([None, None, 7])),
    )
    if draw(st.integers(0, 3)) == 0:
        batch[22] |= HAS_DELETE_HORIZON
        restamp_crc(batch)
    return batch


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Batches one behind another; sometimes a byte is another, or the end is cut."""
    data = bytearray(laid_out(draw(st.lists(batches(), max_size=5))))
    if data and draw(st.integers(0, 3)) == 0:
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
        del data[draw(st.integers(0, len(data)) | st.just(len(data))) :]
    return bytes(data)


def outcome(function: Callable[..., object], *arguments: object) -> object:
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


@given(
    logs(),
    st.integers(1, 40),
    st.integers(0, 9),
    st.integers(0, 5) | st.just(ROOM),
    st.sampled_from([0, TRANSACTIONAL]),
)
def test_the_twins_map_alike(
    data: bytes, slots: int, start: int, room: int, stops_at: int
) -> None:
    fast, plain = (
        outcome(module.map_keys, data, table, SECRET, start, room, stops_at)
        for module, table in (
            (speedups, bytearray(24 * slots)),
            (last_offsets_plain, bytearray(24 * slots)),
        )
    )
    assert fast == plain


@given(
    logs(),
    logs(),
    st.integers(-1, 12),
    st.integers(0, 9),
    st.lists(st.integers(0, 9), max_size=3).map(sorted),
    st.sampled_from([0, 100, 4096]),
    st.sampled_from([0, TRANSACTIONAL]),
)
def test_the_twins_keep_alike(
    mapped: bytes,
    data: bytes,
    latest: int,
    now_ms: int,
    pinned: list[int],
    room: int,
    stops_at: int,
) -> None:
    found = []
    for module in (speedups, last_offsets_plain):
        table, target = bytearray(24 * 9), bytearray(room)
        outcome(module.map_keys, mapped, table, SECRET, 0, 5, 0)
        pins = array("q", pinned)
        rules = (latest, now_ms, stops_at)
        kept = outcome(module.keep_latest, data, table, SECRET, target, pins, *rules)
        if isinstance(kept, tuple):
            del target[kept[1] + kept[2] :]
        else:
            target.clear()  # what was written before it found the damage
        found.append((kept, target))
    assert found[0] == found[1]


@PLAIN_AND_FAST
@given(logs_of_keys=st.lists(st.lists(keys, min_size=1, max_size=6), max_size=6))
def test_what_stays_is_what_a_dict_says(
    made: ModuleType, logs_of_keys: list[list[bytes | None]]
) -> None:
    data = laid_out(
        [build_batch([NewRecord(key, b"v") for key in each]) for each in logs_of_keys]
    )
    records = [each for at, _ in scan(data) for each in iterate(data[at:])]
    last = {each.key: each.offset for each in records if each.key is not None}
    table, target = bytearray(24 * 9), bytearray(len(data))
    position, added, latest, is_full = made.map_keys(data, table, SECRET, 0, ROOM, 0)
    assert (position, added, is_full) == (len(data), len(last), False)
    assert latest == len(records) - 1
    end, size, pending, read, kept, null_keys = made.keep_latest(
        data, table, SECRET, target, NOTHING_PINNED, latest, 0, 0
    )
    assert (end, pending, read) == (len(data), 0, len(records))
    assert null_keys == sum(each.key is None for each in records)
    wanted = [each for each in records if last.get(each.key or b"") == each.offset]
    wanted = [each for each in wanted if each.key is not None]
    found: list[Record] = []
    for at, header in scan(target[:size]):
        batch = target[at : at + header.size]
        assert check_crc(batch, header)
        found += iterate(batch)
    assert found == wanted
    assert kept == len(wanted)


@PLAIN_AND_FAST
def test_a_table_that_is_full_of_others_ends(made: ModuleType) -> None:
    data = laid_out([build_batch([NewRecord(bytes([n])) for n in range(9)])])
    table = bytearray(24 * 4)
    assert made.map_keys(data, table, SECRET, 0, ROOM, 0) == (0, 4, 3, True)
    assert made.map_keys(data, table, SECRET, 0, 0, 0)[2:] == (3, True)


@PLAIN_AND_FAST
def test_room_for_so_many_keys(made: ModuleType) -> None:
    first = build_batch([NewRecord(b"a"), NewRecord(b"b"), NewRecord(b"a")])
    second = build_batch([NewRecord(b"b"), NewRecord(b"c")])
    data, table = laid_out([first, second]), bytearray(24 * 9)
    assert made.map_keys(data, table, SECRET, 0, 2, 0) == (len(first), 2, 3, True)


@PLAIN_AND_FAST
def test_the_caller_finishes_what_is_pinned_or_gets_a_horizon(
    made: ModuleType,
) -> None:
    gone = build_batch([NewRecord(b"a", b"1"), NewRecord(b"a", b"2")])
    dead = build_batch([NewRecord(b"b", None), NewRecord(b"a", b"3")])
    data = laid_out([gone, dead])
    table, target = bytearray(24 * 9), bytearray(len(data))
    made.map_keys(data, table, SECRET, 0, ROOM, 0)
    pins = array("q", [1])
    kept = made.keep_latest(data, table, SECRET, target, pins, 3, 0, 0)
    assert kept == (len(gone), 0, BATCH_OVERHEAD, 2, 0, 0)
    assert read_header(target).records_count == 0
    rest = data[len(gone) :]
    kept = made.keep_latest(rest, table, SECRET, target, pins, 3, 0, 0)
    assert kept == (len(rest), 0, len(rest), 2, 2, 0)
    assert target[: len(rest)] == rest


@PLAIN_AND_FAST
@pytest.mark.parametrize(
    ("table", "secret", "sentence"),
    [(23, 16, "slots of 24"), (24, 15, "has 16"), (24, 17, "has 16")],
)
def test_bad_tables(made: ModuleType, table: int, secret: int, sentence: str) -> None:
    with pytest.raises(BufferError, match=sentence):
        made.map_keys(b"", bytearray(table), bytes(secret), 0, 1, 0)


@PLAIN_AND_FAST
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ((8, b"\x7f"), "cut short"),
        ((8, b"\xff"), "cut short"),
        ((0, b"\xff"), "offsets that cannot be"),
        ((0, b"\x7f" + b"\xff" * 7), "offsets that cannot be"),
        ((23, b"\xff"), "offsets that cannot be"),
        ((57, b"\x00\x00\x00\x09"), "says 9 records"),
        ((61, b"\x7f"), "Record 0"),
    ],
)
def test_batches_that_cannot_be(
    made: ModuleType, change: tuple[int, bytes], sentence: str
) -> None:
    batch = build_batch([NewRecord(b"a", b"1")])
    position, data = change
    batch[position : position + len(data)] = data
    table = bytearray(24)
    with pytest.raises(ValueError, match=sentence):
        made.map_keys(batch, table, SECRET, 0, 1, 0)
    with pytest.raises(ValueError, match=sentence):
        made.keep_latest(batch, table, SECRET, bytearray(99), b"", 1, 0, 0)
    with pytest.raises(ValueError, match="cut short"):
        made.map_keys(batch[:60], table, SECRET, 0, 1, 0)


@pytest.mark.skipif(sys.byteorder == "big", reason="words are the machine's")
def test_the_digest_is_siphash_128() -> None:
    """Its authors' vectors for no bytes and for 15, with the secret 0 to 15."""
    table = bytearray(24)
    speedups.map_keys(build_batch([NewRecord(b"")]), table, SECRET, 0, 1, 0)
    assert table[:16].hex() == "a3817f04ba25a8e66df67214c7550293"
    table = bytearray(24)
    key = bytes(range(15))
    speedups.map_keys(build_batch([NewRecord(key)]), table, SECRET, 0, 1, 0)
    assert table[:16].hex() == "5493e99933b0a8117e08ec0f97cfc3d9"
