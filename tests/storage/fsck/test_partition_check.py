from pathlib import Path

from odradek.storage.files.file_system import File
from odradek.storage.formats.quarantine_entry import QuarantineEntry, format_quarantine
from odradek.storage.fsck.known import Known
from odradek.storage.fsck.partition_check import PartitionCheck
from odradek.storage.fsck.report import Report, Severity
from tests.fakes.files import FakeFiles
from tests.storage.fsck.golden import GOLDEN, ROOT, codes, loaded, messages

DIRECTORY = ROOT / "tt-0"
CASE = "flip-active-middle"
UNKNOWN = Known()


def checked(
    files: FakeFiles,
    known: Known = UNKNOWN,
    directory: Path = DIRECTORY,
) -> list[Report]:
    return [PartitionCheck(files, directory, known, reads_records=False).run()]


def test_quarantined_ranges_count_and_are_told_once() -> None:
    files = loaded(CASE)
    assert codes(checked(files)) == {"batch"}
    entry = QuarantineEntry(108, 1700, 2040, 123, 125, "does not match its checksum")
    files.put(DIRECTORY / "quarantine", format_quarantine([entry]).encode())
    found = checked(files)
    assert codes(found, Severity.DAMAGE) == {"quarantined"}
    [finding] = found[0].findings
    assert finding.place == (1700, 2040, 123, 125)


def test_offsets_that_were_given_up_are_part_of_the_log() -> None:
    files = loaded("torn-tail-cut-half")
    entry = QuarantineEntry(108, 3060, 3137, 135, 135, "was cut")
    files.put(DIRECTORY / "quarantine", format_quarantine([entry]).encode())
    found = checked(files, Known(recovery_point=136))
    assert codes(found) == {"quarantined"}
    assert found[0].log_end_offset == 136


def test_a_quarantine_that_cannot_be_read() -> None:
    files = loaded("plain-size-roll")
    files.put(ROOT / "plain-0" / "quarantine", b"0\n1\nnonsense\n")
    assert codes(checked(files, directory=ROOT / "plain-0")) == {"quarantine"}


def test_identity() -> None:
    files = loaded("plain-size-roll")
    directory = ROOT / "plain-0"
    other = Known(topic_id=bytes(range(16)))
    assert codes(checked(files, other, directory), Severity.DAMAGE) == {"identity"}
    files.put(directory / "partition.metadata", b"\xff\xfe")
    assert codes(checked(files, directory=directory)) == {"identity"}
    files.unlink(directory / "partition.metadata")
    assert "partition.metadata: is missing" in messages(
        checked(files, directory=directory)
    )


def test_an_empty_directory_is_no_damage_unless_something_was_there() -> None:
    files = FakeFiles()
    files.mkdir(DIRECTORY)
    assert codes(checked(files), Severity.DAMAGE) == set()
    known = Known(recovery_point=5, high_watermark=5, log_start_offset=3)
    assert codes(checked(files, known), Severity.DAMAGE) == {
        "recovery-point",
        "log-start",
        "epochs",
    }


def test_files_that_cannot_be_read_are_told() -> None:
    assert codes(checked(FakeFiles())) == {"unreadable"}
    directory = ROOT / "plain-0"
    for nth in range(1, 40):
        files = loaded("plain-size-roll")
        files.fail(nth=nth)
        found = checked(files, directory=directory)
        assert codes(found, Severity.DAMAGE) or files.counts.total() < nth, nth


def test_a_segment_that_is_deleted_meanwhile_is_noted() -> None:
    class Deleting(FakeFiles):
        def open(self, path: Path, *, create: bool = False) -> File:
            if path.name == f"{0:020d}.log":
                self.unlink(path)
            return super().open(path, create=create)

    files = Deleting()
    files.copy_in(GOLDEN / "plain-size-roll" / "log-dir", ROOT)
    found = checked(files, directory=ROOT / "plain-0")
    assert codes(found) == {"gone"}
