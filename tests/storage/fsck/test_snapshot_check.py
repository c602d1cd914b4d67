from pathlib import Path

from odradek.storage.formats.producer_entry import ProducerEntry, pack_producers
from odradek.storage.fsck.known import Known
from odradek.storage.fsck.report import Report, Severity
from odradek.storage.fsck.snapshot_check import check_snapshots
from odradek.storage.producers.snapshot import snapshot_path
from tests.fakes.files import FakeFiles

DIRECTORY = Path("/d")
UNKNOWN = Known()


def checked(
    offset: int,
    data: bytes | None,
    known: Known = UNKNOWN,
    log_end_offset: int = 50,
) -> list[tuple[Severity, str, str]]:
    files = FakeFiles()
    if data is not None:
        files.put(snapshot_path(DIRECTORY, offset), data)
    report = Report(DIRECTORY, "partition", log_end_offset=log_end_offset)
    check_snapshots(files, DIRECTORY, [offset], report, known)
    return [(one.severity, one.code, one.message) for one in report.findings]


def snapshot(last_offset: int) -> bytes:
    return pack_producers([ProducerEntry(4, 0, 0, last_offset, 0, 66, -1, -1)])


def test_sound_snapshots() -> None:
    assert checked(9, snapshot(8)) == []
    assert checked(9, pack_producers([])) == []


def test_garbled_ones_are_damage_where_they_were_durable() -> None:
    garbled = b"\xff" * 30
    for known, severity in (
        (Known(), Severity.NOTE),
        (Known(recovery_point=9), Severity.DAMAGE),
        (Known(was_clean=True), Severity.DAMAGE),
    ):
        [found] = checked(9, garbled, known)
        assert found[:2] == (severity, "snapshot")
        assert "version -1" in found[2]


def test_snapshots_that_are_ahead() -> None:
    [(severity, _, message)] = checked(60, snapshot(8))
    assert severity is Severity.NOTE
    assert "behind the end" in message
    [(_, _, message)] = checked(9, snapshot(9))
    assert message == "producer 4 is at offset 9"


def test_one_that_is_gone() -> None:
    assert checked(9, None)[0][1] == "unreadable"
