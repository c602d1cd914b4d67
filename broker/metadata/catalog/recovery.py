"""Opening the catalogue of a directory, also when the file is damaged or gone.

A damaged file is set aside under another name, never deleted, and the copy that
was made after the last change of a topic takes its place.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

from .checksums import check_rows
from .schema import SCHEMA
from .store import CatalogError, CatalogStore, sync_path

if TYPE_CHECKING:
    from pathlib import Path

CATALOG = "catalog.db"
BACKUP = "catalog.backup"

# The copy may be older than the last blocks that were given away.
_PRODUCER_IDS_SKIPPED = 1_000_000

_SYSTEM_ERRORS = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_NOMEM,
    }
)

_logger = logging.getLogger(__name__)


def open_store(
    directory: Path, schema: tuple[str, ...] = SCHEMA, *, is_durable: bool = True
) -> CatalogStore:
    """The catalogue of ``directory``, made when there is none.

    ``is_durable``: what is committed outlives a power cut.

    Raises:
        CatalogError: it cannot be opened: in use, of a newer version, or damaged
            without a copy to use.
        OSError: the directory cannot be used.
    """
    path = directory / CATALOG
    backup = directory / BACKUP
    is_missing = not path.exists() or path.stat().st_size == 0
    if is_missing and backup.exists():
        return _restore(path, backup, "is missing or empty", schema)
    try:
        store = CatalogStore(path, schema, is_durable=is_durable)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if _is_of_the_system(error):
            raise _unusable(path, error) from error
        return _restore(path, backup, f"is damaged ({error})", schema)
    if _has_lost_changes(store, backup):
        store.close()
        return _restore(path, backup, "has lost its last changes", schema)
    return store


def _is_of_the_system(error: Exception) -> bool:
    """Whether the file was not even looked at: in use, no room, no permission."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    return code in _SYSTEM_ERRORS


def _has_lost_changes(store: CatalogStore, backup: Path) -> bool:
    """Whether the copy knows more topic changes: it is made after they are durable.

    SQLite drops the end of a damaged write-ahead log without a word.
    """
    if not backup.exists():
        return False
    try:
        with closing(sqlite3.connect(_read_only(backup), uri=True)) as copy:
            check_rows(copy)
            (count,) = copy.execute(
                "SELECT value FROM facts WHERE name = 'change_count'"
            ).fetchone()
    except sqlite3.Error as error:
        _logger.error("the copy %s is damaged (%s)", backup, error)
        return False
    return bool(count > (store.fact("change_count") or 0))


def _read_only(path: Path) -> str:
    return f"{path.absolute().as_uri()}?immutable=1"


def _unusable(path: Path, error: Exception) -> CatalogError:
    if "locked" in str(error):
        return CatalogError(f"{path} is in use by another process")
    for each in (path, path.parent):
        # SQLite says of it what it says of a broken disk.
        if each.exists() and not os.access(each, os.W_OK):
            return CatalogError(f"{path} cannot be opened: {each} cannot be written")
    return CatalogError(f"{path} cannot be opened: {error}")


def _restore(
    path: Path, backup: Path, what_is_wrong: str, schema: tuple[str, ...]
) -> CatalogStore:
    if not backup.exists():
        raise CatalogError(
            f"{path} {what_is_wrong} and there is no {backup.name} beside it; put a "
            "copy there, or move the file away to start with no topics"
        )
    set_aside = _set_aside(path)
    unfinished = path.with_name(path.name + ".tmp")
    from shutil import copyfile

    copyfile(backup, unfinished)
    sync_path(unfinished)
    unfinished.replace(path)
    sync_path(path.parent)
    try:
        store = CatalogStore(path, schema)
    except sqlite3.Error as error:
        raise CatalogError(
            f"{path} {what_is_wrong}, and so is its copy {backup} ({error}); both are "
            "kept"
        ) from error
    store.is_restored = True
    store.take_producer_ids(_PRODUCER_IDS_SKIPPED)
    kept = f"; it is kept as {set_aside}" if set_aside else ""
    _logger.error("%s %s: going on with %s%s", path, what_is_wrong, backup, kept)
    return store


def _set_aside(path: Path) -> Path | None:
    """Rename the file and what SQLite has beside it; say what it is called now."""
    name = f"{path.name}.damaged-{time.time_ns() // 1_000_000}"
    moved = None
    for suffix in ("-wal", "-shm", ""):
        old = path.with_name(path.name + suffix)
        if old.exists():
            moved = old.replace(path.with_name(name + suffix))
    return moved
