"""Snapshots of logs, and forks of them, in any file system."""

import json
from pathlib import Path
from typing import Any

from odradek.storage.backup.cut import LogHold, take_rolled_cuts
from odradek.storage.backup.plan import BackupPlan
from odradek.storage.backup.snapshot import SnapshotWriter, Written, plan_snapshot
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.files import Files
from tests.fakes.replicas import NOW_MS, FakeLock
from tests.storage.backup.backups import MADE


def manager_at(files: Files, directory: Path) -> LogManager:
    """Of a broker that runs in ``directory``."""
    manager = LogManager(
        (directory,), files, cluster_id="c", node_id=1, take_lock=FakeLock
    )
    manager.open()
    return manager


def snapshot_plan(files: Files, manager: LogManager) -> BackupPlan:
    """A cut, held."""
    (home,) = [each.path for each in manager.directories]
    holds = [LogHold(files, cut) for cut in take_rolled_cuts(manager, NOW_MS)]
    for hold in holds:
        hold.plan()
        hold.link()
    catalog = home / "catalog.cut"
    if not files.exists(catalog):
        files.write_atomic(catalog, b"catalogue")
    cut = {"clusterId": "c", "nodeId": 1, "directories": [str(home)]}
    return plan_snapshot(
        files,
        {**cut, "catalog": str(catalog), "missing": {}},
        [hold.described() for hold in holds],
    )


def snapshot(files: Files, manager: LogManager, target: Path) -> Written:
    """All of it, in ``target``."""
    return SnapshotWriter(files, snapshot_plan(files, manager), target).write(MADE)


def described(files: Files, path: Path) -> dict[str, Any]:
    """What a snapshot says of itself."""
    return dict(json.loads(files.read_bytes(path / "snapshot.json")))


def fork(files: Files, path: Path, directory: Path) -> None:
    """Another broker's data, the sealed files of which are those of the snapshot."""
    content = described(files, path)
    for name in content["files"]:
        target = directory / name.removeprefix("0/")
        files.mkdir(target.parent)
        if name in content["sealed"]:
            assert files.link(path / name, target)
        else:
            files.write_atomic(target, files.read_bytes(path / name))
