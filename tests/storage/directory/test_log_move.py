"""A partition in another log directory: what a start makes of what a move has left."""

from pathlib import Path

import pytest

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directories import KnownPartition
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.directory.log_move import LAST_BYTES_MAX, LogMove
from odradek.storage.files.files import StorageFailure
from odradek.storage.producers.snapshot import list_snapshots
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_directory import NoLock
from tests.storage.directory.test_log_manager import (
    CONFIG,
    OTHER,
    ROOT,
    A,
    durable_root,
    made,
)
from tests.storage.logs import NOW, TOPIC_ID, produce, sync


def started(files: FakeFiles, log_dir: Path | None, topic_id: bytes) -> LogManager:
    def lookup(_: TopicPartition) -> KnownPartition | None:
        return KnownPartition(topic_id, log_dir) if topic_id else None

    manager = LogManager(
        [ROOT, OTHER], files, cluster_id="c", node_id=1, take_lock=NoLock
    )
    manager.open(lookup)
    return manager


def moving(files: FakeFiles) -> tuple[LogManager, LogMove]:
    """A log in ROOT, of which there is a whole copy in OTHER."""
    manager = started(files, ROOT, TOPIC_ID)
    log = made(manager)
    assert log.directory.parent == ROOT
    for _ in range(30):
        produce(log, 2)
    sync(log)
    move = manager.begin_move(log, OTHER)
    move.future.create()
    while not move.future.copy(move.future.plan(), 500):
        pass
    assert move.hold()()
    return manager, move


def names(files: FakeFiles, root: Path) -> set[str]:
    """What there is of the partition: ``log``, ``future``, ``delete``."""
    found = [name for name in files.listdir(root) if name.startswith("a-0")]
    return {"log" if name == "a-0" else name.rpartition("-")[2] for name in found}


def test_a_cut_at_the_end_leaves_nothing_of_what_was_cut() -> None:
    """A leader is followed that does not have the last records, while all is held."""
    files = durable_root(FakeFiles())
    manager, move = moving(files)
    end = move.log.log_end_offset
    assert not move.is_cut
    assert max(list_snapshots(files, move.future.directory)) == end
    move.log.truncation.truncate_to(end - 2, NOW)
    assert move.is_cut
    while not move.future.copy(move.future.plan(), 500):
        pass
    assert end not in list_snapshots(files, move.future.directory)
    move.log.syncing.release()
    sync(move.log)
    assert move.hold()()
    assert not move.is_cut
    manager.exchange(move, NOW)
    assert move.log.log_end_offset == end - 2


def test_the_steps_of_a_move() -> None:
    files = durable_root(FakeFiles())
    manager, move = moving(files)
    size = move.log.size
    while move.log.size <= size + LAST_BYTES_MAX:
        produce(move.log, 1, value=bytes(800))
    plan = move.last_plan()
    assert plan is not None
    assert move.future.copy(plan, plan.size)
    assert move.last_plan() is None
    assert (names(files, ROOT), names(files, OTHER)) == ({"log"}, {"future"})
    manager.exchange(move, NOW)
    assert (names(files, ROOT), names(files, OTHER)) == ({"delete"}, {"future"})
    move.sync_old_name()
    move.finish()
    assert (names(files, ROOT), names(files, OTHER)) == ({"delete"}, {"log"})
    assert manager.directories_of() == {A: OTHER / "a-0"}
    sync(move.log)
    assert move.log.recovery_point == move.log.log_end_offset
    remove = manager.removal_job(NOW + CONFIG.file_delete_delay_ms)
    assert remove is not None
    remove()
    assert (names(files, ROOT), names(files, OTHER)) == (set(), {"log"})
    assert manager.close()


def test_a_copy_beside_the_log_is_made_anew() -> None:
    files = durable_root(FakeFiles())
    moving(files)
    # Even when the catalogue has it in the new place: the log has not gone yet.
    manager = started(files, OTHER, TOPIC_ID)
    assert manager.directories_of() == {A: ROOT / "a-0"}
    assert (names(files, ROOT), names(files, OTHER)) == ({"log"}, {"delete"})
    assert manager.directories.unfinished == {A: OTHER}
    remove = manager.removal_job(NOW)
    assert remove is not None
    remove()
    assert names(files, OTHER) == set()


def test_a_copy_that_was_decided_for_is_the_log() -> None:
    files = durable_root(FakeFiles())
    manager, move = moving(files)
    manager.exchange(move, NOW)
    manager = started(files, OTHER, TOPIC_ID)
    assert manager.directories_of() == {A: OTHER / "a-0"}
    assert not manager.was_clean
    log = manager.load(A, TOPIC_ID, CONFIG, NOW)
    assert log.log_end_offset == 60
    assert not manager.directories.unfinished


@pytest.mark.parametrize(
    ("log_dir", "topic_id"),
    [(ROOT, TOPIC_ID), (OTHER, bytes(range(5, 21))), (OTHER, b"")],
)
def test_a_copy_of_something_else_is_left_as_it_is(
    log_dir: Path, topic_id: bytes
) -> None:
    files = durable_root(FakeFiles())
    manager, move = moving(files)
    manager.exchange(move, NOW)
    manager = started(files, log_dir, topic_id)
    assert manager.directories_of() == {}
    assert names(files, OTHER) == {"future"}


def test_a_copy_of_a_deleted_topic_is_removed() -> None:
    files = durable_root(FakeFiles())
    manager, _ = moving(files)
    manager.delete(A)
    manager = started(files, None, b"")
    manager.discard_copies([b"another"])
    assert names(files, OTHER) == {"future"}
    manager.discard_copies([TOPIC_ID])
    remove = manager.removal_job(NOW)
    assert remove is not None
    remove()
    assert (names(files, ROOT), names(files, OTHER)) == (set(), set())


def test_an_abandoned_copy_is_removed() -> None:
    files = durable_root(FakeFiles())
    manager, move = moving(files)
    move.abandon()()
    assert (names(files, ROOT), names(files, OTHER)) == ({"log"}, set())
    produce(move.log, 1)
    sync(move.log)
    assert move.log.recovery_point == 61
    assert b"a 0" not in _checkpoint(manager, files)


def test_the_log_stays_when_its_directory_cannot_be_renamed() -> None:
    files = durable_root(FakeFiles())
    manager, move = moving(files)
    files.fail("rename")
    with pytest.raises(StorageFailure):
        manager.exchange(move, NOW)
    assert manager.directories_of() == {A: ROOT / "a-0"}
    assert move.log.directory == ROOT / "a-0"


def _checkpoint(manager: LogManager, files: FakeFiles) -> bytes:
    manager.checkpoint_job()()
    return files.read_bytes(OTHER / "recovery-point-offset-checkpoint")
