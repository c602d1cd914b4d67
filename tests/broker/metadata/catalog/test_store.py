import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from odradek.broker.metadata.catalog.store import (
    SCHEMA,
    CatalogError,
    CatalogStore,
    PartitionRow,
    TopicRow,
    make_directory,
)

ID_A, ID_B = b"a" * 16, b"b" * 16


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.db"


@pytest.fixture
def store(path: Path) -> Iterator[CatalogStore]:
    opened = CatalogStore(path)
    yield opened
    opened.close()


def test_what_is_stored_is_there_after_a_restart(path: Path) -> None:
    store = CatalogStore(path)
    store.set_fact("cluster_id", "c")
    store.insert_topics([(ID_A, "a", 3, {"retention.ms": "1"}), (ID_B, "b", 1, {})])
    store.put_partitions([PartitionRow(ID_A, 2, 7, "/data", True)])
    store.mark_deleting([ID_B])
    store.close()
    again = CatalogStore(path)
    assert again.fact("cluster_id") == "c"
    assert again.fact("nothing") is None
    assert again.topics() == [
        TopicRow(ID_A, "a", 3, 0, False),
        TopicRow(ID_B, "b", 1, 0, True),
    ]
    assert list(again.options()) == [(ID_A, "retention.ms", "1")]
    assert list(again.partitions()) == [PartitionRow(ID_A, 2, 7, "/data", True)]
    again.close()


def test_a_transaction_that_fails_leaves_nothing(store: CatalogStore) -> None:
    store.insert_topics([(ID_A, "a", 1, {})])
    with pytest.raises(sqlite3.IntegrityError):
        store.insert_topics([(ID_B, "b", 1, {}), (b"c", "a", 1, {})])
    assert [row.name for row in store.topics()] == ["a"]
    store.insert_topics([(ID_B, "b", 1, {})])


def test_a_name_is_free_while_its_last_topic_is_being_deleted(
    store: CatalogStore,
) -> None:
    store.insert_topics([(ID_A, "a", 1, {})])
    store.mark_deleting([ID_A])
    store.insert_topics([(ID_B, "a", 1, {})])
    assert [row.is_deleting for row in store.topics()] == [True, False]


def test_what_belongs_to_a_topic_goes_with_it(store: CatalogStore) -> None:
    store.insert_topics([(ID_A, "a", 1, {"retention.ms": "1"})])
    store.put_partitions([PartitionRow(ID_A, 0, 0, None, True)])
    store.remove_topics([ID_A])
    assert store.topics() == []
    assert list(store.options()) == []
    assert list(store.partitions()) == []


def test_partitions_of_a_topic_that_is_gone_are_passed_over(
    store: CatalogStore,
) -> None:
    store.put_partitions([PartitionRow(ID_A, 0, 0, None, True)])
    assert list(store.partitions()) == []


def test_options_are_replaced_as_a_whole(store: CatalogStore) -> None:
    store.insert_topics([(ID_A, "a", 1, {"x": "1", "y": "2"})])
    store.replace_options({ID_A: {"y": "3"}})
    assert list(store.options()) == [(ID_A, "y", "3")]


def test_every_leader_epoch_rises(store: CatalogStore) -> None:
    store.insert_topics([(ID_A, "a", 2, {})])
    store.put_partitions([PartitionRow(ID_A, 0, 4, None, False)])
    store.bump_leader_epochs()
    assert store.topics()[0].leader_epoch == 1
    assert next(store.partitions()).leader_epoch == 5


def test_producer_ids_are_taken_once(path: Path) -> None:
    store = CatalogStore(path)
    assert store.take_producer_ids(10) == 0
    store.close()
    store = CatalogStore(path)
    assert store.take_producer_ids(10) == 10
    store.close()


@pytest.mark.parametrize(("is_durable", "level"), [(True, 2), (False, 1)])
def test_a_commit_waits_for_the_disk_where_it_must_be_durable(
    path: Path, is_durable: bool, level: int
) -> None:
    store = CatalogStore(path, is_durable=is_durable)
    statements: list[str] = []
    store._database.set_trace_callback(statements.append)
    (found,) = store._database.execute("PRAGMA synchronous").fetchone()
    assert found == level
    store.take_producer_ids(1)
    assert "PRAGMA synchronous = FULL" in statements
    assert store._database.execute("PRAGMA synchronous").fetchone() == (level,)
    store.close()


def test_a_topic_of_many_partitions_is_one_row(store: CatalogStore) -> None:
    store.insert_topics([(ID_A, "a", 10_000, {})])
    store.set_partition_counts({ID_A: 100_000})
    assert store.topics()[0].partition_count == 100_000
    assert list(store.partitions()) == []


def test_a_copy_is_a_catalogue(store: CatalogStore, tmp_path: Path) -> None:
    store.insert_topics([(ID_A, "a", 1, {})])
    copy = tmp_path / "copy"
    copy.write_bytes(b"an older one")
    store.copy_to(copy)
    copied = CatalogStore(copy)
    assert [row.name for row in copied.topics()] == ["a"]
    copied.close()
    assert not (tmp_path / "copy.tmp").exists()


def test_a_copy_that_fails_leaves_nothing(store: CatalogStore, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()  # so that no file can take its place
    with pytest.raises(OSError, match="directory"):
        store.copy_to(copy)
    assert not (tmp_path / "copy.tmp").exists()


def test_an_older_catalogue_is_migrated(path: Path) -> None:
    store = CatalogStore(path)
    store.insert_topics([(ID_A, "a", 1, {})])
    store.close()
    newer = (*SCHEMA, "CREATE TABLE users (name TEXT PRIMARY KEY)")
    migrated = CatalogStore(path, newer)
    assert [row.name for row in migrated.topics()] == ["a"]
    migrated.close()
    message = rf"schema version {len(newer)} .* newer odradek"
    with pytest.raises(CatalogError, match=message):
        CatalogStore(path)


def test_a_catalogue_without_resources_gets_them(path: Path) -> None:
    older = CatalogStore(path, SCHEMA[:2])
    older.insert_topics([(ID_A, "a", 1, {})])
    older.close()
    store = CatalogStore(path)
    assert list(store.resource_options()) == []
    store.replace_resource_options({("group", "g"): {"x": "1", "y": "2"}})
    store.close()
    store = CatalogStore(path)
    store.replace_resource_options({("group", "g"): {"x": "3"}})
    assert list(store.resource_options()) == [("group", "g", "x", "3")]
    assert [row.name for row in store.topics()] == ["a"]
    store.close()


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    CatalogStore(path).close()
    broken = (*SCHEMA, "CREATE TABLE users (name TEXT); CREATE NONSENSE")
    with pytest.raises(sqlite3.OperationalError):
        CatalogStore(path, broken)
    CatalogStore(path).close()
    CatalogStore(path, (*SCHEMA, "CREATE TABLE users (name TEXT)")).close()


def test_directories_are_made_with_their_parents(tmp_path: Path) -> None:
    for _ in range(2):
        make_directory(tmp_path / "a" / "b")
        assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="file"):
        make_directory(tmp_path / "file" / "c")


def test_a_thread_takes_what_another_has_left(store: CatalogStore) -> None:
    def elsewhere(use: Callable[[], object]) -> None:
        with ThreadPoolExecutor(1) as threads:
            threads.submit(use).result()

    for use in (store.topics, store.take, store.close):
        with pytest.raises(RuntimeError, match="is used by another thread"):
            elsewhere(use)
    elsewhere(store.leave)  # it has nothing to leave
    assert store.topics() == []
    store.leave()
    with pytest.raises(RuntimeError, match="is used by another thread"):
        store.topics()

    def take_and_leave() -> None:
        store.take()
        store.set_fact("x", 1)
        store.leave()

    elsewhere(take_and_leave)
    store.take()
    assert store.fact("x") == 1
