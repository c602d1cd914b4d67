"""The log of a partition as a whole: its options, and its end."""

import pytest

from odradek.protocol.control_records import ControlType
from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.log_manager import LogManager
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_directory import NoLock
from tests.storage.logs import (
    DIRECTORY,
    NOW,
    ROOT,
    Producer,
    closed,
    files_of,
    filled,
    marker,
    new_log,
    offsets,
    produce,
    sync,
)

IDEMPOTENT = Producer(7, 0, 0)


def test_a_late_transaction_is_reported() -> None:
    log = new_log()
    produce(log, 2, producer=IDEMPOTENT, is_transactional=True, timestamp=NOW)
    timeout, five_minutes = 900_000, 300_000
    assert not log.producers.has_late_transaction(NOW + timeout + five_minutes, timeout)
    assert log.producers.has_late_transaction(NOW + timeout + five_minutes + 1, timeout)
    marker(log, ControlType.ABORT)
    assert not log.producers.has_late_transaction(
        NOW + timeout + five_minutes + 1, timeout
    )


def test_t030_rename_deleted_after_delay_leaves_reads_alone() -> None:
    files = FakeFiles()
    log = new_log(files, segment_bytes=200, retention_ms=0)
    for _ in range(3):
        produce(log, 2, value=bytes(40))
    sync(log)
    manager = LogManager([ROOT], files, cluster_id="c", node_id=1, take_lock=NoLock)
    data = log.read(0, 1000)
    kept = bytes(data.records)
    assert manager.delete_old_segments(log, NOW + 1) == 3
    delay_ms = log.config.file_delete_delay_ms
    assert "00000000000000000000.log.deleted" in files.listdir(DIRECTORY)
    assert manager.removal_job(NOW + delay_ms) is None
    assert data.records == kept
    remove = manager.removal_job(NOW + 1 + delay_ms)
    assert remove is not None
    remove()
    assert not [name for name in files.listdir(DIRECTORY) if "deleted" in name]
    assert data.records == kept


def test_a_closed_log_takes_no_more_writes() -> None:
    log = filled()
    before = offsets(log)
    closed(log)
    for write in (
        lambda: produce(log),
        lambda: log.replica_appender.append_as_follower(b"", NOW),
        lambda: log.increment_log_start(3),
        lambda: log.truncation.truncate_to(3, NOW),
    ):
        with pytest.raises(KafkaStorageError, match="closed"):
            write()
    assert offsets(log) == before


def test_a_closed_log_is_durable_with_its_last_index_entries() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log, 3)
    sync(log, with_snapshot=True)
    assert log.close()
    before = {path: files.content(path) for path in files.paths()}
    assert files.content("00000000000000000000.timeindex")
    files.power_cut()
    assert {path: files.content(path) for path in files.paths()} == before


def test_options_can_change() -> None:
    log = new_log(segment_bytes=1000)
    produce(log)
    other = new_log(segment_bytes=100_000)
    log.update_config(other.config)
    produce(log, value=bytes(5000))
    assert len(log.local.segments) == 1


def test_a_closed_log_holds_no_file() -> None:
    log = closed(filled(batches=4))
    for segment in log.local.segments:
        files_of(log).unlink(segment.log.path)
        with pytest.raises(FileNotFoundError):  # one that is open could be read
            segment.log.read_at(0, 1)
