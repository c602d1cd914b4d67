import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from odradek.broker.metadata.catalog.check import read_catalog
from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG
from odradek.broker.metadata.catalog.store import CatalogStore, PartitionRow
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.fsck.known import TopicFacts
from odradek.storage.fsck.report import Findings, Severity

FIRST, SECOND, GONE = (bytes([number]) * 16 for number in (1, 2, 3))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    store = CatalogStore(tmp_path / CATALOG)
    store.insert_topics(
        [(FIRST, "a", 1, {}), (GONE, "b", 1, {"cleanup.policy": "delete"})]
    )
    store.mark_deleting([GONE])
    store.insert_topics([(SECOND, "b", 2, {"cleanup.policy": "compact,delete"})])
    store.put_partitions(
        [
            PartitionRow(FIRST, 0, 0, "/elsewhere", written=True),
            PartitionRow(SECOND, 1, 0, None, written=False),
        ]
    )
    store.copy_to(tmp_path / BACKUP)
    store.close()
    return tmp_path


def found(directory: Path, is_in_use: bool = False) -> list[tuple[Severity, str, str]]:
    findings = Findings()
    read_catalog(directory, findings, is_in_use)
    return [(one.severity, one.file, one.message) for one in findings]


def test_what_a_sound_catalogue_says(directory: Path) -> None:
    findings = Findings()
    view = read_catalog(directory, findings, is_in_use=False)
    assert list(findings) == []
    assert view is not None
    assert view.topics == {
        "a": TopicFacts(FIRST, None),
        "b": TopicFacts(SECOND, is_compacted=True),
    }
    assert view.written == {TopicPartition("a", 0): "/elsewhere"}


def test_nothing_is_left_beside_it(directory: Path) -> None:
    before = sorted(directory.iterdir())
    read_catalog(directory, Findings(), is_in_use=False)
    assert sorted(directory.iterdir()) == before


def test_what_was_not_folded_in_is_seen(tmp_path: Path) -> None:
    store = CatalogStore(tmp_path / CATALOG)
    store.insert_topics([(FIRST, "a", 1, {})])
    view = read_catalog(tmp_path, Findings(), is_in_use=True)
    store.close()
    assert view is not None
    assert list(view.topics) == ["a"]


def test_damage_is_told_and_the_copy_used(directory: Path) -> None:
    (directory / CATALOG).write_bytes(b"no database at all" * 100)
    [(severity, name, message)] = found(directory)
    assert (severity, name) == (Severity.DAMAGE, CATALOG)
    assert "cannot be used" in message
    assert found(directory, is_in_use=True)[0][0] is Severity.NOTE
    view = read_catalog(directory, Findings(), is_in_use=False)
    assert view is not None
    (directory / BACKUP).write_bytes(b"nor this one" * 100)
    assert len(found(directory)) == 2


def test_a_newer_one_is_named(directory: Path) -> None:
    with closing(sqlite3.connect(directory / CATALOG)) as database:
        database.execute("PRAGMA user_version = 99")
    [(_, _, message)] = found(directory)
    assert "schema version 99" in message


def test_there_may_be_none(tmp_path: Path) -> None:
    assert read_catalog(tmp_path, Findings(), is_in_use=False) is None


@pytest.mark.parametrize("seed", range(40))
def test_no_page_makes_it_fail(directory: Path, seed: int) -> None:
    path = directory / CATALOG
    data = bytearray(path.read_bytes())
    for number in range(seed * 97 % 512, len(data), 512 * (1 + seed % 5)):
        data[number] ^= 1 << seed % 8
    path.write_bytes(data)
    read_catalog(directory, Findings(), is_in_use=False)
