from pathlib import Path

from odradek.protocol.record_batch import read_header
from odradek.storage.formats.index_entry import INDEX_ENTRY, TIME_INDEX_ENTRY
from odradek.storage.fsck.index_check import OffsetIndexCheck, TimeIndexCheck
from odradek.storage.fsck.report import Findings, Severity
from odradek.storage.fsck.watcher import Watcher
from tests.fakes.files import FakeFiles
from tests.storage.batches import batch

PATH = Path("/d/index")
SIZE = len(batch(0, 2))
BASE = 100


def walked(watcher: Watcher, damaged: int | None = None) -> None:
    """Five batches of two records, of which one may be damaged; 10 ms apart."""
    for number in range(5):
        if number == damaged:
            watcher.on_damage(number * SIZE, (number + 1) * SIZE)
            continue
        data = batch(BASE + 2 * number, 2, timestamp=1000 + 10 * number)
        watcher.on_batch(number * SIZE, read_header(data), memoryview(data))
    watcher.on_end(5 * SIZE, BASE + 10)


def offsets(
    *entries: tuple[int, int], damaged: int | None = None, rest: bytes = b""
) -> list[tuple[Severity, str]]:
    files, findings = FakeFiles(), Findings()
    files.put(PATH, b"".join(INDEX_ENTRY.pack(*entry) for entry in entries) + rest)
    check = OffsetIndexCheck(
        files.open(PATH), BASE, is_durable=False, findings=findings
    )
    walked(check, damaged)
    return [(finding.severity, finding.message) for finding in findings]


def times(
    *entries: tuple[int, int], damaged: int | None = None, is_sealed: bool = True
) -> list[tuple[Severity, str]]:
    files, findings = FakeFiles(), Findings()
    data = b"".join(TIME_INDEX_ENTRY.pack(*entry) for entry in entries)
    files.put(PATH, data)
    check = TimeIndexCheck(files.open(PATH), BASE, is_sealed, findings)
    walked(check, damaged)
    return [(finding.severity, finding.message) for finding in findings]


def test_entries_that_name_batches() -> None:
    assert offsets((3, SIZE), (7, 3 * SIZE)) == []
    assert offsets((3, SIZE), rest=bytes(16)) == []  # preallocated
    assert offsets() == []


def test_entries_that_do_not() -> None:
    [(severity, message)] = offsets((3, SIZE), (7, 3 * SIZE + 1), (9, 4 * SIZE))
    assert severity is Severity.DAMAGE
    assert message == f"no batch begins at {3 * SIZE + 1}"
    [(_, message)] = offsets((4, SIZE))
    assert "says offset 104" in message
    assert "ends at 103" in message
    [(severity, message)] = offsets((20, 9 * SIZE))
    assert severity is Severity.NOTE
    assert "behind the last valid batch" in message
    [(_, message)] = offsets((3, SIZE), rest=b"abc")
    assert message == "the last 3 bytes are not a whole entry"
    assert len(offsets((7, 3 * SIZE), (3, SIZE))) == 1


def test_entries_of_damaged_batches_are_passed_over() -> None:
    assert offsets((3, SIZE), (7, 3 * SIZE), damaged=1) == []
    assert offsets((9, 4 * SIZE), damaged=4) == []


def test_times_that_are_the_largest_so_far() -> None:
    assert times((1011, 3), (1041, 9)) == []
    assert times((1011, 3), is_sealed=False) == []


def test_times_that_are_not() -> None:
    for timestamp in (1010, 1012):
        [(severity, message)] = times((timestamp, 3), (1041, 9))
        assert severity is Severity.DAMAGE
        assert message.endswith("for offset 103, up to which the largest is 1011")
    [(_, message)] = times((1011, 3))
    assert message == "ends at timestamp 1011, the segment at 1041"
    assert times((1041, 9), (1041, 9))[0][1] == "timestamp 1041 follows 1041"
    [(severity, _)] = times((1041, 9), (2000, 99), is_sealed=False)
    assert severity is Severity.NOTE


def test_times_of_damaged_batches_are_passed_over() -> None:
    assert times((1011, 3), (1021, 5), (1041, 9), damaged=2) == []
    assert times((1021, 5), damaged=4) == []
