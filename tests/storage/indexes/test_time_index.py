from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.formats.index_entry import TimeIndexEntry, pack_time_index_entry
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.indexes.time_index import TimeIndex, TimestampedBatch
from tests.fakes.files import FakeFiles

PATH = Path("/data/t-0/00000000000000000100.timeindex")
BASE = 100
START = TimestampedBatch(-1, BASE)


def found_index(*entries: tuple[int, int], tail: bytes = b"") -> TimeIndex:
    files = FakeFiles()
    data = b"".join(pack_time_index_entry(TimeIndexEntry(*entry)) for entry in entries)
    files.put(PATH, data + tail)
    return TimeIndex(files, PATH, BASE)


def growing_index(*entries: tuple[int, int]) -> TimeIndex:
    index = found_index()
    index.start()
    for timestamp, offset in entries:
        index.maybe_append(timestamp, offset)
    return index


def test_only_later_timestamps_get_an_entry() -> None:
    index = growing_index((1000, 110), (1000, 120), (900, 130), (1001, 140))
    assert index.count == 2
    assert index.last == TimestampedBatch(1001, 140)


def test_records_without_timestamp_get_no_entry() -> None:
    assert growing_index((-1, 110), (-5, 120)).count == 0


def test_offset_that_goes_back_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        growing_index((1000, 110), (1001, 110))


def test_lookup_finds_the_entry_not_later() -> None:
    index = growing_index((1000, 110), (2000, 120))
    assert index.lookup(999) == START
    assert index.lookup(1000) == TimestampedBatch(1000, 110)
    assert index.lookup(1999) == TimestampedBatch(1000, 110)
    assert index.lookup(9999) == TimestampedBatch(2000, 120)
    assert index.around(1500)[1] == TimestampedBatch(2000, 120)
    assert index.around(2000)[1] is None
    assert index.around(5)[1] == TimestampedBatch(1000, 110)


@given(st.lists(st.integers(-1, 50)), st.integers(-1, 60), st.booleans())
def test_lookup_agrees_with_a_list(
    timestamps: list[int], target: int, is_sealed: bool
) -> None:
    index = growing_index()
    kept = [START]
    for offset, timestamp in enumerate(timestamps, start=BASE):
        index.maybe_append(timestamp, offset)
        if timestamp > kept[-1].timestamp:
            kept.append(TimestampedBatch(timestamp, offset))
    if is_sealed:
        index.seal()
    assert index.lookup(target) == [e for e in kept if e.timestamp <= target][-1]
    assert index.last == kept[-1]


def test_truncate_keeps_what_ends_below() -> None:
    index = growing_index((1000, 110), (2000, 120), (3000, 130))
    index.truncate_to(120)
    assert index.last == TimestampedBatch(1000, 110)
    index.truncate_to(0)
    assert index.last == START


def test_preallocated_zeros_are_not_entries() -> None:
    index = found_index((1000, 10), tail=bytes(480))
    assert index.last == TimestampedBatch(1000, 110)


@pytest.mark.parametrize(
    ("entries", "tail", "reason"),
    [
        ([(1000, 10)], b"\1\2\3", "half an entry"),
        ([(1000, 10), (1000, 20)], b"", "timestamps do not increase"),
        ([(1000, 10), (2000, 10)], b"", "offsets do not increase"),
        ([(-1000, 10)], b"", "negative"),
        ([(1000, -10)], b"", "negative"),
    ],
)
def test_index_that_contradicts_itself_is_not_believed(
    entries: list[tuple[int, int]], tail: bytes, reason: str
) -> None:
    with pytest.raises(CorruptIndex, match=reason):
        _ = found_index(*entries, tail=tail).last
