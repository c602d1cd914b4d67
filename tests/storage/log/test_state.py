"""A log that rolls, and one that takes no more writes."""

import errno

import pytest

from odradek.protocol.errors import (
    KafkaStorageError,
)
from odradek.storage.files.files import StorageFailure
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    files_of,
    new_log,
    offsets,
    produce,
    reopened,
    sync,
)


def test_a_full_segment_rolls_and_reads_go_on() -> None:
    log = new_log()
    rolled = [produce(log, 3).has_rolled for _ in range(20)]
    assert sum(rolled) == len(log.local.segments) - 1 > 1
    assert offsets(log) == list(range(60))


@pytest.mark.parametrize("operation", ["open", "append"])
@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENOSPC])
def test_a_roll_without_its_snapshot_is_synced_all_the_same(
    operation: str, error: int
) -> None:
    log = new_log()
    produce(log, 3)
    sync(log)
    log.roll(NOW)
    produce(log, 2)
    files_of(log).fail(operation, error=error)
    sync(log)
    (failed,) = files_of(log).failed
    assert failed[1].name == f"{3:020}.snapshot.tmp"
    assert not files_of(log).exists(failed[1])
    files_of(log).power_cut()
    assert offsets(reopened(log, recovery_point=5)) == [0, 1, 2, 3, 4]


def test_a_broken_disk_is_final() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    files.fail("append", error=errno.EIO)
    with pytest.raises(StorageFailure):
        produce(log)
    with pytest.raises(KafkaStorageError):
        produce(log)
    assert log.is_failed


def test_a_log_whose_files_somebody_removed_takes_no_more_writes() -> None:
    files = FakeFiles()
    log = new_log(files, segment_bytes=200)
    produce(log)
    sync(log)
    files.rmtree(DIRECTORY)
    with pytest.raises(StorageFailure):
        produce(log, value=bytes(100))  # it rolls
    assert log.is_failed


def test_a_failed_log_shows_what_is_durable_and_takes_nothing() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, 3)
    sync(log)
    produce(log, 3)
    log.visibility.raise_to(6)  # as with durability=none
    ticket = log.syncing.begin()
    assert ticket is not None
    files.fail("sync")
    with pytest.raises(StorageFailure) as raised:
        ticket.run()
    log.fail(raised.value)
    assert log.high_watermark == 3
    assert offsets(log) == [0, 1, 2]
    assert log.syncing.begin() is None
    assert not log.visibility.raise_to(6)
    with pytest.raises(KafkaStorageError):
        produce(log)
    with pytest.raises(KafkaStorageError):
        log.increment_log_start(1)
