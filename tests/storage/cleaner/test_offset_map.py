from protocol.record_batch import read_header
from protocol.records import NewRecord, build_batch, index_rows
from storage.cleaner.offset_map import ENTRY_OVERHEAD, OffsetMap


def put(offsets: OffsetMap, base: int, *keys: bytes | None, start: int = 0) -> bool:
    batch = build_batch([NewRecord(key) for key in keys], base_offset=base)
    header = read_header(batch)
    data, rows = index_rows(batch, header)
    return offsets.put_rows(header, data, rows, start)


def test_the_last_offset_of_each_key_counts() -> None:
    offsets = OffsetMap(10_000)
    assert put(offsets, 5, b"a", b"b", b"a", None, b"")
    assert offsets.offsets == {b"a": 7, b"b": 6, b"": 9}
    assert (len(offsets), offsets.latest_offset) == (3, 9)


def test_records_below_the_start_are_not_looked_at() -> None:
    offsets = OffsetMap(10_000)
    assert put(offsets, 5, b"a", b"b", start=6)
    assert offsets.offsets == {b"b": 6}


def test_it_ends_before_the_first_key_that_does_not_fit() -> None:
    offsets = OffsetMap(2 * (ENTRY_OVERHEAD + 1))
    assert not put(offsets, 0, b"a", b"b", b"a", b"c", b"d")
    assert (len(offsets), offsets.latest_offset) == (2, 2)


def test_one_key_always_fits_or_nothing_would_ever_be_cleaned() -> None:
    offsets = OffsetMap(0)
    assert put(offsets, 0, b"a", b"a")
    assert not put(offsets, 2, b"b")
    assert offsets.latest_offset == 1


def test_gaps_are_passed() -> None:
    offsets = OffsetMap(100)
    offsets.advance(8)
    offsets.advance(3)
    assert offsets.latest_offset == 8
