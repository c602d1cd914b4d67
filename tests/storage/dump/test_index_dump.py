from collections.abc import Iterable
from pathlib import Path

from odradek.storage.dump.index_dump import (
    dump_index,
    dump_time_index,
    dump_transaction_index,
    used_end,
)
from odradek.storage.dump.row import Row, RowKind
from odradek.storage.files.file_system import File
from odradek.storage.formats.index_entry import INDEX_ENTRY, TIME_INDEX_ENTRY
from odradek.storage.formats.transaction_entry import (
    TransactionEntry,
    pack_transaction_entry,
)
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch

PATH = Path("/d/file")


def file(data: bytes) -> File:
    files = FakeFiles()
    files.put(PATH, data)
    return files.open(PATH)


def entries(rows: Iterable[Row]) -> list[tuple[object, ...]]:
    return [tuple(row.fields.values()) for row in rows if row.kind is RowKind.ENTRY]


def reasons(rows: Iterable[Row], kind: RowKind = RowKind.DAMAGE) -> list[str]:
    return [str(row.fields["reason"]) for row in rows if row.kind is kind]


def test_offsets_are_absolute_and_compared_with_the_log() -> None:
    log = bytes(batch(100, 2) + batch(102, 2))
    size = len(batch(100, 2))
    good = INDEX_ENTRY.pack(3, size)
    rows = list(dump_index(file(good), 100, file(log)))
    assert entries(rows) == [(103, size)]
    assert reasons(rows) == []
    wrong = INDEX_ENTRY.pack(2, size)
    assert reasons(dump_index(file(wrong), 100, file(log))) == [
        f"the log has no batch at {size} that ends at offset 102"
    ]


def test_without_a_log_it_says_so() -> None:
    rows = list(dump_index(file(INDEX_ENTRY.pack(1, 10)), 0, None))
    assert entries(rows) == [(1, 10)]
    assert "no log beside it" in reasons(rows, RowKind.NOTE)[0]


def test_entries_that_do_not_increase_are_shown_and_damage() -> None:
    data = INDEX_ENTRY.pack(5, 50) + INDEX_ENTRY.pack(4, 60) + INDEX_ENTRY.pack(9, 90)
    rows = list(dump_index(file(data), 0, None))
    assert len(entries(rows)) == 3
    assert reasons(rows) == ["offsets and positions must increase"]
    data = TIME_INDEX_ENTRY.pack(5, 1) + TIME_INDEX_ENTRY.pack(5, 2)
    rows = list(dump_time_index(file(data), 10))
    assert entries(rows) == [(5, 11), (5, 12)]
    assert len(reasons(rows)) == 1


def test_preallocated_zeros_are_noted_and_half_an_entry_is_damage() -> None:
    rows = list(dump_time_index(file(TIME_INDEX_ENTRY.pack(5, 1) + bytes(25)), 0))
    assert reasons(rows, RowKind.NOTE) == ["24 bytes of zeros, preallocated"]
    assert reasons(rows) == ["no whole entry of 12 bytes"]


def test_the_end_of_what_is_used_in_a_large_file() -> None:
    large = INDEX_ENTRY.pack(1, 256) + bytes(3 << 20)
    assert used_end(file(large), 8) == 8
    assert used_end(file(bytes(3 << 20)), 8) == 0
    assert used_end(file(b""), 8) == 0


def test_aborted_transactions() -> None:
    one = pack_transaction_entry(TransactionEntry(7, 2, 6, 7))
    rows = list(dump_transaction_index(file(one)))
    assert entries(rows) == [(0, 7, 2, 6, 7)]
    newer = b"\0\5" + one[2:]
    backwards = pack_transaction_entry(TransactionEntry(7, 9, 8, 7))
    assert reasons(dump_transaction_index(file(newer + one + backwards))) == [
        "version 5 of an entry is not known",
        "last offsets must increase",
        "a transaction ends before it begins",
    ]
    assert reasons(dump_transaction_index(file(one[:20]))) == [
        "no whole entry of 34 bytes"
    ]
