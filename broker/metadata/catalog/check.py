"""The catalogue, looked at without being touched: for ``odradek fsck``.

SQLite may write to whatever it opens, so it gets a copy: the file, and the log of
what was not yet folded into it.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.fsck.known import TopicFacts
from odradek.storage.fsck.report import Severity

from .checksums import FIRST_VERSION, check_rows
from .recovery import BACKUP, CATALOG
from .schema import SCHEMA

if TYPE_CHECKING:
    from odradek.storage.fsck.report import Findings

_CODE = "catalogue"
_POLICY = "cleanup.policy"


class CatalogView(NamedTuple):
    """What the catalogue says: topics by name, and which partitions have a log."""

    topics: dict[str, TopicFacts]
    written: dict[TopicPartition, str | None]  # the log directory, if it is named


def read_catalog(
    directory: Path, findings: Findings, is_in_use: bool
) -> CatalogView | None:
    """Check the catalogue in ``directory`` and its copy; None when neither helps.

    A running broker changes the file while it is copied: what looks like damage then
    is a note.
    """
    severity = Severity.NOTE if is_in_use else Severity.DAMAGE
    views = []
    for name in (CATALOG, BACKUP):
        if not (directory / name).exists():
            continue
        try:
            views.append(_read(directory / name))
        except (sqlite3.Error, OSError, ValueError) as error:
            findings.add(severity, _CODE, name, f"cannot be used: {error}")
    return views[0] if views else None


def _read(path: Path) -> CatalogView:
    with TemporaryDirectory(prefix="odradek-fsck-") as scratch:
        copy = Path(scratch) / path.name
        shutil.copyfile(path, copy)
        log = path.with_name(path.name + "-wal")
        if log.exists():
            shutil.copyfile(log, copy.with_name(log.name))
        with closing(sqlite3.connect(copy)) as database:
            _check(database)
            return _view(database)


def _check(database: sqlite3.Connection) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > len(SCHEMA):
        raise ValueError(
            f"schema version {version}; this odradek knows versions up to {len(SCHEMA)}"
        )
    (verdict,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise ValueError(verdict)
    if version >= FIRST_VERSION:
        check_rows(database)


def _view(database: sqlite3.Connection) -> CatalogView:
    policies = dict(
        database.execute(
            "SELECT topic_id, value FROM topic_options WHERE name = ?", (_POLICY,)
        )
    )
    topics, names = {}, {}
    # A topic that lives comes after one that is being deleted, and stays.
    for topic_id, name, is_deleting in database.execute(
        "SELECT topic_id, name, is_deleting FROM topics ORDER BY is_deleting DESC"
    ):
        policy = policies.get(topic_id)
        is_compacted = None if policy is None else "compact" in policy
        topics[name] = TopicFacts(
            None if is_deleting else topic_id, None if is_deleting else is_compacted
        )
        if not is_deleting:
            names[topic_id] = name
    written = {
        TopicPartition(names[topic_id], partition): log_dir
        for topic_id, partition, log_dir in database.execute(
            "SELECT topic_id, partition, log_dir FROM partitions WHERE written = 1"
        )
        if topic_id in names
    }
    return CatalogView(topics, written)
