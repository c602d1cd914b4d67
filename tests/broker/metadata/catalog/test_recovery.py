import logging
import os
import sqlite3
from pathlib import Path

import pytest

from odradek.broker.metadata.catalog import recovery
from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG, open_store
from odradek.broker.metadata.catalog.store import SCHEMA, CatalogError, CatalogStore

ID = b"i" * 16


def a_catalogue(directory: Path, *, copied: bool = True) -> Path:
    store = open_store(directory)
    store.insert_topics([(ID, "a", 1, {})])
    store.take_producer_ids(1000)
    if copied:
        store.copy_to(directory / BACKUP)
    store.close()
    return directory / CATALOG


def overwrite(path: Path) -> None:
    path.write_bytes(b"\x00\xff" * (path.stat().st_size // 2))


def flip_in_the_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 : 4096 + 200] = b"\xa5" * 200
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def remove(path: Path) -> None:
    path.unlink()


DAMAGES = [overwrite, flip_in_the_middle, truncate, empty, remove]


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_copy_takes_the_place_of_a_damaged_catalogue(
    tmp_path: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    path = a_catalogue(tmp_path)
    assert callable(damage)
    damage(path)
    with caplog.at_level(logging.ERROR):
        store = open_store(tmp_path)
    assert [row.name for row in store.topics()] == ["a"]
    assert f"{path} is " in caplog.text
    assert "going on with" in caplog.text
    # Ids that were given away after the copy was made are not given again.
    assert store.take_producer_ids(1) >= 1_000_000
    store.close()
    if damage is not remove:
        assert list(tmp_path.glob("catalog.db.damaged-*"))
    assert (tmp_path / BACKUP).exists()


@pytest.mark.parametrize("damage", [overwrite, flip_in_the_middle, truncate])
def test_damage_without_a_copy_stops_the_start_and_keeps_the_file(
    tmp_path: Path, damage: object
) -> None:
    path = a_catalogue(tmp_path, copied=False)
    assert callable(damage)
    damage(path)
    kept = path.read_bytes()
    with pytest.raises(CatalogError, match=r"there is no catalog\.backup beside it"):
        open_store(tmp_path)
    assert path.read_bytes() == kept


def test_two_damaged_files_are_both_kept(tmp_path: Path) -> None:
    path = a_catalogue(tmp_path)
    overwrite(path)
    overwrite(tmp_path / BACKUP)
    with pytest.raises(CatalogError, match="and so is its copy"):
        open_store(tmp_path)
    assert list(tmp_path.glob("catalog.db.damaged-*"))
    assert (tmp_path / BACKUP).exists()


def test_a_crash_in_the_first_moment_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / CATALOG).write_bytes(b"")
    store = open_store(tmp_path)
    assert store.topics() == []
    store.close()


def test_a_newer_catalogue_is_refused_and_not_restored(tmp_path: Path) -> None:
    a_catalogue(tmp_path)
    open_store(tmp_path, (*SCHEMA, "CREATE TABLE users (name TEXT)")).close()
    with pytest.raises(CatalogError, match="newer odradek"):
        open_store(tmp_path)
    assert not list(tmp_path.glob("catalog.db.damaged-*"))


def test_one_catalogue_is_used_by_one_broker(tmp_path: Path) -> None:
    first = open_store(tmp_path)
    first.set_fact("x", 1)
    with pytest.raises(CatalogError, match="in use by another process"):
        open_store(tmp_path)
    first.close()


def test_a_catalogue_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def store(*_: object, **__: object) -> CatalogStore:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR
        raise error

    monkeypatch.setattr(recovery, "CatalogStore", store)
    with pytest.raises(CatalogError, match="cannot be opened: disk I/O error"):
        open_store(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path)
    with pytest.raises(CatalogError, match=f"opened: {tmp_path} cannot be written"):
        open_store(tmp_path)


def test_what_was_committed_before_a_kill_is_there(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.insert_topics([(ID, "a", 1, {})])
    # A kill leaves the write-ahead log behind: what a copy of both files shows.
    killed = tmp_path / "killed"
    killed.mkdir()
    for each in tmp_path.glob("catalog.db*"):
        (killed / each.name).write_bytes(each.read_bytes())
    store.close()
    again = open_store(killed)
    assert [row.name for row in again.topics()] == ["a"]
    again.close()


def test_a_torn_end_of_the_write_ahead_log_is_dropped(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.insert_topics([(ID, "a", 1, {})])
    store.insert_topics([(b"b" * 16, "b", 1, {})])
    killed = tmp_path / "killed"
    killed.mkdir()
    for each in tmp_path.glob("catalog.db*"):
        (killed / each.name).write_bytes(each.read_bytes())
    store.close()
    log = killed / "catalog.db-wal"
    log.write_bytes(log.read_bytes()[:-100])
    again = open_store(killed)
    assert [row.name for row in again.topics()] == ["a"]
    again.close()
