"""All logs of a broker: opened, made, deleted, and closed so that it can be seen."""

import errno
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.errors import InconsistentTopicId, KafkaStorageError
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.checkpoints import DirectoryFailure
from odradek.storage.directory.log_directory import CLEAN_MARKER_NAME
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.files import DiskFull, OsFiles, StorageFailure
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_directory import NoLock
from tests.storage.logs import NOW, TOPIC_ID, produce, sync

ROOT, OTHER = Path("/data"), Path("/more")
A, B = TopicPartition("a", 0), TopicPartition("b-c.d", 3)
CONFIG = LogConfig(segment_bytes=1000, index_interval_bytes=200)


def started(files: FakeFiles, *directories: Path, **options: Any) -> LogManager:
    manager = LogManager(
        directories or [ROOT],
        files,
        cluster_id="c",
        node_id=1,
        take_lock=NoLock,
        **options,
    )
    manager.open()
    return manager


def made(manager: LogManager, partition: TopicPartition = A) -> UnifiedLog:
    return manager.create(partition, TOPIC_ID, CONFIG, None, NOW)


def loaded(manager: LogManager, partition: TopicPartition = A) -> UnifiedLog:
    log = manager.load(partition, TOPIC_ID, CONFIG, NOW)
    manager.register(log)
    return log


def durable_root(files: FakeFiles) -> FakeFiles:
    for root in (ROOT, OTHER):
        files.mkdir(root)
    files.sync_directory(Path("/"))
    return files


def test_a_partition_has_no_files_before_its_log_is_made() -> None:
    files = FakeFiles()
    manager = started(files)
    assert not manager.has_directory(A)
    assert manager.get(A) is None
    log = made(manager)
    assert manager.has_directory(A)
    assert manager.get(A) is log
    assert manager.directories_of() == {A: ROOT / "a-0"}
    assert log.directory == ROOT / "a-0"


def test_a_clean_stop_is_seen_by_the_next_broker() -> None:
    files = FakeFiles()
    manager = started(files)
    for partition in (A, B):
        produce(made(manager, partition), 5)
    assert manager.close()
    assert files.content(CLEAN_MARKER_NAME) == b'{"version":0,"brokerEpoch":-1}'
    again = started(files)
    assert again.was_clean
    assert set(again.directories_of()) == {A, B}
    assert again.get(A) is None
    files.counts.clear()
    assert loaded(again, B).log_end_offset == 5
    assert not files.counts["rewrite"]
    assert not files.exists(ROOT / CLEAN_MARKER_NAME)


def test_everything_is_durable_before_the_marker() -> None:
    files = durable_root(FakeFiles())
    manager = started(files)
    produce(made(manager), 5)
    manager.close()
    files.power_cut()
    again = started(files)
    assert again.was_clean
    assert loaded(again).log_end_offset == 5


def test_a_kill_is_seen_too() -> None:
    files = FakeFiles()
    produce(made(started(files)), 5)
    again = started(files)
    assert not again.was_clean
    assert loaded(again).log_end_offset == 5


def test_a_kill_while_loading_is_unclean() -> None:
    files = FakeFiles()
    manager = started(files)
    produce(made(manager), 5)
    manager.close()
    started(files)
    assert not started(files).was_clean


def test_logs_that_were_not_recovered_keep_the_directory_unclean() -> None:
    files = FakeFiles()
    manager = started(files)
    for partition in (A, B):
        produce(made(manager, partition))
    again = started(files)
    loaded(again, A)
    assert not again.close()
    assert not files.exists(ROOT / CLEAN_MARKER_NAME)
    third = started(files)
    loaded(third, A)
    loaded(third, B)
    assert third.close()


def test_logs_that_were_not_opened_stay_clean() -> None:
    files = FakeFiles()
    manager = started(files)
    for partition in (A, B):
        produce(made(manager, partition), 5)
    manager.close()
    second = started(files)
    produce(loaded(second, A), 2)
    assert second.close()
    third = started(files)
    assert (loaded(third, A).log_end_offset, loaded(third, B).log_end_offset) == (7, 5)


def test_a_failed_sync_at_the_end_is_told_and_leaves_no_marker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    files = FakeFiles()
    manager = started(files)
    produce(made(manager))
    files.fail("sync")
    assert not manager.close()
    assert f"[a-0 in {ROOT}] not closed in order" in caplog.text
    assert not files.exists(ROOT / CLEAN_MARKER_NAME)


def test_checkpoints_say_what_is_durable() -> None:
    files = FakeFiles()
    manager = started(files)
    log = made(manager)
    produce(log, 5)
    sync(log)
    log.increment_log_start(2)
    job = manager.checkpoint_job()
    produce(log, 5)
    job()
    assert files.content("recovery-point-offset-checkpoint") == b"0\n1\na 0 5\n"
    assert files.content("replication-offset-checkpoint") == b"0\n1\na 0 5\n"
    assert files.content("log-start-offset-checkpoint") == b"0\n1\na 0 2\n"
    again = loaded(started(files))
    assert (again.log_start_offset, again.log_end_offset) == (2, 10)


def test_a_log_start_at_a_segment_needs_no_entry() -> None:
    files = FakeFiles()
    manager = started(files)
    produce(made(manager), 5)
    manager.checkpoint_job()()
    assert files.content("log-start-offset-checkpoint") == b"0\n0\n"


# Identity


def test_a_directory_of_another_topic_is_kept_and_refused() -> None:
    files = FakeFiles()
    manager = started(files)
    produce(made(manager))
    sync(manager.logs()[0])
    manager.close()
    again = started(files)
    with pytest.raises(InconsistentTopicId):
        again.load(A, bytes(15) + b"\x01", CONFIG, NOW)
    assert again.topic_id_of(A) == TOPIC_ID
    assert loaded(again).log_end_offset == 1


def test_it_can_be_set_aside_for_a_new_topic() -> None:
    files = FakeFiles()
    manager = started(files)
    produce(made(manager), 3)
    path = manager.set_aside(A)
    assert path.name.endswith("-stray")
    assert [each.stray_count for each in manager.directories] == [1]
    assert produce(made(manager)).base_offset == 0
    again = started(files)
    assert again.removal_job(NOW) is None
    assert files.exists(path)
    assert set(again.directories_of()) == {A}


@pytest.mark.parametrize("content", [None, b"", b"version: 9\n"])
def test_a_directory_that_does_not_say_gets_its_topic_id(content: bytes | None) -> None:
    files = FakeFiles()
    manager = started(files)
    produce(made(manager), 3)
    manager.close()
    path = ROOT / "a-0" / "partition.metadata"
    files.unlink(path)
    if content is not None:
        files.put(path, content)
    again = started(files)
    assert loaded(again).log_end_offset == 3
    assert again.topic_id_of(A) == TOPIC_ID


# Several directories


def test_new_logs_go_where_there_are_the_fewest() -> None:
    manager = started(FakeFiles(), ROOT, OTHER)
    for number in range(4):
        made(manager, TopicPartition("t", number))
    homes = [path.parent for path in manager.directories_of().values()]
    assert sorted(homes) == [ROOT, ROOT, OTHER, OTHER]
    log = manager.create(A, TOPIC_ID, CONFIG, OTHER, NOW)
    assert log.directory == OTHER / "a-0"


def test_t086_io_error_takes_one_dir_offline() -> None:
    files = FakeFiles()
    manager = started(files, ROOT, OTHER)
    first, second = made(manager, A), made(manager, B)
    for log in (first, second):
        produce(log, 2)
        sync(log)
    broken = first.directory.parent
    manager.fail_directory(broken, StorageFailure("gone"))
    with pytest.raises(KafkaStorageError):
        produce(first)
    assert len(first.read(0, 1000).records)
    assert produce(second).base_offset == 2
    assert made(manager, TopicPartition("c", 0)).directory.parent != broken
    with pytest.raises(KafkaStorageError):
        manager.create(TopicPartition("d", 0), TOPIC_ID, CONFIG, broken, NOW)
    assert not manager.close()
    assert not files.exists(broken / CLEAN_MARKER_NAME)
    assert files.exists(second.directory.parent / CLEAN_MARKER_NAME)


def test_a_directory_that_cannot_be_opened_is_left_out() -> None:
    files = FakeFiles()
    files.fail("mkdir")
    manager = started(files, ROOT, OTHER)
    assert made(manager).directory.parent == OTHER
    files.fail("mkdir")
    with pytest.raises(KafkaStorageError):
        started(files)


def test_records_are_whole_with_real_files(tmp_path: Path) -> None:
    for round_ in range(3):
        manager = LogManager([tmp_path], OsFiles(), cluster_id="c", node_id=1)
        manager.open()
        log = loaded(manager) if round_ else made(manager)
        assert log.log_end_offset == 20 * round_
        for _ in range(20):
            batch = build_batch([NewRecord(b"k", bytes(100), NOW)])
            log.appender.append_as_leader(memoryview(batch), round_, NOW)
        if round_ != 1:
            assert manager.close()
        else:
            manager.directories.release()  # as a kill does
        assert manager.was_clean == (round_ != 2)


def test_logs_verify_transactions_whether_made_or_loaded() -> None:
    files = durable_root(FakeFiles())
    for verifies in (False, True):
        manager = started(files, verifies_transactions=verifies)
        for log in (made(manager), made(manager, B)):
            assert log.producers.verifies == verifies
            produce(log, 1)
        assert manager.close()
        manager = started(files, verifies_transactions=verifies)
        assert loaded(manager).producers.verifies == verifies
        manager.delete(A)
        manager.directories.release()  # as a kill does
        manager = started(files, verifies_transactions=verifies)
        assert loaded(manager, B).producers.verifies == verifies
        manager.delete(B)
        assert manager.close()


@pytest.mark.parametrize("operation", ["mkdir", "open"])
def test_a_log_for_which_there_is_no_room_leaves_nothing(operation: str) -> None:
    files = FakeFiles()
    manager = started(files)
    names = files.listdir(ROOT)
    files.fail(operation, error=errno.ENOSPC)
    with pytest.raises(DiskFull):
        manager.create(A, TOPIC_ID, CONFIG, None, NOW)
    assert files.listdir(ROOT) == names
    assert not manager.has_directory(A)
    manager.create(A, TOPIC_ID, CONFIG, None, NOW)
    assert manager.has_directory(A)


def test_checkpoints_of_one_directory_may_be_written_alone() -> None:
    files = FakeFiles()
    manager = started(files, ROOT, OTHER)
    for partition, directory in ((A, ROOT), (B, OTHER)):
        log = manager.create(partition, TOPIC_ID, CONFIG, directory, NOW)
        produce(log, 2)
        sync(log)
    manager.checkpoint_job(manager.directories.homes[B])()
    assert b"b-c.d 3 2" in files.content(OTHER / "recovery-point-offset-checkpoint")
    assert not files.exists(ROOT / "recovery-point-offset-checkpoint")


def test_checkpoints_of_one_directory_do_not_keep_those_of_another() -> None:
    files = FakeFiles()
    manager = started(files, ROOT, OTHER)
    for partition, directory in ((A, ROOT), (B, OTHER)):
        sync_one = manager.create(partition, TOPIC_ID, CONFIG, directory, NOW)
        produce(sync_one, 2)
        sync(sync_one)
    files.fail("append", error=errno.ENOSPC)
    files.fail("append", nth=2, error=errno.ENOSPC)  # nor where room is kept
    with pytest.raises(DiskFull):
        manager.checkpoint_job()()
    assert b"b-c.d 3 2" in files.content(OTHER / "recovery-point-offset-checkpoint")
    for log in manager.logs():
        produce(log, 2)
        sync(log)
    files.fail("append", error=errno.ENOSPC)
    files.fail("sync")
    with pytest.raises(DirectoryFailure) as failed:
        manager.checkpoint_job()()
    assert failed.value.directory == OTHER
