"""The copy of a log in another directory follows what happens to the log."""

from pathlib import Path

import pytest

from odradek.protocol.control_records import ControlType
from odradek.storage.directory.future_log import FutureLog
from odradek.storage.files.files import Files
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.opening.loader import Checkpointed, Surroundings, load_log
from odradek.storage.producers.snapshot import list_snapshots
from odradek.storage.values.file_names import DELETED, is_segment_file
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    PARTITION,
    TOPIC_ID,
    Producer,
    marker,
    new_log,
    produce,
    read_all,
    sync,
)

TARGET = Path("/other/topic-0.0123456789abcdef0123456789abcdef-future")
ALL = 1 << 30


def future_of(log: UnifiedLog) -> FutureLog:
    files = log.local.files
    files.mkdir(TARGET.parent)
    files.sync_directory(Path("/"))
    future = FutureLog(files, log, TARGET)
    future.create()
    return future


def filled(files: FakeFiles | None = None, rounds: int = 12) -> UnifiedLog:
    log = new_log(files or FakeFiles(), segment_bytes=600, index_interval_bytes=100)
    for number in range(rounds):
        produce(log, 2)
        transactional = Producer(7, 0, number)
        produce(log, 1, producer=transactional, is_transactional=True)
        marker(log, ControlType.ABORT if number % 3 else ControlType.COMMIT)
    sync(log)
    log.visibility.raise_to(log.end_metadata)
    return log


def contents(files: Files, directory: Path) -> dict[str, bytes]:
    """The files of segments; indexes of the active one may not be written yet."""
    return {
        name: files.read_bytes(directory / name)
        for name in files.listdir(directory)
        if is_segment_file(name) and not name.endswith(DELETED)
    }


def check_same(log: UnifiedLog, future: FutureLog) -> None:
    """The copy holds what the log holds, byte by byte, and is opened as a log."""
    files = log.local.files
    while not future.copy(future.plan(), ALL):
        pass
    future.write(future.texts())
    log.local.active.flush_indexes()
    assert contents(files, TARGET) == contents(files, log.directory)
    assert (future.size, future.end_offset) == (log.size, log.log_end_offset)
    copy = load_log(
        PARTITION,
        TOPIC_ID,
        TARGET,
        log.config,
        Checkpointed(True, log.recovery_point, log.log_start_offset),
        Surroundings(files, NOW),
    )
    assert read_all(copy) == read_all(log)
    assert list(copy.epochs.entries) == list(log.epochs.entries)
    assert copy.producers.encode() == log.producers.encode()


def test_a_piece_at_a_time_it_becomes_the_same() -> None:
    log = filled()
    future = future_of(log)
    plan = future.plan()
    missing = [future.missing(plan)]
    while not future.copy(plan, 100):
        missing.append(future.missing(plan))
    assert missing[0] == log.size
    assert missing == sorted(missing, reverse=True)
    assert future.missing(plan) == 0
    check_same(log, future)


def test_what_is_appended_meanwhile_is_followed() -> None:
    log = filled(rounds=2)
    future = future_of(log)
    for number in range(30):
        future.copy(future.plan(), 150)
        producer = Producer() if number else Producer(1, 0, 0)
        produce(log, 1 + number % 3, producer=producer)
    check_same(log, future)


def test_segments_that_are_deleted_are_deleted_there_too() -> None:
    log = filled()
    future = future_of(log)
    future.copy(future.plan(), ALL)
    plan = future.plan()
    first = log.local.segments.first
    log.local.remove_segments([first])
    first.delete_files()
    log.increment_log_start(log.local.segments.first.base_offset)
    check_same(log, future)
    # One that goes after it was planned is missed, and planned anew.
    again = FutureLog(log.local.files, log, TARGET.with_name("again-0.x-future"))
    again.create()
    with pytest.raises(FileNotFoundError):
        again.copy(plan, ALL)


def test_a_log_that_is_cut_is_copied_anew() -> None:
    log = filled()
    future = future_of(log)
    plan = future.plan()
    future.copy(plan, ALL)
    log.truncation.truncate_to(log.log_end_offset // 2, NOW)
    assert future.missing(future.plan()) == log.size
    for _ in range(9):
        produce(log, 2, value=b"other")
    check_same(log, future)
    late = FutureLog(log.local.files, log, TARGET.with_name("late-0.x-future"))
    late.create()
    plan = late.plan()
    log.truncation.truncate_to(log.log_end_offset - 1, NOW)
    with pytest.raises(FileNotFoundError):
        late.copy(plan, ALL)


def test_of_a_log_that_is_cut_no_later_producers_are_kept() -> None:
    """Else a start, or a later cut, would go on with what they were in the end."""
    log = filled()
    future = future_of(log)
    future.copy(future.plan(), ALL)
    future.sync()
    files, target = log.local.files, future.directory
    copied = list_snapshots(files, target)
    assert copied == list_snapshots(files, log.directory)
    log.truncation.truncate_to(max(copied) - 1, NOW)
    future.copy(future.plan(), ALL)
    future.sync()
    left = list_snapshots(files, target)
    assert left == list_snapshots(files, log.directory)
    assert max(copied) not in left


def test_the_log_goes_on_in_the_copy() -> None:
    files = FakeFiles()
    log = filled(files)
    before, end = read_all(log), log.log_end_offset
    recovery_point = log.recovery_point
    produce(log, 1)
    old_ticket = log.syncing.begin()
    future = future_of(log)
    future.copy(future.plan(), ALL)
    future.write(future.texts())
    log.syncing.hold()
    assert log.syncing.begin() is None
    old = future.hand_over(log.log_end_offset)
    assert {each.directory for each in old} == {DIRECTORY}
    assert log.directory == TARGET
    log.syncing.release()
    # What a sync of the old files says is of the old files.
    assert old_ticket is not None
    old_ticket.run()
    log.syncing.finish(old_ticket)
    assert log.recovery_point == recovery_point
    produce(log, 3)
    sync(log, with_snapshot=True)
    assert log.recovery_point == log.log_end_offset == end + 4
    log.visibility.raise_to(log.end_metadata)
    assert read_all(log)[: len(before)] == before
    aborted = log.read(0, ALL, FetchIsolation.TXN_COMMITTED, may_block=True).aborted
    assert aborted
    files.power_cut()
    copy = load_log(
        PARTITION,
        TOPIC_ID,
        TARGET,
        log.config,
        Checkpointed(False, recovery_point, 0),
        Surroundings(files, NOW),
    )
    assert read_all(copy) == read_all(log)


def test_damage_is_known_in_the_copy() -> None:
    files = FakeFiles()
    log = filled(files)
    first = log.local.segments.first
    files.flip(first.log.path, 70)
    future = future_of(log)
    future.copy(future.plan(), ALL)
    future.write(future.texts())
    future.hand_over(log.log_end_offset)
    # This process has written the bytes and trusts them; the copy is verified.
    assert read_all(log)[0].offset == 2
    assert len(log.damage) == 1
    assert files.exists(TARGET / "quarantine")
