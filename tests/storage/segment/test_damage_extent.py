import pytest

from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.scan.result import OffsetRepair
from odradek.storage.segment.damage_extent import (
    NoDamage,
    find_extent,
    is_offset_wrong,
)
from odradek.storage.segment.log_segment import LogSegment
from tests.fakes.files import FakeFiles
from tests.storage.batches import append, batch, new_segment, reopened

LOG = "00000000000000000000.log"
COUNT = 40
SIZE = len(batch(0))


def sealed(files: FakeFiles) -> LogSegment:
    segment = new_segment(files, index_interval_bytes=400)
    for number in range(COUNT):
        append(segment, batch(number))
    segment.close()
    return segment


def extent(
    files: FakeFiles, segment: LogSegment, position: int, *known: QuarantineEntry
) -> QuarantineEntry:
    found = find_extent(reopened(segment).reader, position, COUNT, known)
    assert isinstance(found, QuarantineEntry)
    return found


def places(*numbers: int) -> tuple[int, int, int, int, int]:
    """The fields of an entry for these batches, up to the reason."""
    first, last = numbers[0], numbers[-1]
    return 0, first * SIZE, (last + 1) * SIZE, first, last


@pytest.mark.parametrize("number", [0, 1, 20, COUNT - 1])
@pytest.mark.parametrize("further", [0, 5, 2 * SIZE, 100_000])
def test_one_damaged_batch(number: int, further: int) -> None:
    """The reader stumbled there, or further on."""
    files = FakeFiles()
    segment = sealed(files)
    files.flip(LOG, number * SIZE + 65)
    found = extent(files, segment, number * SIZE + further)
    assert found[:5] == places(number)
    assert found.reason == "the checksum is wrong"


def test_neighbours_are_one_range() -> None:
    files = FakeFiles()
    segment = sealed(files)
    for number in (7, 8, 9):
        files.flip(LOG, number * SIZE + 65)
    assert extent(files, segment, 7 * SIZE)[:5] == places(7, 8, 9)


def test_known_damage_is_not_meant() -> None:
    files = FakeFiles()
    segment = sealed(files)
    for number in (7, 12):
        files.flip(LOG, number * SIZE + 65)
    known = QuarantineEntry(*places(7), "known")
    assert extent(files, segment, 12 * SIZE, known)[:5] == places(12)


def test_offset_above_the_next_segment_is_to_be_put_right() -> None:
    files = FakeFiles()
    segment = sealed(files)
    files.flip(LOG, (COUNT - 1) * SIZE + 4)
    found = find_extent(reopened(segment).reader, (COUNT - 1) * SIZE, COUNT, ())
    assert isinstance(found, OffsetRepair)
    assert (found.position, found.base_offset) == ((COUNT - 1) * SIZE, COUNT - 1)


def test_epoch_is_that_of_the_log_before() -> None:
    files = FakeFiles()
    segment = sealed(files)
    for number, epoch in ((10, 3), (11, 9), (12, 4)):
        files.flip(LOG, number * SIZE + 15, bit=0)
        content = bytearray(files.content(LOG))
        content[number * SIZE + 12 : number * SIZE + 16] = epoch.to_bytes(4, "big")
        files.put(segment.log.path, bytes(content))
    files.flip(LOG, 11 * SIZE + 65)
    assert extent(files, segment, 11 * SIZE).leader_epoch == 3


def test_damaged_index_does_not_matter() -> None:
    files = FakeFiles()
    segment = sealed(files)
    files.flip(LOG, 20 * SIZE + 65)
    files.put(segment.indexes.offsets.path, b"\x5a" * 16)
    assert extent(files, segment, 20 * SIZE)[:5] == places(20)


@pytest.mark.parametrize("position", [0, 20 * SIZE, 20 * SIZE + 5])
def test_no_sound_batch_is_ever_the_damage(position: int) -> None:
    """Whatever a reader says of it: its records may have been acknowledged."""
    files = FakeFiles()
    with pytest.raises(NoDamage):
        extent(files, sealed(files), position)


def test_an_index_that_is_wrong_is_told_from_an_offset_that_is() -> None:
    files = FakeFiles()
    segment = sealed(files)
    assert not is_offset_wrong(reopened(segment).reader, 20 * SIZE)
    files.flip(LOG, 20 * SIZE + 7)
    assert is_offset_wrong(reopened(segment).reader, 20 * SIZE)
    files.flip(LOG, 20 * SIZE + 65)
    assert not is_offset_wrong(reopened(segment).reader, 20 * SIZE)  # it is no batch
    assert not is_offset_wrong(reopened(segment).reader, 21 * SIZE)
