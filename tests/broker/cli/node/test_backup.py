import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.node import backup
from odradek.broker.cli.node.backup import DAMAGED, check_target, command
from odradek.broker.metadata.catalog.recovery import CATALOG
from odradek.broker.metadata.catalog.store import CatalogStore, PartitionRow
from odradek.storage.backup.manifest import read_manifest
from odradek.storage.directory.log_directory import DirectoryLock
from odradek.storage.files.files import OsFiles
from odradek.storage.files.partition_metadata import parse_partition_metadata
from tests.storage.fsck.test_lock_holder import held

GOLDEN = Path(__file__).parents[3] / "golden" / "kafka-4.3.1"
SOUND = GOLDEN / "plain-size-roll" / "log-dir"
DAMAGED_LOG = GOLDEN / "flip-active-middle" / "log-dir"

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def priority(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests behind these are not to run slower."""
    monkeypatch.setattr(os, "nice", lambda _: 0)


def data_of(directory: Path, golden: Path = SOUND, *written: int) -> Path:
    """A stopped broker's directory, whose catalogue knows one topic."""
    shutil.copytree(golden, directory)
    path = next(directory.glob("*-0/partition.metadata"))
    topic_id = parse_partition_metadata(path.read_bytes())
    topic = path.parent.name.removesuffix("-0")
    store = CatalogStore(directory / CATALOG)
    store.set_fact("cluster_id", "b2RyYWRlay1yZWZlcmVuYw")
    store.insert_topics([(topic_id, topic, 2, {"cleanup.policy": "delete"})])
    store.put_partitions(
        [PartitionRow(topic_id, n, 0, None, written=True) for n in (0, *written)]
    )
    store.close()
    return directory


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_of(tmp_path / "data")


def run(*arguments: object) -> int:
    return command([str(each) for each in arguments])


def test_a_stopped_broker_is_backed_up(
    data: Path, tmp_path: Path, capsys: Captured
) -> None:
    target = tmp_path / "new" / "backup"
    assert run(target, "--data-dir", data, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    manifest = read_manifest(OsFiles(), target)
    assert said["bytes"] == manifest.size
    assert said["linkedBytes"] > 0
    assert (said["partitions"], said["damage"], said["missing"]) == (1, 0, 0)
    assert not manifest.was_running
    with_lock = DirectoryLock(data)  # it is free again
    with_lock.release()


def test_text_for_people(data: Path, tmp_path: Path, capsys: Captured) -> None:
    assert run(tmp_path / "backup", "--data-dir", data) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{tmp_path}/backup: 1 partition, ")
    assert "cluster b2RyYWRlay1yZWZlcmVuYw" in out


def test_an_empty_directory_is_a_target(data: Path, tmp_path: Path) -> None:
    (tmp_path / "backup").mkdir()
    assert run(tmp_path / "backup", "--data-dir", data) == 0


def test_damage_is_copied_and_said(tmp_path: Path, capsys: Captured) -> None:
    data = data_of(tmp_path / "data", DAMAGED_LOG)
    assert run(tmp_path / "backup", "--data-dir", data) == DAMAGED
    assert "damaged: 0/" in capsys.readouterr().err
    assert read_manifest(OsFiles(), tmp_path / "backup").damage


def test_a_partition_without_a_directory_is_said(
    tmp_path: Path, capsys: Captured
) -> None:
    data = data_of(tmp_path / "data", SOUND, 1)
    assert run(tmp_path / "backup", "--data-dir", data) == DAMAGED
    errors = capsys.readouterr().err
    assert "not in the backup: plain-1: it has no directory" in errors


def test_a_catalogue_that_cannot_be_read_is_said(
    data: Path, tmp_path: Path, capsys: Captured
) -> None:
    (data / CATALOG).write_bytes(b"no database" * 100)
    assert run(tmp_path / "backup", "--data-dir", data) == DAMAGED
    assert "0/catalog.db" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("data", "is inside of the data directory"),
        ("data/backup", "is inside of the data directory"),
        ("link/backup", "is inside of the data directory"),
        ("full", "is not empty: it has x"),
        ("file", "Not a directory"),
    ],
)
def test_a_target_that_is_none(
    data: Path, tmp_path: Path, capsys: Captured, target: str, message: str
) -> None:
    (tmp_path / "link").symlink_to(data)
    (tmp_path / "full").mkdir()
    for name in ("full/x", "file"):
        (tmp_path / name).touch()
    before = sorted(data.rglob("*"))
    assert run(tmp_path / target, "--data-dir", data) == 2
    assert message in capsys.readouterr().err
    assert sorted(data.rglob("*")) == before


def test_a_target_that_cannot_be_made(data: Path, capsys: Captured) -> None:
    assert run("/proc/backup", "--data-dir", data) == 1
    assert capsys.readouterr().err.startswith(
        "odradek backup: /proc/backup cannot be made: "
    )


def test_a_mount_point_cannot_get_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "is_mount", lambda _: True)
    (tmp_path / "backup").mkdir()
    with pytest.raises(backup.NoBackup, match="name a directory in it"):
        check_target(tmp_path / "backup", [])


def test_what_is_no_data_directory(tmp_path: Path, capsys: Captured) -> None:
    assert run(tmp_path / "backup", "--data-dir", tmp_path / "nothing") == 1
    assert "nothing is not there; --data-dir says where" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "backup", "--data-dir", tmp_path / "empty") == 1
    assert "is not a broker's data directory" in capsys.readouterr().err
    assert not list(tmp_path.glob("backup*"))


def test_a_directory_that_another_has_is_named_with_its_process(
    data: Path, tmp_path: Path, capsys: Captured
) -> None:
    """It is no broker of ours: it has no socket."""
    with held(data) as process:
        assert run(tmp_path / "backup", "--data-dir", data) == 1
        errors = capsys.readouterr().err
        assert f"process {process} is using {data}" in errors
    assert not list(tmp_path.glob("backup*"))


def test_without_room_nothing_is_left(
    data: Path,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = "odradek.broker.replica.logs.free_space.free_bytes"
    monkeypatch.setattr(module, lambda _: 10)
    assert run(tmp_path / "backup", "--data-dir", data) == 1
    assert "has room for 10 bytes, and " in capsys.readouterr().err
    assert not list(tmp_path.glob("backup*"))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a running broker answers."""
    items: list[Any] = []

    def ask(*_: object) -> Iterator[dict[str, Any]]:
        yield from items

    monkeypatch.setattr("odradek.broker.cli.admin.admin_client.ask", ask)
    return items


def test_a_broker_that_has_let_go_is_said(
    data: Path, tmp_path: Path, capsys: Captured, answers: list[Any]
) -> None:
    cut = {"clusterId": "c", "nodeId": 1, "directories": [str(data)], "missing": {}}
    gone = {"topic": "t", "partition": 0, "held": str(data / "gone")}
    offsets = {"startOffset": 0, "endOffset": 1, "activeBase": 0, "activeSize": 1}
    answers += [
        {"cut": {**cut, "catalog": str(data / CATALOG)}},
        {"partition": {**gone, **offsets, "cleanOffset": None}},
        {"held": 1},
    ]
    with held(data):
        assert run(tmp_path / "backup", "--data-dir", data) == 1
    errors = capsys.readouterr().err
    assert f"{data}/gone has gone: the broker has stopped, or let go" in errors
    assert not list(tmp_path.glob("backup*"))


def test_a_broker_that_says_nothing_is_said(
    data: Path, tmp_path: Path, capsys: Captured, answers: list[Any]
) -> None:
    with held(data):
        assert run(tmp_path / "backup", "--data-dir", data) == 1
    assert "the broker has held nothing" in capsys.readouterr().err
