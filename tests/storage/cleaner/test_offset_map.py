from collections.abc import Iterable

import pytest

from odradek.protocol.errors import InvalidRecord
from odradek.protocol.record_batch import TRANSACTIONAL, read_header
from odradek.protocol.records import NewRecord, build_batch, iterate
from odradek.storage.cleaner.offset_map import SLOT_SIZE, OffsetMap

PLENTY = 100 * SLOT_SIZE


def put(offsets: OffsetMap, base: int, *keys: bytes | None, start: int = 0) -> bool:
    batch = build_batch([NewRecord(key) for key in keys], base_offset=base)
    position, has_room = offsets.put(batch, start)
    assert position == (len(batch) if has_room else 0)
    return has_room


def last_offsets(
    offsets: OffsetMap, keys: Iterable[bytes], below: int = 20
) -> dict[bytes, int]:
    """Of each of these keys the last offset that the map knows."""
    known = {}
    for key in keys:
        batch = build_batch([NewRecord(key, b"v") for _ in range(below)])
        target = bytearray(len(batch))
        behind, offsets.latest_offset = offsets.latest_offset, below
        kept = offsets.keep(batch, target, b"", 0)
        offsets.latest_offset = behind
        if kept.records_kept < below:
            known[key] = next(iterate(target)).offset
    return known


def test_the_last_offset_of_each_key_counts() -> None:
    offsets = OffsetMap(PLENTY)
    assert put(offsets, 5, b"a", b"b", b"a", None, b"")
    known = last_offsets(offsets, [b"a", b"b", b"", b"c"])
    assert known == {b"a": 7, b"b": 6, b"": 9}
    assert (len(offsets), offsets.latest_offset) == (3, 9)


def test_records_below_the_start_are_not_looked_at() -> None:
    offsets = OffsetMap(PLENTY)
    assert put(offsets, 5, b"a", b"b", start=6)
    assert last_offsets(offsets, [b"a", b"b"]) == {b"b": 6}


def test_it_ends_before_the_first_key_that_does_not_fit() -> None:
    offsets = OffsetMap(3 * SLOT_SIZE)
    assert not put(offsets, 0, b"a", b"b", b"a", b"c", b"d")
    assert (len(offsets), offsets.latest_offset) == (2, 2)
    assert put(offsets, 4, b"a", b"b"), "these have their slots"


def test_one_key_always_fits_or_nothing_would_ever_be_cleaned() -> None:
    offsets = OffsetMap(0)
    assert put(offsets, 0, b"a", b"a")
    assert not put(offsets, 2, b"b")
    assert offsets.latest_offset == 1


def test_nine_tenths_of_the_slots_are_filled() -> None:
    offsets = OffsetMap(1000 * SLOT_SIZE)
    assert not put(offsets, 0, *(b"%d" % key for key in range(1000)))
    assert (len(offsets), offsets.latest_offset) == (900, 899)


@pytest.mark.parametrize("load_factor", [0.01, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("count", [0, 1, 2, 10, 300])
def test_keys_that_there_can_be_at_most_have_room(
    count: int, load_factor: float
) -> None:
    offsets = OffsetMap(1 << 30, count, load_factor)
    assert put(offsets, 0, b"-", *(b"%d" % key for key in range(count - 1)))


def test_of_a_small_table_so_much_is_filled() -> None:
    offsets = OffsetMap(1000 * SLOT_SIZE, load_factor=0.5)
    assert not put(offsets, 0, *(b"%d" % key for key in range(1000)))
    assert len(offsets) == 500


def test_gaps_are_passed() -> None:
    offsets = OffsetMap(PLENTY)
    offsets.advance(8)
    offsets.advance(3)
    assert offsets.latest_offset == 8


def test_it_stops_at_what_is_for_the_caller() -> None:
    offsets = OffsetMap(PLENTY)
    batch = build_batch([NewRecord(b"a")])
    theirs = build_batch([NewRecord(b"b")], is_transactional=True)
    assert offsets.put(batch + theirs, 0, TRANSACTIONAL) == (len(batch), True)
    kept = offsets.keep(batch + theirs, bytearray(999), b"", 0, TRANSACTIONAL)
    assert (kept.position, kept.size, kept.pending) == (len(batch), 0, len(batch))


def test_what_is_no_record_is_said_to_be_none() -> None:
    offsets = OffsetMap(PLENTY)
    batch = build_batch([NewRecord(b"a")])
    batch[61] = 0x7F
    assert read_header(batch).records_count == 1
    with pytest.raises(InvalidRecord, match="Record 0"):
        offsets.put(batch, 0)
    with pytest.raises(InvalidRecord, match="Record 0"):
        offsets.keep(batch, bytearray(99), b"", 0)
