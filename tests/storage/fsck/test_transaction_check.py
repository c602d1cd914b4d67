from pathlib import Path

from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import read_header, restamp_crc
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.formats.transaction_entry import (
    TransactionEntry,
    pack_transaction_entry,
)
from odradek.storage.fsck.known import Known
from odradek.storage.fsck.report import Findings, Severity
from odradek.storage.fsck.transaction_check import TransactionCheck
from tests.fakes.files import FakeFiles

PATH = Path("/d/00000000000000000000.txnindex")
CLEAN = Known(was_clean=True)


def data(offset: int) -> bytearray:
    return build_batch(
        [NewRecord(b"k", b"v", 5)],
        base_offset=offset,
        producer_id=7,
        producer_epoch=0,
        base_sequence=offset,
        is_transactional=True,
    )


def end(offset: int, kind: ControlType = ControlType.ABORT) -> bytearray:
    return build_marker_batch(EndTxnMarker(kind, 0), 7, 0, 5, offset)


def checked(
    batches: list[bytearray],
    *entries: TransactionEntry,
    known: Known = CLEAN,
    damaged_before: int = -1,
) -> list[tuple[Severity, str]]:
    files, findings = FakeFiles(), Findings()
    files.put(PATH, b"".join(map(pack_transaction_entry, entries)))
    check = TransactionCheck(known, findings)
    check.begin(PATH.name, files.open(PATH) if entries else None)
    for number, batch in enumerate(batches):
        if number == damaged_before:
            check.on_damage(0, 1)
        check.on_batch(0, read_header(batch), memoryview(batch))
    check.on_end(0, 0)
    return [(finding.severity, finding.message) for finding in findings]


ABORTED = TransactionEntry(7, 0, 2, 3)


def test_aborted_transactions_have_their_entries() -> None:
    assert checked([data(0), data(1), end(2)], ABORTED) == []
    assert checked([data(0), data(1), end(2, ControlType.COMMIT)]) == []
    assert checked([end(0)]) == []  # its data are not there any more


def test_an_entry_that_is_missing() -> None:
    [(severity, message)] = checked([data(0), data(1), end(2)])
    assert severity is Severity.DAMAGE
    assert message == "no entry for the aborted transaction of producer 7"
    [(severity, _)] = checked([data(0), end(1)], known=Known(recovery_point=1))
    assert severity is Severity.NOTE  # the next start writes it


def test_an_entry_that_says_something_else() -> None:
    [(_, message)] = checked(
        [data(0), data(1), end(2)], ABORTED._replace(first_offset=1)
    )
    assert message.endswith("began at 1, in the log it is 0")
    batches = [data(0), data(1), end(2, ControlType.COMMIT)]
    [(_, message)] = checked(batches, ABORTED)
    assert message == "producer 7 aborted nothing at 2"


def test_behind_damage_less_is_known() -> None:
    assert checked([data(0), end(2)], ABORTED, damaged_before=1) == []
    assert checked([data(3), end(4)], ABORTED, damaged_before=1) == []


def test_a_control_batch_that_cannot_be_read() -> None:
    broken = end(1)
    broken[61] = 0x7F
    restamp_crc(broken)
    [(_, message)] = checked([data(0), broken])
    assert message.startswith("a control batch cannot be read")
