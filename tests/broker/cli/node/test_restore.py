import json
from pathlib import Path

import pytest

from odradek.broker.cli.node.backup import DAMAGED
from odradek.broker.cli.node.fsck import command as fsck
from odradek.broker.cli.node.restore import command
from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG
from odradek.broker.metadata.catalog.store import CatalogStore, PartitionRow
from tests.broker.cli.node.test_backup import (
    SOUND,
    Captured,
    data_of,
    priority,
)
from tests.broker.cli.node.test_backup import run as back_up

__all__ = ["priority"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_of(tmp_path / "data")


@pytest.fixture
def backup(data: Path, tmp_path: Path, capsys: Captured) -> Path:
    assert back_up(tmp_path / "backup", "--data-dir", data) == 0
    capsys.readouterr()
    return tmp_path / "backup"


def run(*arguments: object) -> int:
    return command([str(each) for each in arguments])


def test_a_restored_directory_is_sound_and_says_how_it_is_served(
    backup: Path, tmp_path: Path, capsys: Captured
) -> None:
    new = tmp_path / "new"
    assert run(backup, "--data-dir", new) == 0
    out = capsys.readouterr().out
    assert f"start with: odradek serve --data-dir {new}" in out
    assert "it is cluster b2RyYWRlay1yZWZlcmVuYw, node 1, like the broker" in out
    assert fsck([str(new)]) == 0
    assert "odradek.unfinished" not in (new / "meta.properties").read_text()
    assert (new / "plain-0").is_dir()


def test_the_catalogue_forgets_old_places_and_skips_producer_ids(
    data: Path, tmp_path: Path
) -> None:
    store = CatalogStore(data / CATALOG)
    (row,) = store.partitions()
    places = [row._replace(log_dir=str(data)), row._replace(partition=1, written=False)]
    places[1] = places[1]._replace(log_dir="/elsewhere")
    store.put_partitions(places)
    store.close()
    assert back_up(tmp_path / "backup", "--data-dir", data) == 0
    assert run(tmp_path / "backup", "--data-dir", tmp_path / "new") == 0
    for name in (CATALOG, BACKUP):
        store = CatalogStore(tmp_path / "new" / name)
        found: list[PartitionRow] = sorted(store.partitions())
        assert [(each.partition, each.log_dir) for each in found] == [
            (0, None),
            (1, None),
        ]
        assert store.take_producer_ids(1) >= 1_000_000
        store.close()


def test_check_writes_nothing(backup: Path, tmp_path: Path, capsys: Captured) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert run(backup, "--check", "--json") == 0
    assert json.loads(capsys.readouterr().out)["faults"] == []
    assert run(backup, "--check", "--data-dir", tmp_path / "new") == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_a_backup_that_rots_is_named_and_not_used(
    backup: Path, tmp_path: Path, capsys: Captured
) -> None:
    path = sorted(backup.glob("0/plain-0/*.log"))[-1]
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(content)
    assert run(backup, "--check") == 1
    assert f"{path} is damaged" in capsys.readouterr().err
    assert run(backup, "--data-dir", tmp_path / "new") == 1
    assert f"{path} is damaged" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    path.unlink()
    assert run(backup, "--data-dir", tmp_path / "new") == 1
    assert f"{path} is missing" in capsys.readouterr().err


def test_a_directory_with_data_is_refused(
    backup: Path, data: Path, capsys: Captured
) -> None:
    before = sorted(data.rglob("*"))
    assert run(backup, "--data-dir", data) == 1
    assert "data is not empty: it has " in capsys.readouterr().err
    assert sorted(data.rglob("*")) == before


def test_what_is_no_backup(data: Path, tmp_path: Path, capsys: Captured) -> None:
    for path in (data, tmp_path / "nothing"):
        assert run(path, "--data-dir", tmp_path / "new") == 1
        assert f"{path} is not a backup: it has no manifest" in capsys.readouterr().err


def test_without_a_place_there_is_nothing_to_do(backup: Path, capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        run(backup)
    assert ended.value.code == 2
    assert "where to? --data-dir names it" in capsys.readouterr().err


def test_a_backup_of_something_incomplete_is_restored_and_says_so(
    tmp_path: Path, capsys: Captured
) -> None:
    data = data_of(tmp_path / "data", SOUND, 1)
    assert back_up(tmp_path / "backup", "--data-dir", data) == DAMAGED
    assert run(tmp_path / "backup", "--data-dir", tmp_path / "new") == DAMAGED
    assert "not in the backup: plain-1" in capsys.readouterr().err
    assert (tmp_path / "new" / "plain-0").is_dir()
