from pathlib import Path

import pytest

from odradek.pipeline.segments.files import (
    Cut,
    SegmentIndex,
    list_aborted,
    list_quarantined,
    list_segments,
)
from odradek.protocol.record_batch import scan
from tests.pipeline.log_directories import log_file, make_directory, small_batches

DATA = small_batches(20)


def test_segments_in_their_order_without_other_files(tmp_path: Path) -> None:
    partition = make_directory(tmp_path, DATA) / "topic-0"
    for name in (
        "00000000000000000005.log.deleted",
        "00000000000000000006.log.cleaned",
        "7.log",
        "leader-epoch-checkpoint",
    ):
        (partition / name).write_bytes(b"")
    found = list_segments(partition)
    assert [(each.base_offset, each.next_base) for each in found] == [
        (0, 20),
        (20, None),
    ]
    assert sum(each.size for each in found) == len(DATA)
    assert found[0].inode == log_file(tmp_path, 0).stat().st_ino


def test_an_index_points_to_batches(tmp_path: Path) -> None:
    partition = make_directory(tmp_path, DATA) / "topic-0"
    (segment, _) = list_segments(partition)
    index = SegmentIndex(segment)
    positions = [position for position, _ in scan(DATA)]
    assert index.before_offset(3) == Cut(0, 0, 0)
    assert index.before_offset(7) == Cut(positions[2], 4, 6)
    assert index.behind_offset(5) == Cut(positions[4], 8, 10)
    assert index.behind_offset(18) is None
    assert index.within(0, positions[5]) == Cut(positions[4], 8, 10)
    assert index.within(positions[4], positions[5]) is None
    assert index.behind_position(positions[4]) == Cut(positions[6], 12, 14)
    assert index.last() == Cut(positions[8], 16, 18)


def test_without_an_index_there_is_the_beginning(tmp_path: Path) -> None:
    partition = make_directory(tmp_path, DATA) / "topic-0"
    log_file(tmp_path, 20).with_suffix(".index").unlink()
    index = SegmentIndex(list_segments(partition)[1])
    assert index.last() == index.before_offset(39) == Cut(0, 20, 20)
    assert index.behind_offset(20) is None
    assert index.behind_position(0) is None


def test_a_log_that_vanished_has_no_batches(tmp_path: Path) -> None:
    partition = make_directory(tmp_path, DATA) / "topic-0"
    segment = list_segments(partition)[0]
    index = SegmentIndex(segment)
    segment.path.unlink()
    assert index.last() == Cut(0, 0, 0)


def test_side_files_that_are_not_there_are_empty(tmp_path: Path) -> None:
    partition = make_directory(tmp_path, DATA) / "topic-0"
    assert list_quarantined(partition) == []
    assert list_aborted(list_segments(partition)[0]) == []


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_segments(tmp_path / "nothing-0")
