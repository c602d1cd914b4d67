from odradek.storage.cleaner.grouping import group_segments
from odradek.storage.cleaner.plan import SourceSegment
from odradek.storage.formats.index_entry import RELATIVE_OFFSET_MAX
from odradek.storage.values.log_config import LogConfig

CONFIG = LogConfig(segment_bytes=100, segment_index_bytes=50)


def grouped(*segments: SourceSegment) -> list[list[int]]:
    groups = group_segments(segments, CONFIG)
    return [[each.base_offset for each in group] for group in groups]


def segment(base: int, size: int = 10, index: int = 8, time: int = 12) -> SourceSegment:
    return SourceSegment(base, base + 10, size, False, index, time)


def test_t119_grouping_by_size_index_and_offset_span() -> None:
    assert grouped(*(segment(10 * n, size=40) for n in range(5))) == [
        [0, 10],
        [20, 30],
        [40],
    ]
    assert grouped(*(segment(10 * n, index=25) for n in range(3))) == [[0, 10], [20]]
    assert grouped(*(segment(10 * n, time=50) for n in range(2))) == [[0], [10]]
    far = SourceSegment(10, RELATIVE_OFFSET_MAX + 1, 10)
    assert grouped(segment(0), far) == [[0, 10]]
    too_far = far._replace(end_offset=RELATIVE_OFFSET_MAX + 2)
    assert grouped(segment(0), too_far) == [[0], [10]]


def test_one_that_is_too_large_is_alone() -> None:
    assert grouped(segment(0, size=500), segment(10)) == [[0], [10]]
    assert grouped() == []


def test_damage_is_left_alone() -> None:
    damaged = segment(10)._replace(has_damage=True)
    assert grouped(segment(0), damaged, segment(20), segment(30)) == [
        [0],
        [10],
        [20, 30],
    ]
