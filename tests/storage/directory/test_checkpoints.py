"""The checkpoints of a log directory: taken in order, written in any."""

import errno
import threading
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.checkpoints import DirectoryCheckpoints, DirectoryFailure
from odradek.storage.directory.disk_reserve import RESERVE_BYTES, RESERVE_NAME
from odradek.storage.files.files import StorageFailure
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_manager import (
    OTHER,
    ROOT,
    A,
    durable_root,
    loaded,
    made,
    started,
)
from tests.storage.logs import produce, sync

STARTS = "log-start-offset-checkpoint"


def with_start(log: UnifiedLog, offset: int) -> UnifiedLog:
    produce(log, 10)
    sync(log)
    log.increment_log_start(offset)
    return log


def test_log_starts_alone_are_durable_after_their_job() -> None:
    files = FakeFiles()
    files.mkdir(ROOT)
    files.sync_directory(Path("/"))
    manager = started(files)
    with_start(made(manager), 4)
    manager.log_starts_job([ROOT])()
    assert not files.exists(ROOT / "recovery-point-offset-checkpoint")
    files.power_cut()
    assert files.content(STARTS) == b"0\n1\na 0 4\n"
    assert loaded(started(files)).log_start_offset == 4


def test_log_starts_of_other_directories_are_not_written() -> None:
    files = FakeFiles()
    manager = started(files, ROOT, OTHER)
    manager.log_starts_job([OTHER])()
    assert files.exists(OTHER / STARTS)
    assert not files.exists(ROOT / STARTS)


def test_what_was_taken_earlier_does_not_replace_what_was_taken_later() -> None:
    files = FakeFiles()
    manager = started(files)
    log = with_start(made(manager), 4)
    slow = manager.checkpoint_job()
    log.increment_log_start(7)
    manager.log_starts_job([ROOT])()
    slow()
    assert files.content(STARTS) == b"0\n1\na 0 7\n"
    assert files.content("recovery-point-offset-checkpoint") == b"0\n1\na 0 10\n"


def test_what_is_said_already_is_not_written_again() -> None:
    files = FakeFiles()
    manager = started(files)
    log = with_start(made(manager), 4)
    manager.checkpoint_job()()
    before = files.counts["sync"]
    manager.checkpoint_job()()
    assert files.counts["sync"] - before == 0
    log.increment_log_start(5)
    manager.checkpoint_job()()
    assert files.counts["sync"] - before == 1


def test_a_partition_that_has_gone_is_durably_gone_even_if_nothing_spoke_of_it() -> (
    None
):
    files = durable_root(FakeFiles())
    manager = started(files)
    manager.checkpoint_job()()
    made(manager)
    path = manager.delete(A)
    manager.checkpoint_job()()
    files.power_cut()
    assert not files.exists(ROOT / "a-0")
    assert files.exists(path)


def test_two_threads_do_not_write_at_the_same_time() -> None:
    lock = threading.Lock()
    files = FakeFiles()
    files.mkdir(ROOT)
    checkpoints = DirectoryCheckpoints(files, ROOT, lambda: lock)
    with lock:
        writer = threading.Thread(
            target=lambda: checkpoints.write(checkpoints.take([])), daemon=True
        )
        writer.start()
        writer.join(0.02)
        assert not files.paths()
    writer.join()
    assert files.paths()


def test_the_first_checkpoint_finds_room_on_a_full_disk() -> None:
    files = FakeFiles()
    manager = started(files)
    made(manager)
    files.fail("append", error=errno.ENOSPC)
    manager.checkpoint_job()()
    assert b"a 0 0" in files.content("recovery-point-offset-checkpoint")


def test_room_is_kept_again_when_something_was_removed() -> None:
    files = FakeFiles()
    manager = started(files)
    made(manager)
    reserve = ROOT / RESERVE_NAME
    for nth in (1, 3, 5, 7):  # what goes into it is written, and it is not kept again
        files.fail("append", nth=nth, error=errno.ENOSPC)
    manager.checkpoint_job()()
    assert not files.exists(reserve) or not files.content(reserve)
    manager.delete(A)
    removal = manager.removal_job(1 << 62)
    assert removal is not None
    removal()
    assert len(files.content(reserve)) == RESERVE_BYTES


def test_a_failed_directory_promises_nothing() -> None:
    files = FakeFiles()
    manager = started(files, ROOT, OTHER)
    log = made(manager)
    job = manager.log_starts_job([log.directory.parent])
    files.fail("sync")
    with pytest.raises(DirectoryFailure) as failed:
        job()
    manager.fail_directory(failed.value.directory, StorageFailure("gone"))
    with pytest.raises(KafkaStorageError, match="gone"):
        manager.log_starts_job([log.directory.parent])


@pytest.mark.parametrize(("checkpointed", "expected"), [(99, 10), (7, 7), (1, 4)])
def test_t050_hw_checkpoint_clamped_on_load(checkpointed: int, expected: int) -> None:
    """The only replica's end is durable, so its high watermark. A follower's is not."""
    files = FakeFiles()
    manager = started(files)
    with_start(made(manager), 4)
    manager.close()
    text = f"0\n1\na 0 {checkpointed}\n".encode()
    files.put(ROOT / "replication-offset-checkpoint", text)
    again = started(files)
    log = loaded(again)
    assert log.high_watermark == log.log_end_offset == 10
    assert again.checkpointed_high_watermark(log) == expected


def test_a_log_start_at_a_segment_stays_once_it_was_promised() -> None:
    """The removal of segments is not synced: a power cut brings them back."""
    files = FakeFiles()
    manager = started(files)
    log = made(manager)
    for _ in range(30):
        produce(log, 3)
    sync(log)
    segment = list(log.local.segments)[1]
    log.increment_log_start(segment.base_offset)
    manager.log_starts_job([ROOT])()
    manager.delete_old_segments(log, 0)
    assert log.local.segments.first is segment
    manager.checkpoint_job()()
    assert files.content(STARTS) == b"0\n1\na 0 %d\n" % segment.base_offset


def test_the_files_kafka_leaves_are_read() -> None:
    files = FakeFiles()
    for name in ("recovery-point-offset", "replication-offset"):
        files.put(ROOT / f"{name}-checkpoint", b"")
    files.put(ROOT / STARTS, b"0\n0\n")
    files.put(ROOT / "a-0" / "file", b"")
    manager = started(files)
    manager.checkpoint_job()()
    assert files.content(STARTS) == b"0\n0\n"
    assert files.content("recovery-point-offset-checkpoint") == b"0\n0\n"


@pytest.mark.parametrize(
    "text", [b"1\n0\n", b"0\n2\na 0 7\n", b"0\nx\n", b"0\n1\na 0\n", b"\xff\xfe", b"\0"]
)
@pytest.mark.parametrize(
    "name", ["recovery-point-offset", "log-start-offset", "replication-offset"]
)
def test_t081_a_malformed_checkpoint_is_reported_and_the_broker_starts(
    name: str, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    manager = started(files)
    with_start(made(manager), 4)
    manager.checkpoint_job()()
    files.put(ROOT / f"{name}-checkpoint", text)
    log = loaded(started(files))
    assert log.log_end_offset == 10
    assert log.log_start_offset == (0 if name == "log-start-offset" else 4)
    assert f"{name}-checkpoint" in caplog.text


def test_a_gone_partition_is_not_spoken_of() -> None:
    checkpoints = DirectoryCheckpoints(FakeFiles(), ROOT)
    gone = TopicPartition("gone", 0)
    checkpoints.load([])
    checkpoints.forget(gone)
    assert checkpoints.checkpointed(gone, was_clean=True) == (True, 0, 0)
