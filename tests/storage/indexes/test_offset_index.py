from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.formats.index_entry import IndexEntry, pack_index_entry
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.indexes.offset_index import OffsetIndex, OffsetPosition
from tests.fakes.files import FakeFiles

PATH = Path("/data/t-0/00000000000000000100.index")
BASE = 100


def found_index(*entries: tuple[int, int], tail: bytes = b"") -> OffsetIndex:
    """An index as it is found in a file, of a log of 10,000 bytes."""
    files = FakeFiles()
    data = b"".join(pack_index_entry(IndexEntry(*entry)) for entry in entries)
    files.put(PATH, data + tail)
    return OffsetIndex(files, PATH, BASE, 10_000)


def growing_index(*entries: tuple[int, int]) -> OffsetIndex:
    index = found_index()
    index.start()
    for offset, position in entries:
        index.append(offset, position)
    return index


def test_lookup_finds_the_entry_at_or_below() -> None:
    index = growing_index((110, 500), (120, 900))
    assert index.lookup(109) == OffsetPosition(BASE, 0)
    assert index.lookup(110) == OffsetPosition(110, 500)
    assert index.lookup(119) == OffsetPosition(110, 500)
    assert index.lookup(5000) == OffsetPosition(120, 900)


def test_empty_index_points_at_the_start() -> None:
    assert growing_index().lookup(5000) == OffsetPosition(BASE, 0)
    assert found_index().lookup(5000) == OffsetPosition(BASE, 0)
    assert found_index().last == OffsetPosition(BASE, 0)


@given(
    st.lists(st.integers(0, 1000), unique=True).map(sorted),
    st.integers(0, 1100),
    st.booleans(),
)
def test_lookup_agrees_with_a_list(
    relative_offsets: list[int], target: int, is_sealed: bool
) -> None:
    entries = [(BASE + o, 1 + 7 * n) for n, o in enumerate(relative_offsets)]
    index = growing_index(*entries)
    if is_sealed:
        index.seal()
    below = [OffsetPosition(*entry) for entry in entries if entry[0] <= target]
    assert index.lookup(target) == (below[-1] if below else OffsetPosition(BASE, 0))
    assert index.count == len(entries)


def test_append_must_increase() -> None:
    index = growing_index((110, 500))
    with pytest.raises(AssertionError):
        index.append(110, 900)


def test_entries_are_written_by_flush() -> None:
    files = FakeFiles()
    files.mkdir(PATH.parent)
    index = OffsetIndex(files, PATH, BASE, 0)
    index.start()
    assert not files.exists(PATH)
    index.flush()
    assert files.content(PATH) == b""
    index.append(110, 500)
    index.flush()
    index.append(120, 900)
    index.flush()
    index.flush()
    assert files.content(PATH) == bytes.fromhex("0000000a000001f400000014 00000384")
    assert files.counts["append"] == 2
    dirty = index.dirty_file()
    assert dirty is not None
    dirty.sync()
    assert index.dirty_file() is None


def test_failed_flush_is_made_up_for() -> None:
    files = FakeFiles()
    files.mkdir(PATH.parent)
    index = OffsetIndex(files, PATH, BASE, 0)
    index.start()
    index.append(110, 500)
    files.fail("append")
    with pytest.raises(Exception, match="00100"):
        index.seal()
    assert index.is_growing
    index.seal()
    assert index.last == OffsetPosition(110, 500)
    assert len(files.content(PATH)) == 8


def test_preallocated_zeros_are_not_entries() -> None:
    index = found_index((10, 500), (20, 900), tail=bytes(480))
    assert index.last == OffsetPosition(120, 900)
    assert index.count == 2


def test_growing_from_a_preallocated_file_appends_behind_the_entries() -> None:
    index = found_index((10, 500), tail=bytes(480))
    index.grow()
    index.append(120, 900)
    index.seal()
    assert index.last == OffsetPosition(120, 900)
    assert index.size == 16
    assert index.file is not None
    assert index.file.size == 16


def test_truncate_keeps_what_is_below() -> None:
    index = growing_index((110, 500), (120, 900), (130, 1300))
    index.flush()
    index.truncate_to(120)
    assert index.last == OffsetPosition(110, 500)
    index.append(125, 950)
    index.seal()
    assert index.lookup(999) == OffsetPosition(125, 950)
    assert index.count == 2


def test_truncate_to_position_keeps_batches_that_start_before() -> None:
    index = growing_index((110, 500), (120, 900), (130, 1300))
    index.truncate_to_position(900)
    assert index.last == OffsetPosition(110, 500)


@pytest.mark.parametrize(
    ("entries", "tail", "reason"),
    [
        ([(10, 500)], b"\1\2\3", "half an entry"),
        ([(10, 500), (9, 900)], b"", "offsets do not increase"),
        ([(10, 500), (10, 900)], b"", "offsets do not increase"),
        ([(10, 500), (11, 500)], b"", "positions do not increase"),
        ([(-3, 500)], b"", "negative"),
        ([(3, -500)], b"", "negative"),
        ([(3, 10_000)], b"", "behind the log's end"),
    ],
)
def test_index_that_contradicts_itself_is_not_believed(
    entries: list[tuple[int, int]], tail: bytes, reason: str
) -> None:
    index = found_index(*entries, tail=tail)
    with pytest.raises(CorruptIndex, match=reason):
        index.lookup(200)
    with pytest.raises(CorruptIndex, match=reason):
        index.grow()


def test_missing_file_is_a_corrupt_index() -> None:
    files = FakeFiles()
    files.mkdir(PATH.parent)
    with pytest.raises(CorruptIndex, match="missing"):
        OffsetIndex(files, PATH, BASE, 0).lookup(100)


def test_start_drops_what_was_there() -> None:
    index = found_index((10, 500))
    index.start()
    assert index.lookup(999) == OffsetPosition(BASE, 0)
    index.seal()
    assert index.count == 0
    assert index.lookup(999) == OffsetPosition(BASE, 0)


def test_sealed_index_reads_its_file_once() -> None:
    index = found_index((10, 500))
    files = index._files
    assert isinstance(files, FakeFiles)
    assert files.counts["open"] == 0
    index.lookup(110)
    index.lookup(111)
    assert files.counts["open"] == 1


def test_index_follows_a_rename_and_opens_again() -> None:
    index = found_index((10, 500))
    index.lookup(110)
    files = index._files
    moved = PATH.with_name("elsewhere.index")
    files.rename(PATH, moved)
    index.moved(moved)
    index.close()
    assert index.lookup(110) == OffsetPosition(110, 500)
