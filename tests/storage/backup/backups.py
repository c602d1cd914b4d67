"""A broker's directory in memory, and a backup of it."""

from pathlib import Path

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.backup.manifest import Manifest
from odradek.storage.backup.plan import BackupPlan, plan_stopped
from odradek.storage.backup.writing import BackupWriter, Made
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_config import LogConfig
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import NOW_MS, FakeLock, batch_of

DATA, OTHER, TARGET = Path("/disk/data"), Path("/disk/other"), Path("/backups/one")
A, B = TopicPartition("a", 0), TopicPartition("b-x", 3)
MADE = Made("0.1.0", "2026-01-02T03:04:05Z")
TOPIC_ID = b"0123456789abcdef"


def manager_of(files: FakeFiles, *directories: Path) -> LogManager:
    manager = LogManager(
        directories or (DATA,), files, cluster_id="c", node_id=1, take_lock=FakeLock
    )
    manager.open()
    return manager


def log_of(
    manager: LogManager, place: TopicPartition, directory: Path = DATA
) -> UnifiedLog:
    """A new log of two closed segments and an active one, two records in each."""
    log = manager.create(place, TOPIC_ID, LogConfig(), directory, NOW_MS)
    log.assign_epoch(0)
    for number in range(3):
        if number:
            log.roll(NOW_MS)
        append(log, 2)
    return log


def append(log: UnifiedLog, count: int) -> None:
    for _ in range(count):
        log.appender.append_as_leader(batch_of(b"value"), 0, NOW_MS)


def stopped(files: FakeFiles) -> None:
    """The files of a broker that was closed in order, with one log."""
    manager = manager_of(files)
    log_of(manager, A)
    assert manager.close()
    files.put(DATA / "catalog.db", b"catalogue")


def stopped_plan(files: FakeFiles) -> BackupPlan:
    return plan_stopped(files, [DATA], DATA, ("c", 1))


def write(files: FakeFiles, plan: BackupPlan, target: Path = TARGET) -> Manifest:
    files.mkdir(target.parent)
    writer = BackupWriter(files, plan, target)
    writer.begin()
    writer.copy()
    return writer.finish(writer.examine(None), MADE)


def tree(files: FakeFiles, root: Path) -> dict[str, bytes]:
    """The content of all files below ``root``."""
    return {
        str(path.relative_to(root)): files.content(path)
        for path in files.paths()
        if root in path.parents
    }
