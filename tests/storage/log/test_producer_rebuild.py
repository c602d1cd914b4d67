"""The producers of a truncated log, from a snapshot and from what follows it."""

from odradek.protocol.control_records import ControlType
from odradek.storage.formats.quarantine_entry import QuarantineEntry
from odradek.storage.log.producer_rebuild import rebuild_producers
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.producers.snapshot import list_snapshots
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    Producer,
    files_of,
    filled,
    marker,
    new_log,
    produce,
    producers,
)


def rebuilt(log: UnifiedLog, log_start: int = 0) -> dict[int, tuple[int, int, int]]:
    """The producers at the log end, as if that had been reached by a truncation."""
    log.producers.map_end_offset = log.log_end_offset + 1
    rebuild_producers(log.local, log.producers, log_start, NOW)
    assert log.producers.map_end_offset == log.log_end_offset
    return producers(log)


def test_with_snapshots_and_without_them_they_are_the_same() -> None:
    log = filled()
    expected = producers(log)
    assert rebuilt(log) == expected
    assert len(list_snapshots(files_of(log), DIRECTORY)) > 1
    for path in files_of(log).paths():
        if path.suffix == ".snapshot":
            log.local.files.unlink(path)
    assert rebuilt(log) == expected


def test_open_and_ended_transactions() -> None:
    log = new_log()
    produce(log, 3, producer=Producer(8, 0, 0), is_transactional=True)
    produce(log, 3, producer=Producer(7, 0, 0), is_transactional=True)
    marker(log, ControlType.ABORT)
    entries = list(log.local.active.transactions.entries())
    assert rebuilt(log) == {8: (0, 2, 2), 7: (0, 2, 5)}
    assert log.producers.first_unstable_offset == 0
    assert list(log.local.active.transactions.entries()) == entries != []


def test_snapshots_outside_of_the_log_go() -> None:
    log = filled()
    files, end = log.local.files, log.log_end_offset
    for offset in (10, end + 1):
        file = files.open(DIRECTORY / f"{offset:020d}.snapshot", create=True)
        file.append(log.producers.encode())
    rebuilt(log, log_start=10)
    left = list_snapshots(files_of(log), DIRECTORY)
    assert left
    assert 10 < left[0] <= left[-1] <= end


def test_what_is_damaged_is_not_believed() -> None:
    log = new_log(segment_bytes=100_000)
    for sequence in range(3):
        produce(log, 1, producer=Producer(7, 0, sequence))
    produce(log, 1, producer=Producer(9, 0, 0))
    size = log.size // 4
    files_of(log).flip("00000000000000000000.log", 3 * size + 70)
    log.quarantine.add(QuarantineEntry(0, 3 * size, 4 * size, 3, 3, "test"))
    log.local.active.reader.quarantined = log.quarantine.of_segment(0)
    assert rebuilt(log) == {7: (0, 2, 2)}
