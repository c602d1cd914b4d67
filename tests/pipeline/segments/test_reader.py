import logging
import os
from pathlib import Path

import pytest

from odradek.pipeline.errors import DataLoss
from odradek.pipeline.records.damage import CorruptData, OnCorrupt
from odradek.pipeline.segments.planning import SegmentRange, plan_segments
from odradek.pipeline.segments.reader import read_segments
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from tests.pipeline.log_directories import (
    log_file,
    make_directory,
    position_of,
    quarantine,
    size_at,
    small_batches,
    wanted,
    write_segment,
)
from tests.pipeline.walks import ALL, Row, expected, rows_of

DATA = small_batches(40)


def read(
    pieces: list[SegmentRange],
    on_corrupt: OnCorrupt = OnCorrupt.FAIL,
    fails_on_data_loss: bool = True,
) -> list[Row]:
    return [
        row
        for piece in pieces
        for row in rows_of(
            read_segments(
                piece, ALL, on_corrupt=on_corrupt, fails_on_data_loss=fails_on_data_loss
            )
        )
    ]


@pytest.mark.parametrize("split_bytes", [1, 700, 1 << 20])
@pytest.mark.parametrize(("start", "end"), [(0, 80), (7, 33), (19, 21), (79, 80)])
def test_records_are_those_of_the_log(
    tmp_path: Path, split_bytes: int, start: int, end: int
) -> None:
    root = make_directory(tmp_path, DATA)
    pieces = plan_segments(root, wanted(start, end), split_bytes=split_bytes)
    assert read(pieces) == expected(DATA, start, end)


@pytest.mark.parametrize("split_bytes", [1, 700, 1 << 20])
def test_zeros_that_a_broker_wrote_ahead_are_not_read(
    tmp_path: Path, split_bytes: int
) -> None:
    """With ``preallocate`` they are behind the log of every running broker."""
    root = make_directory(tmp_path, DATA)
    paths = list(root.glob("*-0/*.log"))
    assert len(paths) > 1
    for path in paths:
        with path.open("ab") as log:
            log.write(bytes(3 << 20))
    for start, end in ((0, 80), (7, 33), (79, 80)):
        pieces = plan_segments(root, wanted(start, end), split_bytes=split_bytes)
        assert read(pieces) == expected(DATA, start, end)


def test_batches_larger_than_the_buffer(tmp_path: Path) -> None:
    data = small_batches(6, size=1 << 20)
    root = make_directory(tmp_path, data, segment_batches=4)
    assert read(plan_segments(root, wanted(0, 12))) == expected(data)


def flipped(root: Path, base: int, position: int, bit: int = 1) -> None:
    path = log_file(root, base)
    data = bytearray(path.read_bytes())
    data[position] ^= bit
    path.write_bytes(data)


# In a batch: base offset, length (longer, and far too long), magic, the records.
@pytest.mark.parametrize(
    ("place", "bit"), [(2, 1), (6, 1), (11, 4), (8, 0x40), (16, 2), (70, 1)]
)
def test_damage_costs_one_batch(tmp_path: Path, place: int, bit: int) -> None:
    root = make_directory(tmp_path, DATA)
    data = log_file(root, 20).read_bytes()
    flipped(root, 20, position_of(data, 26) + place, bit)
    pieces = plan_segments(root, wanted(0, 80))
    with pytest.raises(
        CorruptData, match=r"00000000000000000020\.log.*offsets from 26"
    ):
        read(pieces)
    rows = read(pieces, OnCorrupt.SKIP)
    assert rows == [row for row in expected(DATA) if row[0] not in (26, 27)]


def test_damage_is_reported_with_its_place_in_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = make_directory(tmp_path, DATA)
    data = log_file(root, 20).read_bytes()
    position = position_of(data, 30)
    flipped(root, 20, position + 70)
    with caplog.at_level(logging.WARNING):
        read(plan_segments(root, wanted(0, 80), split_bytes=500), OnCorrupt.REPORT)
    end = position + size_at(data, position)
    assert f"20.log, bytes {position} to {end}: the checksum" in caplog.text


def test_damage_behind_what_is_wanted_is_not_met(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA, segment_batches=100)
    flipped(root, 0, position_of(DATA, 60) + 70)
    assert read(plan_segments(root, wanted(0, 60))) == expected(DATA, 0, 60)


def test_quarantined_ranges_are_passed(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    data = log_file(root, 20).read_bytes()
    start, end = position_of(data, 24), position_of(data, 28)
    flipped(root, 20, start + 70)
    quarantine(root, [QuarantineEntry(20, start, end, 24, 27, "bad")])
    rows = read(plan_segments(root, wanted(0, 80)))
    assert rows == [row for row in expected(DATA) if row[0] not in range(24, 28)]


def test_a_deleted_file_is_read_while_it_has_a_name(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    pieces = plan_segments(root, wanted(0, 80))
    path = log_file(root, 0)
    path.rename(path.with_name(path.name + ".deleted"))
    assert read(pieces) == expected(DATA)
    directory = root / "topic-0"
    directory.rename(root / f"topic-0.{'0' * 32}-delete")
    assert read(pieces) == expected(DATA)


def test_a_vanished_file_is_data_loss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = make_directory(tmp_path, DATA)
    pieces = plan_segments(root, wanted(0, 80))
    log_file(root, 0).unlink()
    with pytest.raises(DataLoss, match="retention removed it"):
        read(pieces)
    with caplog.at_level(logging.WARNING):
        assert read(pieces, fails_on_data_loss=False) == expected(DATA, 20)
    assert "retention" in caplog.text


def test_segments_that_were_cleaned_are_read_instead(tmp_path: Path) -> None:
    """Compaction has made one file of two, under the name of the first."""
    root = make_directory(tmp_path, DATA)
    pieces = plan_segments(root, wanted(0, 80), split_bytes=900)
    kept = b"".join(
        DATA[position : position + size_at(DATA, position)]
        for position in (position_of(DATA, n) for n in (2, 18, 20, 38))
    )
    log_file(root, 20).unlink()
    for suffix in (".log", ".index"):
        log_file(root, 0).with_suffix(suffix).rename(tmp_path / f"old{suffix}")
    write_segment(root / "topic-0", 0, kept)
    offsets = [2, 3, 18, 19, 20, 21, 38, 39, *range(40, 80)]
    assert [row[0] for row in read(pieces)] == offsets


def test_a_log_cut_short_is_data_loss(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    pieces = plan_segments(root, wanted(0, 80))
    path = log_file(root, 60)
    os.truncate(path, position_of(path.read_bytes(), 70))
    with pytest.raises(DataLoss, match="ends at offset 69"):
        read(pieces)
    rows = read(pieces, fails_on_data_loss=False)
    assert rows == expected(DATA, 0, 70)


def test_a_torn_end_below_the_wanted_offsets_is_damage(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA)
    path = log_file(root, 60)
    os.truncate(path, path.stat().st_size - 5)
    pieces = plan_segments(root, wanted(0, 80))
    with pytest.raises(CorruptData, match="offsets from 78"):
        read(pieces)
    assert read(plan_segments(root, wanted(0, 78))) == expected(DATA, 0, 78)
