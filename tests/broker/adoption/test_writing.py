import sqlite3
from pathlib import Path

import pytest

from odradek.broker.adoption.writing import (
    AdoptedPartition,
    AdoptedTopic,
    write_catalog,
)
from odradek.broker.metadata.catalog.recovery import open_store
from odradek.broker.metadata.catalog.store import CatalogStore, PartitionRow, TopicRow
from odradek.broker.metadata.delegation_token import DelegationToken
from odradek.protocol.acl_entries import AclEntry

ID_A, ID_B = b"a" * 16, b"b" * 16
FACTS = {"cluster_id": "c", "next_producer_id": 4000}
TOPICS = [
    AdoptedTopic(
        "a",
        ID_A,
        {"retention.ms": "-1"},
        [
            AdoptedPartition(0, 7, Path("/data"), True),
            AdoptedPartition(1, 0, None, False),
            AdoptedPartition(2, 0, None, True),
        ],
    ),
    AdoptedTopic("b", ID_B, {}, [AdoptedPartition(0, 0, None, False)]),
]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("from_backup", [False, True])
def test_the_broker_opens_what_was_written(from_backup: bool, tmp_path: Path) -> None:
    directory = tmp_path / "new"
    write_catalog(directory, TOPICS, FACTS)
    assert names(directory) == ["catalog.backup", "catalog.db"]
    if from_backup:
        (directory / "catalog.db").unlink()
    store = open_store(directory)
    assert store.fact("cluster_id") == "c"
    # From a backup some are skipped: it may be older than the last that were given.
    assert store.take_producer_ids(1) == (1_004_000 if from_backup else 4000)
    assert store.topics() == [
        TopicRow(ID_A, "a", 3, 0, False),
        TopicRow(ID_B, "b", 1, 0, False),
    ]
    assert list(store.options()) == [(ID_A, "retention.ms", "-1")]
    assert list(store.partitions()) == [
        PartitionRow(ID_A, 0, 7, "/data", True),
        PartitionRow(ID_A, 2, 0, None, True),
    ]
    store.close()


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        write_catalog(tmp_path, [TOPICS[0], TOPICS[0]], FACTS)
    assert names(tmp_path) == []


@pytest.mark.parametrize("copies_made", [0, 1])
def test_a_kill_leaves_all_or_nothing(
    copies_made: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_to = CatalogStore.copy_to
    copied: list[Path] = []

    def copy_or_die(store: CatalogStore, path: Path) -> None:
        if len(copied) == copies_made:
            raise KeyboardInterrupt
        copied.append(path)
        copy_to(store, path)

    monkeypatch.setattr(CatalogStore, "copy_to", copy_or_die)
    with pytest.raises(KeyboardInterrupt):
        write_catalog(tmp_path, TOPICS, FACTS)
    monkeypatch.undo()
    assert names(tmp_path) == ["catalog.db"][:copies_made]
    if not copies_made:
        (tmp_path / "catalog.db.adopting").write_bytes(b"what a kill leaves")
        write_catalog(tmp_path, TOPICS, FACTS)
    store = open_store(tmp_path)
    assert [row.name for row in store.topics()] == ["a", "b"]
    store.close()


def test_access_control_lists_and_tokens_are_written(tmp_path: Path) -> None:
    entry = AclEntry(2, "b", 4, "User:alice", "*", 3, 3)
    token = DelegationToken("id", "User:a", "User:b", ("User:c",), 1, 2, 3)
    write_catalog(tmp_path / "new", [], FACTS, acls=[entry], tokens=[token])
    store = open_store(tmp_path / "new")
    assert list(store.acls()) == [entry]
    assert list(store.tokens()) == [token.row()]
    store.close()
