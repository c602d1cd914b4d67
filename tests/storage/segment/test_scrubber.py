import pytest

from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.segment.log_segment import LogSegment
from odradek.storage.segment.scrubber import ScrubPlan, SegmentScrub
from tests.fakes.files import FakeFiles
from tests.storage.batches import DIRECTORY, append, batch, new_segment

LOG = "00000000000000000000.log"
INDEX = "00000000000000000000.index"
TIME_INDEX = "00000000000000000000.timeindex"
COUNT = 20


@pytest.fixture
def files() -> FakeFiles:
    return FakeFiles()


@pytest.fixture
def segment(files: FakeFiles) -> LogSegment:
    """Twenty sealed batches; the largest timestamp is not the last."""
    segment = new_segment(files, index_interval_bytes=250)
    for number in range(COUNT):
        timestamp = 9000 if number == 12 else 1000 + number
        append(segment, batch(number, timestamp=timestamp))
    segment.close()
    return segment


def scrubbed(segment: LogSegment, *known: QuarantineEntry) -> SegmentScrub:
    plan = ScrubPlan(DIRECTORY, 0, COUNT, segment.size, known)
    scrub = SegmentScrub(segment.files, plan)
    assert scrub.run(1 << 30)
    return scrub


def findings(segment: LogSegment, *known: QuarantineEntry) -> tuple[list[int], bool]:
    """Where damage begins, and whether the indexes are wrong."""
    scrub = scrubbed(segment, *known)
    return scrub.damaged, bool(scrub.index_fault)


def test_sound_segment_is_read_to_its_end(segment: LogSegment) -> None:
    scrub = scrubbed(segment)
    assert (scrub.damaged, scrub.index_fault) == ([], "")
    assert scrub.bytes_read == segment.size


def test_it_is_read_in_pieces(segment: LogSegment) -> None:
    scrub = SegmentScrub(segment.files, ScrubPlan(DIRECTORY, 0, COUNT, segment.size))
    sizes = []
    while not scrub.run(150):
        sizes.append(scrub.bytes_read)
    size = segment.size // COUNT
    assert sizes == [n * size for n in range(3, COUNT, 3)]
    assert scrub.bytes_read == segment.size


def test_every_flipped_byte_is_found(segment: LogSegment, files: FakeFiles) -> None:
    size = segment.size // COUNT
    leader_epoch = range(12, 16)  # neither the checksum nor a neighbour knows it
    for at in range(segment.size):
        if at % size in leader_epoch:
            continue
        files.flip(LOG, at, bit=3)
        damaged, _ = findings(segment)
        assert damaged == [at // size * size], at
        files.flip(LOG, at, bit=3)
    assert findings(segment) == ([], False)


@pytest.mark.parametrize("has_gaps", [False, True])
def test_neighbours_that_are_wrong_together_are_found(
    segment: LogSegment, files: FakeFiles, has_gaps: bool
) -> None:
    """18 and 19 say 50 and 83, which contradict neither each other nor the rest."""
    size = segment.size // COUNT
    files.flip(LOG, 18 * size + 7, bit=5)
    files.flip(LOG, 19 * size + 7, bit=6)
    plan = ScrubPlan(DIRECTORY, 0, COUNT, segment.size, (), has_gaps)
    scrub = SegmentScrub(files, plan)
    assert scrub.run(1 << 30)
    assert scrub.damaged == ([18 * size] if has_gaps else [18 * size, 19 * size])


def test_an_offset_that_can_be_put_right_is_found(
    segment: LogSegment, files: FakeFiles
) -> None:
    size = segment.size // COUNT
    files.flip(LOG, 5 * size + 7, bit=1)
    plan = ScrubPlan(DIRECTORY, 0, COUNT, segment.size, (), has_gaps=False)
    scrub = SegmentScrub(files, plan)
    assert scrub.run(1 << 30)
    assert scrub.damaged == [5 * size]
    known = QuarantineEntry(0, 5 * size, 6 * size, 5, 5, "known")
    scrub = SegmentScrub(files, plan._replace(known=[known]))
    assert scrub.run(1 << 30)
    assert scrub.damaged == []


def test_known_damage_is_not_found_again(segment: LogSegment, files: FakeFiles) -> None:
    size = segment.size // COUNT
    files.flip(LOG, 3 * size + 62)
    known = QuarantineEntry(0, 3 * size, 4 * size, 3, 3, "known")
    assert findings(segment, known) == ([], False)
    files.flip(LOG, 7 * size + 62)
    assert findings(segment, known) == ([7 * size], False)


@pytest.mark.parametrize("name", [INDEX, TIME_INDEX])
def test_every_flipped_bit_of_an_index_is_found(
    segment: LogSegment, files: FakeFiles, name: str
) -> None:
    for bit in range(8 * len(files.content(name))):
        files.flip(name, bit // 8, bit % 8)
        assert findings(segment) == ([], True), bit
        files.flip(name, bit // 8, bit % 8)


@pytest.mark.parametrize("name", [INDEX, TIME_INDEX])
def test_missing_index_is_found(
    segment: LogSegment, files: FakeFiles, name: str
) -> None:
    files.unlink(DIRECTORY / name)
    assert findings(segment) == ([], True)


def test_every_cut_of_the_time_index_is_found(
    segment: LogSegment, files: FakeFiles
) -> None:
    whole = files.content(TIME_INDEX)
    for size in range(len(whole)):
        files.put(DIRECTORY / TIME_INDEX, whole[:size])
        assert findings(segment) == ([], True), size


def test_preallocated_indexes_are_right(segment: LogSegment, files: FakeFiles) -> None:
    files.extend(INDEX, bytes(80))
    files.extend(TIME_INDEX, bytes(120))
    assert findings(segment) == ([], False)


def test_segment_that_is_gone_is_done(segment: LogSegment, files: FakeFiles) -> None:
    for name in (LOG, INDEX, TIME_INDEX):
        files.unlink(DIRECTORY / name)
    assert findings(segment) == ([], False)
