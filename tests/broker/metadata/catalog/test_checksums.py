"""The catalogue damaged at every page: what is served is what was written."""

import logging
import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.catalog.checksums import check_rows
from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG, open_store
from odradek.broker.metadata.catalog.store import SCHEMA, CatalogStore, PartitionRow

PAGE = 4096
FRAME = 24 + PAGE
WAL_HEADER = 32
FLIPS_PER_PAGE = 400 if os.environ.get("ODRADEK_LONG") else 2

State = list[list[Any]]


def fill(store: CatalogStore, first: int = 0, end: int = 40) -> None:
    numbers = range(first, end)
    store.insert_topics(
        [(bytes([n]) * 16, f"topic-{n}", 3, {"retention.ms": f"{n}"}) for n in numbers]
    )
    store.put_partitions(
        [
            PartitionRow(bytes([n]) * 16, partition, 1, "/data/of/some/disk", True)
            for n in numbers
            for partition in range(3)
        ]
    )
    store.replace_resource_options(
        {("group", f"group-{n}"): {"consumer.size": f"{n}"} for n in numbers}
    )


def state(store: CatalogStore) -> State:
    tables = (
        store.topics(),
        store.options(),
        store.partitions(),
        store.resource_options(),
    )
    return [sorted(table) for table in tables]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sound")
    store = open_store(directory)
    fill(store)
    store.copy_to(directory / BACKUP)
    store.close()
    return directory


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a kill leaves it: all of it in the write-ahead log, and a copy."""
    directory = tmp_path_factory.mktemp("killed")
    store = open_store(directory)
    for first in range(0, 40, 20):
        fill(store, first, first + 20)
    store.copy_to(directory / BACKUP)
    copy = directory / "copy"
    copy.mkdir()
    for name in (CATALOG, f"{CATALOG}-wal", BACKUP):
        shutil.copy(directory / name, copy / name)
    store.close()
    return copy


def damaged(data: bytes, begin: int, size: int, seed: int) -> Iterator[bytes]:
    """One page flipped here and there, zeroed, overwritten, and cut."""
    chance = random.Random(seed)
    end = begin + size
    for _ in range(FLIPS_PER_PAGE):
        flipped = bytearray(data)
        flipped[chance.randrange(begin, min(end, len(data)))] ^= 1 << chance.randrange(
            8
        )
        yield bytes(flipped)
    yield data[:begin] + bytes(size) + data[end:]
    yield data[:begin] + chance.randbytes(size) + data[end:]
    yield data[:begin]
    yield data[: begin + size // 2]


def check_each(
    source: Path, target: Path, name: str, begin: int, size: int, tables: int = 3
) -> int:
    """Open the catalogue with each damage; returns how often the copy was used."""
    data = (source / name).read_bytes()
    store = open_copy(source, target)
    expected = state(store)
    store.close()
    restored = 0
    for position in range(begin, len(data), size):
        for content in damaged(data, position, size, position):
            shutil.rmtree(target)
            store = open_copy(source, target, {name: content})
            assert state(store)[:tables] == expected[:tables], (name, position)
            assert store.fact("cluster_id") is None
            store.close()
            restored += bool(list(target.glob("*.damaged-*")))
    return restored


def open_copy(
    source: Path, target: Path, contents: dict[str, bytes] | None = None
) -> CatalogStore:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("copy"))
    for name, content in (contents or {}).items():
        (target / name).write_bytes(content)
    return open_store(target)


def test_a_catalogue_damaged_at_any_page_is_what_it_was(
    sound: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    restored = check_each(sound, tmp_path / "d", CATALOG, 0, PAGE)
    assert restored


def test_a_write_ahead_log_damaged_at_any_page_loses_nothing(
    killed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No topic and no option; what is known of a partition its directory says too."""
    caplog.set_level(logging.CRITICAL)
    name = f"{CATALOG}-wal"
    restored = check_each(killed, tmp_path / "d", name, WAL_HEADER, FRAME, tables=2)
    assert restored


def test_a_damaged_copy_harms_nobody(sound: Path, tmp_path: Path) -> None:
    data = (sound / BACKUP).read_bytes()
    with closing(open_copy(sound, tmp_path / "sound")) as store:
        expected = state(store)
    for number, content in enumerate(damaged(data, 0, len(data), 1)):
        store = open_copy(sound, tmp_path / str(number), {BACKUP: content})
        assert state(store) == expected
        store.close()


def test_every_way_of_writing_gives_a_checksum(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    fill(store)
    store.set_partition_counts({bytes(16): 9})
    store.replace_options({bytes(16): {"a": "b"}, bytes([1]) * 16: {}})
    store.mark_deleting([bytes([2]) * 16])
    store.remove_topics([bytes([3]) * 16])
    store.bump_leader_epochs()
    store.take_producer_ids(5)
    store.set_fact("cluster_id", "x")
    store.set_fact("cluster_id", "y")
    store.close()
    database = sqlite3.connect(tmp_path / CATALOG)
    check_rows(database)
    database.execute("DROP TRIGGER topics_updated")
    with pytest.raises(sqlite3.DatabaseError, match="the schema is damaged"):
        check_rows(database)
    database.execute("UPDATE topics SET name = 'other' WHERE name = 'topic-7'")
    with pytest.raises(sqlite3.DatabaseError, match="1 rows of topics are damaged"):
        check_rows(database)
    database.close()


def test_rows_of_the_first_version_get_checksums(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / CATALOG)
    database.executescript(f"{SCHEMA[0]}; PRAGMA user_version = 1")
    row = (bytes(16), "a", 3)
    database.execute(
        "INSERT INTO topics (topic_id, name, partition_count) VALUES (?, ?, ?)", row
    )
    database.commit()
    database.close()
    store = open_store(tmp_path)
    assert [each.name for each in store.topics()] == ["a"]
    store.close()
    database = sqlite3.connect(tmp_path / CATALOG)
    check_rows(database)
    database.close()


def test_the_copy_is_used_when_it_knows_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path)
    fill(store, 0, 1)
    old = tmp_path / "old"
    store.copy_to(old)
    fill(store, 1, 2)
    store.copy_to(tmp_path / BACKUP)
    store.close()
    old.replace(tmp_path / CATALOG)
    store = open_store(tmp_path)
    assert [each.name for each in store.topics()] == ["topic-0", "topic-1"]
    assert "has lost its last changes" in caplog.text
    store.close()


def test_a_catalogue_of_a_relative_path_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        store = open_store(Path())
        store.copy_to(Path(BACKUP))
        store.close()
