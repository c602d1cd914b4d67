from odradek.protocol.record_batch import read_header, stamp
from odradek.storage.formats.checkpoint import EpochEntry
from odradek.storage.fsck.epoch_check import EpochCheck
from odradek.storage.fsck.known import Known
from odradek.storage.fsck.report import Findings, Severity
from tests.storage.batches import batch

CLEAN = Known(was_clean=True)
ENTRIES = [EpochEntry(0, 0), EpochEntry(3, 20)]


def checked(
    epochs: list[int],
    entries: list[EpochEntry] | None,
    log_start_offset: int = 0,
    known: Known = CLEAN,
) -> list[tuple[Severity, str]]:
    """Batches of ten records, with these epochs."""
    findings = Findings()
    check = EpochCheck(entries, log_start_offset, known, findings)
    for number, epoch in enumerate(epochs):
        data = batch(10 * number, 10)
        stamp(data, 10 * number, epoch)
        check.on_batch(0, read_header(data), memoryview(data))
    check.finish(10 * len(epochs))
    return [(finding.severity, finding.message) for finding in findings]


def test_epochs_that_agree() -> None:
    assert checked([0, 0, 3, 3], ENTRIES) == []
    assert checked([-1, -1], []) == []
    assert checked([0, 0, 0], None) == []  # the file is missing: told elsewhere


def test_batches_of_another_epoch_are_told_once() -> None:
    [(severity, message)] = checked([0, 1, 3], ENTRIES)
    assert severity is Severity.DAMAGE
    assert message == "says epoch 0 at offset 10, where a batch has 1"
    assert len(checked([0, 0, 4, 4, 4], ENTRIES)) == 1
    assert len(checked([0, -(2**31)], ENTRIES)) == 1


def test_no_epoch_from_the_log_start_on() -> None:
    later = [EpochEntry(0, 15)]
    assert checked([0, 0], later, log_start_offset=15) == []
    [(_, message)] = checked([0, 0], later, log_start_offset=5)
    assert message == "says no epoch at offset 0, where a batch has 0"
    assert checked([0, 0], later, known=Known())[0][0] is Severity.NOTE


def test_epochs_behind_the_end() -> None:
    [(severity, message)] = checked([0], ENTRIES)
    assert severity is Severity.DAMAGE
    assert "epoch 3 begins at 20, behind the end" in message
    assert checked([0], ENTRIES, known=Known())[0][0] is Severity.NOTE


def test_epochs_that_do_not_increase() -> None:
    [(_, message)] = checked([0, 0], [EpochEntry(0, 0), EpochEntry(0, 20)])[:1]
    assert "follows epoch 0" in message
