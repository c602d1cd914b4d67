from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.pipeline.errors import DataLoss, SourceError
from odradek.pipeline.segments.planning import SegmentRange, plan_segments
from odradek.protocol.record_batch import scan
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.formats.transaction_entry import (
    TransactionEntry,
    pack_transaction_entry,
)
from tests.pipeline.log_directories import (
    END,
    log_file,
    make_directory,
    position_of,
    quarantine,
    size_at,
    small_batches,
    wanted,
)

DATA = small_batches(40)  # offsets 0 to 79 in segments of 20


def spans(pieces: list[SegmentRange]) -> list[tuple[int, int, int]]:
    return [
        (int(Path(piece.path).stem), piece.position, piece.end_position)
        for piece in pieces
    ]


def test_pieces_cover_every_byte_once(tmp_path: Path) -> None:
    pieces = plan_segments(make_directory(tmp_path, DATA), wanted(0), split_bytes=600)
    assert len(pieces) > 8
    read = b""
    for piece in pieces:
        assert piece.size <= 675  # an eighth more
        data = Path(piece.path).read_bytes()
        read += data[piece.position : piece.end_position]
    assert read == DATA
    assert [piece.reaches_end for piece in pieces] == [False] * (len(pieces) - 1) + [
        True
    ]


def test_a_short_rest_is_no_piece_of_its_own(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    size = log_file(root, 0).stat().st_size

    def sizes(split_bytes: int) -> list[int]:
        pieces = plan_segments(root, wanted(0, 20), split_bytes=split_bytes)
        return [piece.size for piece in pieces]

    assert sizes(size - 1) == [size]
    assert sizes(size * 8 // 9 + 1) == [size]
    assert len(sizes(size * 3 // 4)) == 2


@settings(max_examples=60)
@given(st.integers(0, 85), st.integers(0, 85), st.integers(100, 3000))
def test_pieces_hold_the_wanted_offsets(start: int, end: int, split: int) -> None:
    with TemporaryDirectory() as folder:
        root = make_directory(Path(folder), DATA)
        pieces = plan_segments(root, wanted(start, end), split_bytes=split)
        found = []
        for piece in pieces:
            data = Path(piece.path).read_bytes()[piece.position : piece.end_position]
            for _, header in scan(data):
                assert piece.base_offset <= header.base_offset
                assert header.last_offset <= piece.offset_max
                offsets = range(header.base_offset, header.next_offset)
                found += [n for n in offsets if piece.start <= n < piece.end]
        assert found == list(range(start, min(end, 80)))


def test_a_start_within_a_segment_reads_from_the_index_entry_before(
    tmp_path: Path,
) -> None:
    root = make_directory(tmp_path, DATA)
    (piece,) = plan_segments(root, wanted(31, 33))
    data = log_file(root, 20).read_bytes()
    assert position_of(data, 31) - piece.position <= 2 * size_at(data, 0)
    assert piece.end_position < len(data)


@pytest.mark.parametrize("damage", ["missing", "noise", "unordered", "elsewhere"])
def test_an_index_that_lies_is_of_no_use(tmp_path: Path, damage: str) -> None:
    root = make_directory(tmp_path, DATA)
    index = log_file(root, 20).with_suffix(".index")
    entries = index.read_bytes()
    changed = {
        "noise": b"\x7f" * 64,
        "unordered": entries[8:16] + entries[:8],
        "elsewhere": b"".join(
            entries[at : at + 7] + bytes([entries[at + 7] ^ 1])
            for at in range(0, 32, 8)
        ),
    }
    index.unlink()
    if damage != "missing":
        index.write_bytes(changed[damage])
    pieces = plan_segments(root, wanted(20, 40), split_bytes=300)
    size = log_file(root, 20).stat().st_size
    assert spans(pieces) == [(20, 0, size)]


def test_quarantined_ranges_are_gaps(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    data = log_file(root, 20).read_bytes()
    start, end = position_of(data, 24), position_of(data, 28)
    quarantine(root, [QuarantineEntry(20, start, end, 24, 27, "bad")])
    pieces = plan_segments(root, wanted(20, 40))
    assert spans(pieces) == [(20, 0, start), (20, end, len(data))]
    assert [(piece.start, piece.end) for piece in pieces] == [(20, 24), (28, 40)]


def test_a_whole_segment_in_quarantine_gives_no_piece(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    size = log_file(root, 20).stat().st_size
    quarantine(root, [QuarantineEntry(20, 0, size, 20, 39, "bad")])
    assert plan_segments(root, wanted(20, 40)) == []


def test_a_quarantine_that_cannot_be_read_is_no_permission(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    (log_file(root, 0).parent / "quarantine").write_text("0\n1\nnonsense\n")
    with pytest.raises(SourceError, match="quarantine"):
        plan_segments(root, wanted(0))


def test_aborted_transactions_are_those_that_reach_into_a_piece(
    tmp_path: Path,
) -> None:
    root = make_directory(tmp_path, DATA)
    for base, entries in {
        20: [TransactionEntry(7, 2, 24, 10), TransactionEntry(8, 26, 30, 30)],
        40: [TransactionEntry(9, 38, 50, 40)],
        60: [TransactionEntry(9, 70, 75, 60)],
    }.items():
        data = b"".join(map(pack_transaction_entry, entries))
        log_file(root, base).with_suffix(".txnindex").write_bytes(data)

    def aborted(start: int, end: int) -> list[tuple[int, int]]:
        pieces = plan_segments(root, wanted(start, end), committed=True)
        found = {each for piece in pieces for each in piece.aborted or ()}
        return sorted(tuple(each) for each in found)

    assert aborted(0, 20) == [(7, 2)]
    assert aborted(25, 40) == [(8, 26), (9, 38)]
    assert aborted(32, 38) == []
    assert aborted(0, END) == [(7, 2), (8, 26), (9, 38), (9, 70)]
    assert {piece.aborted for piece in plan_segments(root, wanted(0))} == {None}


def test_a_broken_transaction_index_is_not_passed_over(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    log_file(root, 20).with_suffix(".txnindex").write_bytes(b"123")
    with pytest.raises(SourceError, match="txnindex"):
        plan_segments(root, wanted(0), committed=True)


def test_a_log_that_begins_later_is_data_loss(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    log_file(root, 0).unlink()
    with pytest.raises(DataLoss, match=r"has 20 where topic-0 \[5, 90\)"):
        plan_segments(root, wanted(5, 90))
    pieces = plan_segments(root, wanted(5, 90), fails_on_data_loss=False)
    assert spans(pieces)[0][0] == 20


def test_a_partition_that_is_not_there_is_data_loss(tmp_path: Path) -> None:
    with pytest.raises(DataLoss, match="no segment"):
        plan_segments(tmp_path, wanted(0))
    assert plan_segments(tmp_path, wanted(0), fails_on_data_loss=False) == []


def test_an_empty_range_needs_no_file(tmp_path: Path) -> None:
    assert plan_segments(tmp_path, wanted(7, 7)) == []
