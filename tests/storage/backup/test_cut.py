import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.backup.cut import LogHold, NoLinks, link_all, take_cuts
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles
from tests.storage.backup.backups import DATA, A, B, append, log_of, manager_of


@pytest.fixture
def files() -> FakeFiles:
    return FakeFiles()


@pytest.fixture
def manager(files: FakeFiles) -> LogManager:
    return manager_of(files)


@pytest.fixture
def log(manager: LogManager) -> UnifiedLog:
    return log_of(manager, A)


def held(files: FakeFiles, manager: LogManager) -> LogHold:
    (cut,) = take_cuts(manager)
    hold = LogHold(files, cut)
    hold.plan()
    return hold


def contents(files: FakeFiles, hold: LogHold) -> dict[str, bytes]:
    return {
        name: files.content(hold.directory / name)
        for name in files.listdir(hold.directory)
    }


def test_a_cut_is_of_all_logs_that_can_be_written(
    files: FakeFiles, manager: LogManager, log: UnifiedLog
) -> None:
    other = log_of(manager, B)
    assert [cut.log for cut in take_cuts(manager)] == [log, other]
    other.fail(KafkaStorageError("gone"))
    (cut,) = take_cuts(manager)
    assert (cut.log, cut.end.offset, len(cut.segments)) == (log, 6, 3)


def test_a_cut_stays_when_the_log_goes_on(
    files: FakeFiles, manager: LogManager, log: UnifiedLog
) -> None:
    hold = held(files, manager)
    hold.link()
    before = contents(files, hold)
    described = hold.described()
    append(log, 5)
    log.roll(0)
    append(log, 1)
    assert hold.described() == described
    size = described["activeSize"]
    name = f"{4:020d}.log"
    assert contents(files, hold)[name][:size] == before[name][:size]
    assert described["activeBase"] == 4
    assert described["endOffset"] == 6


def test_what_is_held_outlives_the_log(
    files: FakeFiles, manager: LogManager, log: UnifiedLog
) -> None:
    hold = held(files, manager)
    hold.link()
    before = contents(files, hold)
    manager.delete(A)
    job = manager.removal_job(0)
    assert job is not None
    job()
    assert contents(files, hold) == before
    assert {f"{base:020d}.log" for base in (0, 2, 4)} < before.keys()
    assert {"partition.metadata", "leader-epoch-checkpoint"} < before.keys()


def test_a_renaming_is_noticed_and_followed(
    files: FakeFiles, manager: LogManager, log: UnifiedLog
) -> None:
    hold = held(files, manager)
    log.local.remove_segments([log.local.segments.first])
    assert link_all([hold]) == [hold]  # its first file has another name
    assert not hold.is_valid()
    hold.let_go()
    hold.plan()
    assert link_all([hold]) == []
    assert hold.is_valid()
    assert f"{0:020d}.log" in contents(files, hold)
    assert f"{0:020d}.index" in contents(files, hold)


def test_a_deleted_partition_is_followed_to_its_new_name(
    files: FakeFiles, manager: LogManager, log: UnifiedLog
) -> None:
    hold = held(files, manager)
    manager.delete(A)
    assert link_all([hold]) == [hold]
    assert not hold.is_valid()
    hold.let_go()
    hold.plan()
    assert link_all([hold]) == []
    assert hold.is_valid()


def test_while_something_is_being_held_nothing_is_removed(
    files: FakeFiles, manager: LogManager, log: UnifiedLog
) -> None:
    manager.delete(A)
    manager.removals.is_held = True
    assert manager.removal_job(1) is None
    manager.removals.is_held = False
    assert manager.removal_job(1) is not None


def test_what_a_crash_leaves_the_next_start_removes(
    files: FakeFiles, manager: LogManager, log: UnifiedLog
) -> None:
    hold = held(files, manager)
    hold.link()
    assert hold.directory.parent == DATA
    manager.close()
    manager = manager_of(files)
    job = manager.removal_job(0)
    assert job is not None
    job()
    assert not files.exists(hold.directory)
    assert manager.has_directory(A)


def test_a_file_system_without_links_is_named(
    files: FakeFiles,
    manager: LogManager,
    log: UnifiedLog,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "link", lambda *_: False)
    with pytest.raises(NoLinks, match="/disk/data has no hard links: stop the broker"):
        held(files, manager).link()


def test_the_start_is_never_behind_the_end(
    files: FakeFiles, manager: LogManager, log: UnifiedLog
) -> None:
    hold = held(files, manager)
    append(log, 4)
    log.flush()
    log.visibility.raise_to_durable()
    log.increment_log_start(9)
    assert (hold.described()["startOffset"], hold.described()["endOffset"]) == (6, 6)


def test_the_name_of_a_hold_is_that_of_a_deleted_partition(
    files: FakeFiles, manager: LogManager
) -> None:
    long = TopicPartition("t" * 249, 7)
    log_of(manager, long)
    hold = held(files, manager)
    assert len(hold.directory.name) <= 255
    assert hold.directory.name.endswith("-delete")
