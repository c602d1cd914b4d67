"""Partitions that are deleted, segments that are old: renamed, and removed later."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.directory.checkpoints import DirectoryFailure
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.files import OsFiles
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_manager import (
    CONFIG,
    ROOT,
    A,
    B,
    durable_root,
    loaded,
    made,
    started,
)
from tests.storage.logs import NOW, TOPIC_ID, produce, sync


def remove_all(manager: LogManager, now_ms: int = NOW) -> None:
    job = manager.removal_job(now_ms)
    if job is not None:
        job()


def test_a_deleted_partition_is_renamed_and_then_removed() -> None:
    files = FakeFiles()
    manager = started(files)
    log = made(manager)
    produce(log)
    path = manager.delete(A)
    assert path.name.startswith("a-0.")
    assert path.name.endswith("-delete")
    assert not manager.has_directory(A)
    assert manager.get(A) is None
    assert files.exists(path)
    with pytest.raises(KafkaStorageError):
        produce(log)
    remove_all(manager)
    assert not files.exists(path)


def test_a_deleted_partition_is_removed_after_a_delay() -> None:
    files = FakeFiles()
    manager = started(files)
    produce(made(manager))
    path = manager.delete(A, NOW + 60_000)
    assert manager.removal_job(NOW + 59_999) is None
    assert manager.unremoved_partitions == {A}
    produce(made(manager))
    remove_all(manager, NOW + 60_000)
    assert not files.exists(path)
    assert manager.unremoved_partitions == set()
    assert manager.has_directory(A)


@pytest.mark.parametrize("was_synced", [True, False])
def test_what_is_removed_is_not_held_open(tmp_path: Path, was_synced: bool) -> None:
    """Else its room would come back when the broker ends."""
    manager = LogManager([tmp_path], OsFiles(), cluster_id="c", node_id=1)
    manager.open()
    log = made(manager)
    for _ in range(30):
        produce(log, 3)
    if was_synced:
        sync(log)
    log.read(0, 1 << 20)
    path = manager.delete(A)
    assert open_below(path)
    remove_all(manager)
    assert not path.exists()
    assert not open_below(path)
    manager.close()


def open_below(path: Path) -> list[str]:
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [each for each in found if each.startswith(str(path))]


def test_a_directory_that_cannot_be_renamed_is_as_it_was() -> None:
    files = FakeFiles()
    manager = started(files)
    log = made(manager)
    produce(log)
    files.fail("rename")
    with pytest.raises(DirectoryFailure) as failed:
        manager.delete(A)
    assert failed.value.directory == ROOT
    assert manager.get(A) is log
    path = manager.delete(A)
    assert files.exists(path)


def test_t082_delete_dir_loads_without_recovery() -> None:
    """It is not loaded at all: nobody can read it any more."""
    files = FakeFiles()
    manager = started(files)
    log = made(manager)
    for _ in range(3):
        produce(log, 3)
    path = manager.delete(A)
    files.flip(path / f"{0:020}.log", 100)
    files.counts.clear()
    again = started(files)
    remove_all(again)
    assert not files.exists(path)
    assert not files.counts["read"]
    assert again.directories_of() == {}


@pytest.mark.parametrize("nth", range(1, 12))
def test_a_kill_while_a_partition_is_removed_leaves_nothing_wrong(nth: int) -> None:
    """Whatever is left in a directory with that name, the next start removes."""
    files = durable_root(FakeFiles())
    manager = started(files)
    for partition in (A, B):
        produce(made(manager, partition), 3)
        sync(manager.logs()[-1])
    path = manager.delete(A)
    manager.checkpoint_job()()
    for left in [each for each in files.paths() if path in each.parents][:nth]:
        files.unlink(left)
    again = started(files)
    remove_all(again)
    assert not files.exists(path)
    assert loaded(again, B).log_end_offset == 3
    assert set(again.directories_of()) == {B}


def test_a_new_log_may_have_its_name_at_once() -> None:
    files = FakeFiles()
    manager = started(files)
    produce(made(manager), 50)
    manager.delete(A)
    produce(made(manager), 2)
    manager.checkpoint_job()()
    assert loaded(started(files)).log_end_offset == 2


def test_what_was_to_be_deleted_goes_after_the_next_start() -> None:
    files = FakeFiles()
    manager = started(files)
    made(manager)
    path = manager.delete(A)
    again = started(files)
    assert not again.has_directory(A)
    remove_all(again)
    assert not files.exists(path)


def test_a_log_deleted_while_it_was_loaded_is_not_taken_in() -> None:
    files = FakeFiles()
    produce(made(started(files)))
    manager = started(files)
    log = manager.load(A, TOPIC_ID, CONFIG, NOW)
    manager.delete(A)
    manager.register(log)
    assert manager.get(A) is None


def test_old_segments_go_and_their_files_later() -> None:
    files = FakeFiles()
    manager = started(files)
    config = LogConfig(segment_bytes=200, retention_ms=0, file_delete_delay_ms=1000)
    log = manager.create(A, TOPIC_ID, config, None, NOW)
    for _ in range(3):
        produce(log, 2, value=bytes(40))
    sync(log)
    assert manager.delete_old_segments(log, NOW + 1) == 3
    deleted = [path for path in files.paths() if path.suffix == ".deleted"]
    assert manager.removal_job(NOW + 1000) is None
    assert deleted
    assert all(map(files.exists, deleted))
    remove = manager.removal_job(NOW + 1001)
    assert remove
    files.fail("unlink")  # one that cannot be removed does not keep the others
    remove()
    assert sum(map(files.exists, deleted)) < len(deleted) / 2
