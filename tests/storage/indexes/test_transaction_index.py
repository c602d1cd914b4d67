"""A segment's aborted transactions: Kafka's bytes, damage, and what a search finds."""

import errno
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.storage.files.files import DiskFull
from odradek.storage.formats.transaction_entry import (
    TRANSACTION_ENTRY_SIZE,
    TransactionEntry,
    pack_transaction_entry,
)
from odradek.storage.indexes.mapped_index import CorruptIndex
from odradek.storage.indexes.transaction_index import TransactionIndex
from odradek.storage.values.log_read import AbortedTransaction
from tests.fakes.files import FakeFiles

GOLDEN = Path(__file__).parents[2] / "golden" / "kafka-4.3.1"
DIRECTORY = Path("/data/t-0")
BASE = 100
PATH = DIRECTORY / "00000000000000000100.txnindex"

FIRST = TransactionEntry(7, 90, 110, 105)
SECOND = TransactionEntry(8, 105, 120, 115)
THIRD = TransactionEntry(9, 115, 130, 131)
ENTRIES = [FIRST, SECOND, THIRD]


def new_index() -> tuple[FakeFiles, TransactionIndex]:
    files = FakeFiles()
    files.mkdir(DIRECTORY)
    files.sync_directory(Path("/"))
    files.sync_directory(DIRECTORY.parent)
    return files, TransactionIndex(files, PATH, BASE)


def found_index(data: bytes, base_offset: int = BASE) -> TransactionIndex:
    """An index as it is found in a file."""
    files = FakeFiles()
    files.put(PATH, data)
    return TransactionIndex(files, PATH, base_offset)


def packed(*entries: TransactionEntry) -> bytes:
    return b"".join(map(pack_transaction_entry, entries))


def golden_files() -> list[tuple[Path, list[TransactionEntry]]]:
    """Every transaction index of Kafka's, with what its own dump tool says."""
    found = []
    for case in sorted(GOLDEN.iterdir()):
        on_disk = json.loads((case / "expected.json").read_text()).get("on_disk", {})
        for path in sorted(case.glob("log-dir/*/*.txnindex")):
            dumped = on_disk[path.parent.name][path.name]
            entries = [
                TransactionEntry(
                    each["producerId"],
                    each["firstOffset"],
                    each["lastOffset"],
                    each["lastStableOffset"],
                )
                for each in dumped
            ]
            found.append((path, entries))
    return found


def test_a59_kafkas_own_indexes_are_read_and_written_alike() -> None:
    found = golden_files()
    assert len(found) >= 11
    for path, expected in found:
        data, base_offset = path.read_bytes(), int(path.stem)
        assert list(found_index(data, base_offset).entries()) == expected, path
        files = FakeFiles()
        files.mkdir(DIRECTORY)
        written = TransactionIndex(files, DIRECTORY / path.name, base_offset)
        for entry in expected:
            written.append(entry)
        assert files.content(path.name) == data, path


def test_the_file_is_made_by_the_first_entry() -> None:
    files, index = new_index()
    index.check()
    index.clear()
    index.truncate_to(0)
    assert index.search(0, 10**6) == ([], False)
    assert files.paths() == []
    assert index.append(FIRST), "the name is new"
    assert not index.append(SECOND)
    assert files.content(PATH) == packed(FIRST, SECOND)
    again = TransactionIndex(files, PATH, BASE)
    assert not again.append(THIRD)
    assert files.content(PATH) == packed(*ENTRIES)


def test_an_index_that_no_one_asks_is_not_read() -> None:
    files = FakeFiles()
    files.put(PATH, packed(FIRST))
    index = TransactionIndex(files, PATH, BASE)
    assert not files.counts
    index.check()
    read = files.counts["read"]
    index.search(0, 1000)
    index.entries()
    assert files.counts["read"] == read


@pytest.mark.parametrize(
    "entry",
    [
        TransactionEntry(8, 91, 110, 111),  # no later marker
        TransactionEntry(8, 91, 109, 110),
        TransactionEntry(8, 120, 120, 121),  # a marker before its records
        TransactionEntry(8, -1, 120, 121),
        TransactionEntry(-1, 111, 120, 121),
        TransactionEntry(8, 111, 120, 122),  # stable behind its own marker
        TransactionEntry(8, 111, 120, -1),
    ],
)
def test_an_impossible_entry_is_refused(entry: TransactionEntry) -> None:
    files, index = new_index()
    index.append(FIRST)
    with pytest.raises(ValueError, match="TransactionEntry"):
        index.append(entry)
    assert list(index.entries()) == [FIRST]
    assert files.content(PATH) == packed(FIRST)
    with pytest.raises(CorruptIndex):
        found_index(packed(FIRST, entry)).check()


def test_a_marker_before_the_segment_is_refused() -> None:
    _, index = new_index()
    before = TransactionEntry(7, 90, BASE - 1, BASE)
    with pytest.raises(ValueError, match="99"):
        index.append(before)
    with pytest.raises(CorruptIndex):
        found_index(packed(before)).check()
    index.append(TransactionEntry(7, 90, BASE, BASE))


def test_t040_search_stops_at_the_last_stable_offset() -> None:
    index = found_index(packed(*ENTRIES))
    first, second, third = (AbortedTransaction(e[0], e[1]) for e in ENTRIES)
    # The first entry says that all that began below 105 had ended.
    assert index.search(90, 105) == ([first], True)
    assert index.search(90, 106) == ([first, second], True)
    assert index.search(90, 116) == ([first, second, third], True)
    assert index.search(90, 131) == ([first, second, third], True)
    assert index.search(90, 132) == ([first, second, third], False)
    # What ended below the fetch offset is left out; a marker at it is not.
    assert index.search(110, 116) == ([first, second, third], True)
    assert index.search(111, 116) == ([second, third], True)
    assert index.search(131, 140) == ([], False)


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 30), st.integers(0, 40)),
        max_size=12,
    ),
    st.integers(90, 260),
    st.integers(0, 100),
)
def test_search_is_the_rule_entry_by_entry(
    steps: list[tuple[int, int, int]], fetch_offset: int, size: int
) -> None:
    upper_bound = fetch_offset + size
    entries, last = [], BASE
    for step, length, lag in steps:
        last += step
        lag = min(lag, last)
        entries.append(TransactionEntry(7, max(0, last - length), last, last + 1 - lag))
    expected, is_complete = [], False
    for entry in entries:
        is_in_range = entry.last_offset >= fetch_offset
        if is_in_range and entry.first_offset < upper_bound:
            expected.append(AbortedTransaction(7, entry.first_offset))
        if is_in_range and entry.last_stable_offset >= upper_bound:
            is_complete = True
            break
    found = found_index(packed(*entries)).search(fetch_offset, upper_bound)
    assert found == (expected, is_complete)


@pytest.mark.parametrize(
    ("offset", "count"), [(0, 0), (110, 0), (111, 1), (120, 1), (130, 2), (131, 3)]
)
def test_truncation_drops_markers_at_the_offset_or_behind(
    offset: int, count: int
) -> None:
    files = FakeFiles()
    files.put(PATH, packed(*ENTRIES))
    index = TransactionIndex(files, PATH, BASE)
    index.truncate_to(offset)
    assert list(index.entries()) == ENTRIES[:count]
    assert files.content(PATH) == packed(*ENTRIES[:count])
    for entry in ENTRIES[count:]:
        index.append(entry)
    assert files.content(PATH) == packed(*ENTRIES)


def test_every_cut_is_whole_entries_or_corrupt() -> None:
    data = packed(*ENTRIES)
    for size in range(len(data) + 1):
        index = found_index(data[:size])
        if size % TRANSACTION_ENTRY_SIZE == 0:
            index.check()
            assert list(index.entries()) == ENTRIES[: size // TRANSACTION_ENTRY_SIZE]
            continue
        for use in (
            index.check,
            index.entries,
            lambda index=index: index.search(0, 1000),
            lambda index=index: index.truncate_to(115),
            lambda index=index: index.append(TransactionEntry(7, 131, 140, 141)),
        ):
            with pytest.raises(CorruptIndex, match=r"\.txnindex"):
                use()


def test_every_flipped_bit_is_another_entry_or_corrupt() -> None:
    data, corrupt = packed(*ENTRIES), 0
    for bit in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        index = found_index(bytes(damaged))
        try:
            assert len(index.entries()) == len(ENTRIES)
            index.search(90, 200)
        except CorruptIndex:
            corrupt += 1
    # The version and the offsets are believed only where they make sense.
    assert corrupt > 0.6 * 8 * len(data)


@pytest.mark.parametrize("tail", [bytes(34), bytes(340), b"\xff" * 34])
def test_a_tail_of_zeros_or_ones_is_corrupt(tail: bytes) -> None:
    for base_offset in (0, BASE):
        with pytest.raises(CorruptIndex):
            found_index(tail, base_offset).check()
    with pytest.raises(CorruptIndex):
        found_index(packed(*ENTRIES) + tail).check()


@given(st.binary(max_size=140))
def test_any_bytes_are_entries_or_corrupt(data: bytes) -> None:
    index = found_index(data, base_offset=0)
    try:
        index.check()
    except CorruptIndex:
        return
    assert packed(*index.entries()) == data


def test_clear_makes_a_damaged_index_usable() -> None:
    files = FakeFiles()
    files.put(PATH, packed(*ENTRIES)[:-1])
    index = TransactionIndex(files, PATH, BASE)
    with pytest.raises(CorruptIndex):
        index.check()
    index.clear()
    assert list(index.entries()) == []
    assert index.append(FIRST)
    assert files.content(PATH) == packed(FIRST)


def test_an_entry_for_which_there_is_no_room_is_not_there() -> None:
    files, index = new_index()
    index.append(FIRST)
    files.fail("append", error=errno.ENOSPC)
    with pytest.raises(DiskFull):
        index.append(SECOND)
    assert list(index.entries()) == [FIRST]
    index.append(SECOND)
    assert files.content(PATH) == packed(FIRST, SECOND)


def test_what_was_appended_is_dirty_until_it_is_synced() -> None:
    files, index = new_index()
    assert index.dirty_file() is None
    index.append(FIRST)
    file = index.dirty_file()
    assert file is not None
    file.sync()
    assert index.dirty_file() is None
    files.power_cut()
    assert not files.exists(PATH), "the name was not synced"


def test_a_new_entry_for_a_name_without_room_is_announced_again() -> None:
    files, index = new_index()
    files.fail("append", error=errno.ENOSPC)
    with pytest.raises(DiskFull):
        index.append(FIRST)
    assert index.append(FIRST), "the name is still not synced"


def test_it_follows_its_file() -> None:
    files, index = new_index()
    index.append(FIRST)
    target = PATH.with_name(PATH.name + ".deleted")
    files.rename(PATH, target)
    index.moved(target)
    index.close()
    index.append(SECOND)
    assert files.content(target) == packed(FIRST, SECOND)
    assert files.paths() == [target]


def test_what_another_process_left_unsynced_is_written_again() -> None:
    files, before = new_index()
    before.append(FIRST)
    files.sync_directory(DIRECTORY)
    index = TransactionIndex(files, PATH, BASE)
    index.check()
    assert index.dirty_file() is None
    index.rewrite()
    file = index.dirty_file()
    assert file is not None
    file.sync()
    files.power_cut()
    assert files.content(PATH) == packed(FIRST)


def test_without_entries_there_is_nothing_to_write_again() -> None:
    files, index = new_index()
    index.rewrite()
    assert index.dirty_file() is None
    assert files.paths() == []


def test_an_entry_behind_the_seal_leaves_other_names_their_bytes() -> None:
    files, index = new_index()
    index.append(FIRST)
    index.seal()
    assert files.link(PATH, DIRECTORY / "snapshot")
    index.append(SECOND)
    assert files.content(PATH) == packed(FIRST, SECOND)
    assert files.content(DIRECTORY / "snapshot") == packed(FIRST)
