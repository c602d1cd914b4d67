from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.formats.index_entry import (
    IndexEntry,
    TimeIndexEntry,
    pack_index_entry,
    pack_time_index_entry,
    parse_index,
    parse_time_index,
    used_size,
)

int32 = st.integers(0, 2**31 - 1)


def test_index_entry_is_eight_bytes_big_endian() -> None:
    assert pack_index_entry(IndexEntry(23, 1102)) == bytes.fromhex("000000170000044e")


def test_time_index_entry_is_twelve_bytes_big_endian() -> None:
    entry = TimeIndexEntry(1_700_000_000_230, 23)
    assert pack_time_index_entry(entry) == bytes.fromhex("0000018bcfe568e600000017")


@given(st.lists(st.builds(IndexEntry, int32, st.integers(1, 2**31 - 1))))
def test_index_round_trip_with_zeros_behind(entries: list[IndexEntry]) -> None:
    data = b"".join(map(pack_index_entry, entries)) + bytes(480)
    assert parse_index(data) == entries


@given(st.lists(st.builds(TimeIndexEntry, st.integers(1, 2**62), int32)))
def test_time_index_round_trip_with_zeros_behind(entries: list[TimeIndexEntry]) -> None:
    data = b"".join(map(pack_time_index_entry, entries)) + bytes(480)
    assert parse_time_index(data) == entries


@given(st.binary(max_size=64), st.integers(0, 20_000), st.sampled_from([8, 12]))
def test_used_size_ends_behind_the_last_entry_with_a_bit(
    data: bytes, zeros: int, entry_size: int
) -> None:
    whole = data + bytes(zeros)
    whole = whole[: len(whole) - len(whole) % entry_size]
    used = used_size(whole, entry_size)
    assert used % entry_size == 0
    assert not any(whole[used:])
    assert not used or any(whole[used - entry_size : used])
