"""A log that is cut while it is synced, killed, or loses power: it loads as a log."""

from contextlib import suppress
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.files.files import OsFiles
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.opening.loader import (
    Checkpointed,
    Surroundings,
    create_log,
    load_log,
)
from odradek.storage.producers.snapshot import list_snapshots
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.storage.log.test_truncation import truncate_watched
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    PARTITION,
    TOPIC_ID,
    files_of,
    filled,
    new_log,
    offsets,
    produce,
    read_all,
    reopened,
    sync,
)


def test_a_sync_under_way_makes_nothing_durable_behind_it() -> None:
    log = filled()
    produce(log, 3)
    ticket = log.syncing.begin(with_snapshot=True)
    assert ticket is not None
    log.truncation.truncate_to(46, NOW)
    produce(log, 30)
    ticket.run()
    log.syncing.finish(ticket)
    assert log.recovery_point == 46
    # Its producers are those of records that are gone.
    assert max(list_snapshots(files_of(log), DIRECTORY)) <= 46
    sync(log)
    assert log.recovery_point == log.log_end_offset == 76


def test_what_was_cut_does_not_come_back() -> None:
    for offset in (0, 1, 46, 89):
        log = filled()
        ((checkpointed, _),) = truncate_watched(log, offset)
        produce(log, 3, value=b"new")
        sync(log)
        expected = read_all(log)
        files_of(log).power_cut()
        for recovery_point in (checkpointed, log.recovery_point):
            again = reopened(log, recovery_point=recovery_point)
            assert read_all(again) == expected
            names = files_of(log).listdir(DIRECTORY)
            assert not [name for name in names if "deleted" in name]


# Kills


def interrupted(cut: str, nth: int) -> tuple[UnifiedLog, int, int] | None:
    """A log killed at its ``nth`` step, its recovery point and its log start.

    None when there are not so many steps.
    """
    log = filled()
    checkpoint = (log.recovery_point, log.log_start_offset)

    def write_checkpoint() -> None:
        nonlocal checkpoint
        checkpoint = (log.recovery_point, log.log_start_offset)

    files = files_of(log)
    files.fail(nth=nth)
    with suppress(KafkaStorageError):
        if cut == "fully":
            log.truncation.truncate_fully_and_start_at(
                46, NOW, checkpoint=write_checkpoint
            )
        else:
            log.truncation.truncate_to(int(cut), NOW, write_checkpoint)
    files.heal()
    return (log, *checkpoint) if log.is_failed else None


@pytest.mark.parametrize("cut", ["0", "46", "85", "fully"])
@pytest.mark.parametrize("is_power_cut", [False, True])
def test_a_kill_at_any_step_leaves_a_log(cut: str, is_power_cut: bool) -> None:
    whole = offsets(filled())
    nth = 0
    while True:
        nth += 1
        killed = interrupted(cut, nth)
        if killed is None:
            break
        log, recovery_point, log_start = killed
        if is_power_cut:
            files_of(log).power_cut()
        again = reopened(log, recovery_point=recovery_point, log_start_offset=log_start)
        found = offsets(again)
        assert found == whole[: len(found)], (cut, nth)
        if cut != "fully":
            assert len(found) >= int(cut) - 2, (cut, nth)
        # As a follower would: it is truncated again, and goes on.
        again.truncation.truncate_to(min(46, again.log_end_offset), NOW)
        assert produce(again).base_offset == again.log_end_offset - 1
    assert nth > 5


def test_a_disk_that_fails_is_final() -> None:
    log = filled()
    files_of(log).fail("rename")
    with pytest.raises(KafkaStorageError):
        log.truncation.truncate_to(3, NOW)
    assert log.is_failed
    with pytest.raises(KafkaStorageError):
        log.truncation.truncate_to(3, NOW)


def test_a_new_log_can_be_truncated() -> None:
    log = new_log(FakeFiles())
    assert not log.truncation.truncate_to(0, NOW)
    log.truncation.truncate_fully_and_start_at(0, NOW)
    assert produce(log).base_offset == 0


def test_real_files_are_cut_and_go_on(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=2000, index_interval_bytes=100)
    surroundings = Surroundings(OsFiles(), NOW)
    directory = tmp_path / str(PARTITION)
    log = create_log(PARTITION, TOPIC_ID, directory, config, surroundings)
    for _ in range(100):
        produce(log, 3)
    sync(log)
    for timestamp in (NOW, NOW + 1):
        log.reading.find_offset(timestamp)  # sealed indexes are mapped now
    for offset in (250, 151, 40, 2):
        assert log.truncation.truncate_to(offset, NOW)
        for _ in range(30):
            produce(log, 3)
        sync(log)
        for segment in log.truncation.take_removed_segments():
            segment.delete_files()
    expected = read_all(log)
    assert [record.offset for record in expected] == list(range(2, 92))
    assert not [path for path in directory.iterdir() if "deleted" in path.name]
    for was_clean, recovery_point in ((False, 92), (False, 0), (True, 92)):
        if was_clean:
            assert log.close()
        log = load_log(
            PARTITION,
            TOPIC_ID,
            directory,
            config,
            Checkpointed(was_clean, recovery_point),
            Surroundings(OsFiles(), NOW),
        )
        assert read_all(log) == expected
