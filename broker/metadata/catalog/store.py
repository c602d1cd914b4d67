"""The catalogue as a SQLite file: topics, partitions, options, and counters.

Invariants: each method that writes is one transaction, durable when it returns
(WAL, synchronous=FULL); where nothing has to be durable it is whole all the same, but
a power cut may take the last ones back (synchronous=NORMAL). A topic's id is never
used again; its name can be, while a topic that is being deleted still has it. A
partition without a row has its topic's leader epoch, no directory yet, and was never
written to: a topic of 10,000 partitions is one row.

One thread uses an open file, and it can leave it to another: two that use one
connection of SQLite wait for each other for ever, one with its lock, one with Python's
(the checksums are functions of ours, which SQLite calls).
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from .checksums import FIRST_VERSION, check_rows, register, seal_schema
from .schema import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from odradek.broker.metadata.delegation_token import DelegationToken
    from odradek.protocol.acl_entries import AclEntry

# As the fields of an entry follow each other, whose module few brokers need.
ACL_COLUMNS = (
    "resource_type, resource_name, pattern_type, principal, host, operation, permission"
)
TOKEN_COLUMNS = "token_id, owner, requester, renewers, issue_ms, expiry_ms, max_ms"
_ACL_IS = " AND ".join(f"{name} = ?" for name in ACL_COLUMNS.split(", "))


class CatalogError(Exception):
    """The catalogue cannot be used; the message says why and what to do."""


class TopicRow(NamedTuple):
    """A topic as it is stored. ``leader_epoch`` is that of partitions without a row."""

    topic_id: bytes
    name: str
    partition_count: int
    leader_epoch: int
    is_deleting: bool


class PartitionRow(NamedTuple):
    """What is stored of a partition that has a directory or an epoch of its own."""

    topic_id: bytes
    partition: int
    leader_epoch: int
    log_dir: str | None
    written: bool


class CatalogStore:
    """One open catalogue file. Blocking; used by the thread that opened or took it."""

    def __init__(
        self, path: Path, schema: tuple[str, ...] = SCHEMA, *, is_durable: bool = True
    ) -> None:
        self.path = path
        self.is_restored = False  # of its copy: the last changes may be missing
        self._level = "FULL" if is_durable else "NORMAL"
        self._user: int | None = get_ident()  # the thread; None: who takes it
        self._connection = sqlite3.connect(
            path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(schema)
        except BaseException:
            self._connection.close()
            raise

    def leave(self) -> None:
        """Use it no more in this thread, if it does: another will take it."""
        if self._user == get_ident():
            self._user = None

    def take(self) -> None:
        """From now on it is used by this thread, and by no other.

        Raises:
            RuntimeError: another thread uses it, and has not left it.
        """
        if self._user is None:
            self._user = get_ident()
        self._check_user()

    def _check_user(self) -> None:
        if self._user != get_ident():
            raise RuntimeError(f"{self.path} is used by another thread")

    @property
    def _database(self) -> sqlite3.Connection:
        self._check_user()
        return self._connection

    def fact(self, name: str) -> str | int | None:
        """One stored value that belongs to no topic."""
        row = self._database.execute(
            "SELECT value FROM facts WHERE name = ?", (name,)
        ).fetchone()
        return row[0] if row else None

    def set_fact(self, name: str, value: str | int) -> None:
        """Store such a value."""
        with self._transaction() as database:
            database.execute(
                "REPLACE INTO facts (name, value) VALUES (?, ?)", (name, value)
            )

    def topics(self) -> list[TopicRow]:
        """All topics, those that are being deleted too."""
        query = (
            "SELECT topic_id, name, partition_count, leader_epoch, is_deleting "
            "FROM topics"
        )
        return [
            TopicRow(topic_id, name, count, epoch, bool(is_deleting))
            for topic_id, name, count, epoch, is_deleting in self._database.execute(
                query
            )
        ]

    def options(self) -> Iterator[tuple[bytes, str, str]]:
        """All options that topics set: topic id, name, value."""
        yield from self._database.execute(
            "SELECT topic_id, name, value FROM topic_options"
        )

    def partitions(self) -> Iterator[PartitionRow]:
        """The partitions that have a row."""
        query = (
            "SELECT topic_id, partition, leader_epoch, log_dir, written FROM partitions"
        )
        for topic_id, number, epoch, log_dir, written in self._database.execute(query):
            yield PartitionRow(topic_id, number, epoch, log_dir, bool(written))

    def resource_options(self) -> Iterator[tuple[str, str, str, str]]:
        """All options of what is no topic: kind, resource, name, value."""
        yield from self._database.execute(
            "SELECT kind, resource, name, value FROM resource_options"
        )

    def replace_resource_options(
        self, options: Mapping[tuple[str, str], Mapping[str, str]]
    ) -> None:
        """Give resources (kind and name) these options in the place of all theirs."""
        with self._copied_change() as database:
            for resource, values in options.items():
                database.execute(
                    "DELETE FROM resource_options WHERE kind = ? AND resource = ?",
                    resource,
                )
                database.executemany(
                    "INSERT INTO resource_options (kind, resource, name, value) "
                    "VALUES (?, ?, ?, ?)",
                    [(*resource, name, value) for name, value in values.items()],
                )

    def acls(self) -> Iterable[tuple[Any, ...]]:
        """The fields of all entries of access control lists."""
        return self._database.execute(f"SELECT {ACL_COLUMNS} FROM acls")

    def change_acls(
        self, removed: Iterable[AclEntry], added: Iterable[AclEntry]
    ) -> None:
        """Remove and add entries of access control lists."""
        with self._copied_change() as database:
            database.executemany(f"DELETE FROM acls WHERE {_ACL_IS}", removed)
            database.executemany(
                f"INSERT INTO acls ({ACL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", added
            )

    def tokens(self) -> Iterable[tuple[Any, ...]]:
        """The rows of all delegation tokens."""
        return self._database.execute(f"SELECT {TOKEN_COLUMNS} FROM tokens")

    def change_tokens(
        self, removed: Iterable[str], put: Iterable[DelegationToken]
    ) -> None:
        """Remove delegation tokens by their ids; store others, or as they are now."""
        with self._copied_change() as database:
            database.executemany(
                "DELETE FROM tokens WHERE token_id = ?",
                [(token_id,) for token_id in removed],
            )
            database.executemany(
                f"REPLACE INTO tokens ({TOKEN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [token.row() for token in put],
            )

    def insert_topics(
        self, topics: Iterable[tuple[bytes, str, int, Mapping[str, str]]]
    ) -> None:
        """Add topics: id, name, count of partitions, options."""
        with self._copied_change() as database:
            for topic_id, name, partition_count, options in topics:
                database.execute(
                    "INSERT INTO topics (topic_id, name, partition_count) "
                    "VALUES (?, ?, ?)",
                    (topic_id, name, partition_count),
                )
                self._insert_options(topic_id, options)

    def set_partition_counts(self, counts: Mapping[bytes, int]) -> None:
        """Widen topics."""
        with self._copied_change() as database:
            database.executemany(
                "UPDATE topics SET partition_count = ? WHERE topic_id = ?",
                [(count, topic_id) for topic_id, count in counts.items()],
            )

    def replace_options(self, options: Mapping[bytes, Mapping[str, str]]) -> None:
        """Give topics these options in the place of what they had."""
        with self._copied_change() as database:
            for topic_id, values in options.items():
                database.execute(
                    "DELETE FROM topic_options WHERE topic_id = ?", (topic_id,)
                )
                self._insert_options(topic_id, values)

    def mark_deleting(self, topic_ids: Iterable[bytes]) -> None:
        """Say that these topics are being deleted: the first step of a deletion."""
        with self._copied_change() as database:
            database.executemany(
                "UPDATE topics SET is_deleting = 1 WHERE topic_id = ?",
                [(topic_id,) for topic_id in topic_ids],
            )

    def remove_topics(self, topic_ids: Iterable[bytes]) -> None:
        """Forget topics: the last step of a deletion."""
        with self._copied_change() as database:
            database.executemany(
                "DELETE FROM topics WHERE topic_id = ?",
                [(topic_id,) for topic_id in topic_ids],
            )

    def put_partitions(self, rows: Iterable[PartitionRow]) -> None:
        """Store what is known of partitions. A topic that is gone is passed over."""
        with self._transaction() as database:
            database.executemany(
                "REPLACE INTO partitions "
                "(topic_id, partition, leader_epoch, log_dir, written) "
                "SELECT ?1, ?2, ?3, ?4, ?5 "
                "WHERE EXISTS (SELECT 1 FROM topics WHERE topic_id = ?1)",
                rows,
            )

    def bump_leader_epochs(self) -> None:
        """Raise the leader epoch of every partition by one."""
        with self._transaction() as database:
            database.execute("UPDATE topics SET leader_epoch = leader_epoch + 1")
            database.execute("UPDATE partitions SET leader_epoch = leader_epoch + 1")

    def take_producer_ids(self, count: int) -> int:
        """The first of ``count`` producer ids that nobody got before.

        Durable in any case: a log that has one must not meet it again.
        """
        self._database.execute("PRAGMA synchronous = FULL")
        first = self._take_producer_ids(count)
        self._database.execute(f"PRAGMA synchronous = {self._level}")
        return first

    def _take_producer_ids(self, count: int) -> int:
        with self._transaction() as database:
            (first,) = database.execute(
                "SELECT value FROM facts WHERE name = 'next_producer_id'"
            ).fetchone()
            database.execute(
                "UPDATE facts SET value = value + ? WHERE name = 'next_producer_id'",
                (count,),
            )
        return int(first)

    def begin_producer_ids(self, first: int) -> tuple[int, int]:
        """Take those from ``first`` on, if that was not asked for before.

        Returns how many were taken before that, and where it then began.
        """
        if self.fact("producer_ids_before") is None:
            facts = ("producer_ids_begin", first), ("next_producer_id", first)
            before = "producer_ids_before", self.fact("next_producer_id")
            query = "REPLACE INTO facts (name, value) VALUES (?, ?)"
            with self._copied_change() as database:
                database.executemany(query, [before, *facts])
        begin = int(self.fact("producer_ids_begin") or 0)
        return int(self.fact("producer_ids_before") or 0), begin

    def copy_to(self, path: Path) -> None:
        """Put a copy of the catalogue in the place of ``path``, whole or not at all."""
        unfinished = path.with_name(path.name + ".tmp")
        unfinished.unlink(missing_ok=True)
        try:
            self._database.execute("VACUUM INTO ?", (str(unfinished),))
            sync_path(unfinished)
            unfinished.replace(path)
        except BaseException:  # on a full disk it would be in the way
            unfinished.unlink(missing_ok=True)
            raise
        sync_path(path.parent)

    def close(self) -> None:
        """Close the file; its write-ahead log is folded in."""
        self._database.close()

    def _prepare(self, schema: tuple[str, ...]) -> None:
        is_new = not self.path.exists() or self.path.stat().st_size == 0
        database = self._database
        # Exclusive: a second broker is refused here, whatever directory it locked.
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"PRAGMA synchronous = {self._level}")
        database.execute("PRAGMA foreign_keys = ON")
        register(database)
        version = 0 if is_new else self._check(len(schema))
        # All steps at once: a commit is a sync, for which the start waits.
        steps = [
            f"{schema[number]}; {seal_schema(number + 1)}"
            f"PRAGMA user_version = {number + 1};"
            for number in range(version, len(schema))
        ]
        if steps:
            database.executescript(f"BEGIN IMMEDIATE; {' '.join(steps)} COMMIT")
        if is_new:
            sync_path(self.path.parent)

    def _check(self, version_max: int) -> int:
        """The schema version of a catalogue that is whole."""
        # It reads all of the file: some milliseconds a megabyte.
        database = self._database
        (verdict,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version >= FIRST_VERSION:
            check_rows(database)
            if version != self.fact("schema_version"):
                raise sqlite3.DatabaseError("the schema version is damaged")
        if version > version_max:
            raise CatalogError(
                f"{self.path} has schema version {version} and was written by a newer "
                f"odradek; this one knows versions up to {version_max}"
            )
        return int(version)

    def _insert_options(self, topic_id: bytes, options: Mapping[str, str]) -> None:
        self._database.executemany(
            "INSERT INTO topic_options (topic_id, name, value) VALUES (?, ?, ?)",
            [(topic_id, name, value) for name, value in options.items()],
        )

    @contextmanager
    def _copied_change(self) -> Iterator[sqlite3.Connection]:
        """A transaction after which a copy is made: the copy must not know more."""
        with self._transaction() as database:
            yield database
            database.execute(
                "UPDATE facts SET value = value + 1 WHERE name = 'change_count'"
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise


def make_directory(path: Path) -> None:
    """``mkdir -p`` that a power cut does not undo."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    sync_path(path.parent)


def sync_path(path: Path) -> None:
    """Wait until a file, or the entries of a directory, are on the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
