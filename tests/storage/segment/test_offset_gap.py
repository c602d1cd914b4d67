from weakref import ref

import pytest

from odradek.protocol.record_batch import read_header
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.segment.offset_gap import is_gap_before
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.files import FakeFiles
from tests.storage.batches import append, batch, new_segment, reopened

LOG = "00000000000000000000.log"
SIZE = len(batch(0))


def compacted(files: FakeFiles, offsets: list[int]) -> LogSegment:
    segment = new_segment(files, index_interval_bytes=10_000)
    for offset in offsets:
        append(segment, batch(offset))
    segment.close()
    again = reopened(segment)
    again.indexes.has_gaps = True
    return again


def is_gap(segment: LogSegment, place: int, expected_offset: int) -> bool:
    header = read_header(segment.log.read_at(place * SIZE, SIZE))
    return is_gap_before(segment.reader, place * SIZE, header, expected_offset, True)


def test_a_gap_is_one_unless_what_follows_contradicts_it() -> None:
    files = FakeFiles()
    segment = compacted(files, list(range(0, 60, 3)))
    assert is_gap(segment, 1, 1)
    assert is_gap(segment, 19, 55)
    files.flip(LOG, 5 * SIZE + 7, bit=5)  # 15 becomes 47
    assert not is_gap(segment, 5, 13)
    assert is_gap(segment, 6, 13)


def test_neighbours_that_are_wrong_together_do_not_confirm_each_other() -> None:
    files = FakeFiles()
    segment = compacted(files, list(range(0, 60, 3)))
    for place in (5, 6):
        files.flip(LOG, place * SIZE + 6)  # 256 more
    assert not is_gap(segment, 5, 13)


class Log:
    """One that ends at 60."""

    end = OffsetMetadata(60)


@pytest.mark.parametrize("has_gaps", [False, True])
def test_neighbours_beyond_the_end_do_not_confirm_each_other(has_gaps: bool) -> None:
    """51 becomes 115, 54 becomes 182, and between them and 57 nothing can be read."""
    files, log = FakeFiles(), Log()
    offsets = [*range(0, 54, 3), 54, 56, 57]
    segment = compacted(files, offsets)
    segment.indexes.has_gaps = has_gaps
    segment.reader.end.follow(ref(log))
    files.flip(LOG, 17 * SIZE + 7, bit=6)
    files.flip(LOG, 18 * SIZE + 7, bit=7)
    files.flip(LOG, 19 * SIZE + 16)
    assert not is_gap(segment, 17, 49)
