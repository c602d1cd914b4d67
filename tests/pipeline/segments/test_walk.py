import os
import pickle
from pathlib import Path

import pytest

from odradek.pipeline.records.damage import Damage
from odradek.pipeline.records.sound_batches import WINDOW_SIZE
from odradek.pipeline.segments.planning import SegmentRange, plan_segments
from odradek.pipeline.segments.walk import SegmentGone, open_segment, walk_segment
from tests.pipeline.log_directories import (
    log_file,
    make_directory,
    small_batches,
    wanted,
)

DATA = small_batches(30)


def piece_of(root: Path, start: int = 0, end: int = 60) -> SegmentRange:
    (piece,) = plan_segments(root, wanted(start, end))
    return piece


def offsets(piece: SegmentRange) -> list[int]:
    found: list[int] = []
    for each in walk_segment(piece):
        assert not isinstance(each, Damage)
        found += each.base_offsets.tolist()
    return found


def test_a_piece_is_walked_with_a_small_buffer(tmp_path: Path) -> None:
    data = small_batches(60, size=100_000)
    assert len(data) > 2.5 * WINDOW_SIZE
    root = make_directory(tmp_path, data, segment_batches=100)
    assert offsets(piece_of(root, end=120)) == list(range(0, 120, 2))


def test_a_walk_stops_behind_the_wanted_offsets(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA, segment_batches=100)
    piece = piece_of(root)._replace(end=1)
    assert len(list(walk_segment(piece))) == 1


def test_another_file_of_that_name_is_not_read(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA, segment_batches=100)
    piece = piece_of(root)
    path = log_file(root, 0)
    path.rename(tmp_path / "elsewhere")
    path.write_bytes(DATA)
    with pytest.raises(SegmentGone, match="no longer there"):
        offsets(piece)


def test_no_file_stays_open(tmp_path: Path) -> None:
    root = make_directory(tmp_path, DATA, segment_batches=100)
    piece = piece_of(root)
    before = os.listdir("/proc/self/fd")
    for _ in walk_segment(piece):
        break
    with open_segment(piece):
        pass
    assert os.listdir("/proc/self/fd") == before


def test_pieces_travel_to_executors(tmp_path: Path) -> None:
    piece = piece_of(make_directory(tmp_path, DATA, segment_batches=100))
    assert pickle.loads(pickle.dumps(piece)) == piece


def test_a_far_too_long_length_does_not_take_memory(tmp_path: Path) -> None:
    data = bytearray(small_batches(30, size=100_000))
    data[8] = 0x7F
    root = make_directory(tmp_path, small_batches(30, size=100_000))
    log_file(root, 0).write_bytes(data[: log_file(root, 0).stat().st_size])
    first = next(iter(walk_segment(plan_segments(root, wanted(0))[0])))
    assert isinstance(first, Damage)
    assert "a length of" in first.reason
