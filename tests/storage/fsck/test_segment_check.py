from pathlib import Path

from odradek.protocol.record_batch import restamp_crc
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.fsck.known import Known
from odradek.storage.fsck.report import Finding, Report, Severity
from odradek.storage.fsck.segment_check import Segment, SegmentCheck, SegmentEnd
from odradek.storage.fsck.watcher import Watcher
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch

PATH = Path("/d/00000000000000000000.log")
SIZE = len(batch(0, 2))
UNKNOWN = Known()
ALONE = Segment(0, None)


def checked(
    data: bytes | bytearray,
    segment: Segment = ALONE,
    known: Known = UNKNOWN,
    watcher: Watcher | None = None,
) -> tuple[SegmentEnd, list[Finding], Report]:
    files = FakeFiles()
    files.put(PATH, bytes(data))
    report = Report(PATH.parent, "partition")
    check = SegmentCheck(known, report, reads_records=True)
    end = check.run(files.open(PATH), segment, [watcher] if watcher else [])
    return end, list(report.findings), report


def batches(*base_offsets: int) -> bytearray:
    return bytearray().join(batch(offset, 2) for offset in base_offsets)


def test_a_sound_segment_is_summed_up() -> None:
    end, findings, report = checked(batches(0, 2, 4))
    assert end == SegmentEnd(6, ends_in_damage=False, looks_compacted=False)
    assert findings == []
    assert (report.segments, report.size, report.batches, report.records) == (
        1,
        3 * SIZE,
        3,
        6,
    )


def test_gaps_look_compacted() -> None:
    assert checked(batches(0, 4))[0].looks_compacted
    assert checked(batches(2))[0].looks_compacted


def test_damage_inside_is_seen_by_all_who_watch() -> None:
    seen: list[tuple[str, int, int]] = []

    class Watching(Watcher):
        def on_damage(self, position: int, end: int) -> None:
            seen.append(("damage", position, end))

        def on_end(self, valid_end: int, next_offset: int) -> None:
            seen.append(("end", valid_end, next_offset))

    data = batches(0, 2, 4)
    data[SIZE + 70] ^= 1
    end, [finding], _ = checked(data, watcher=Watching())
    assert (finding.code, finding.severity) == ("batch", Severity.DAMAGE)
    assert finding.place == (SIZE, 2 * SIZE, 2, 3)
    assert not end.looks_compacted
    assert seen == [("damage", SIZE, 2 * SIZE), ("end", 3 * SIZE, 6)]


def test_what_is_quarantined_is_not_told_again() -> None:
    data = batches(0, 2, 4)
    data[SIZE + 70] ^= 1
    known = QuarantineEntry(0, SIZE, 2 * SIZE, 2, 3, "seen before")
    assert checked(data, Segment(0, None, [known]))[1] == []
    data = batches(0, 2)
    data[SIZE + 70] ^= 1
    assert checked(data, Segment(0, None, [known]))[1] == []


def test_a_tail_is_torn_or_damage() -> None:
    torn = batches(0, 2)[:-3]
    for known, severity in (
        (Known(), Severity.NOTE),
        (Known(recovery_point=2), Severity.NOTE),
        (Known(recovery_point=3), Severity.DAMAGE),
        (Known(was_clean=True), Severity.DAMAGE),
    ):
        end, [finding], _ = checked(torn, known=known)
        assert (finding.code, finding.severity) == ("torn-tail", severity)
        assert (end.next_offset, end.ends_in_damage) == (2, True)
    [finding] = checked(batches(0) + bytes(90))[1]
    assert (finding.code, finding.severity) == ("zero-tail", Severity.NOTE)
    [finding] = checked(torn, Segment(0, 100))[1]
    assert (finding.code, finding.severity) == ("batch", Severity.DAMAGE)


def test_a_segment_that_goes_on_into_the_next() -> None:
    assert checked(batches(0, 2), Segment(0, 4))[1] == []
    [finding] = checked(batches(0, 2), Segment(0, 3))[1]
    assert finding.code == "overlap"


def test_records_that_cannot_be_read() -> None:
    data = batch(0)
    data[61] = 0x7F
    restamp_crc(data)
    [finding] = checked(data)[1]
    assert finding.code == "records"


def test_zeros_behind_a_whole_segment_are_no_damage() -> None:
    """It was sealed just before the power went, and its cut was lost."""
    data = batches(0, 2) + bytes(300)
    end, [finding], _ = checked(data, Segment(0, 4))
    assert (finding.code, finding.severity) == ("zero-tail", Severity.NOTE)
    assert end.next_offset == 4
    end, [finding], _ = checked(data, Segment(0, 5))
    assert finding.severity == Severity.DAMAGE
    end, [finding], _ = checked(data, Segment(0, 4), Known(was_clean=True))
    assert finding.severity == Severity.DAMAGE
