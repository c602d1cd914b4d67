"""A file that a task writes: in a shared folder, or on its way to a store.

In a folder it has a temporary name until it is whole, and is synced by who wrote it:
the driver may be another machine. A file for a store is written without a name, on a
disk of the task's machine, and put when it is whole: what a killed task leaves there
the system removes. So Spark needs no file system of that store, and no jar.
"""

from __future__ import annotations

import errno
import os
import socket
import tempfile
import uuid
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from odradek.objects.location import location_of_object
from odradek.objects.opening import open_store, read_settings
from odradek.objects.reading import open_object
from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.tables.table import sync

from .store_place import StoreFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.objects.store import ObjectStore

    from .place import StagingFolder

Folder = str | Path | StoreFolder
_STORES_KEPT = 4


class TaskFile(Protocol):
    """A file that is being written."""

    sink: Any  # what pyarrow writes to

    @property
    def size(self) -> int:
        """The bytes that are in it by now."""

    def telling(self) -> AbstractContextManager[None]:
        """To write in: a disk that is full is named, where that is this machine's."""

    def finish(self) -> tuple[str, int]:
        """Make it whole; its path, and its size."""

    def abandon(self) -> None:
        """Leave nothing that looks whole."""


def as_told(folder: StagingFolder) -> Folder:
    """A staging folder as tasks are told it."""
    return folder if isinstance(folder, StoreFolder) else str(folder)


def new_task_file(folder: Folder) -> TaskFile:
    """A file in a staging folder.

    Raises:
        OSError: there is no room for it, or no such folder.
    """
    if isinstance(folder, StoreFolder):
        return _Sent(folder)
    return _Staged(str(folder))


def opened(path: str, folder: Folder) -> Any:
    """A file beside or below such a folder's table, as pyarrow takes it."""
    if isinstance(folder, StoreFolder):
        return open_object(store_of(folder), location_of_object(path).path)
    return path


class _Staged:
    """In a folder that driver and tasks share."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, f"{uuid.uuid4().hex}.parquet")
        self.sink = self._path + ".tmp"

    @property
    def size(self) -> int:
        """The bytes that are in it by now."""
        return os.path.getsize(self.sink)

    def telling(self) -> AbstractContextManager[None]:
        """The error says it."""
        return nullcontext()

    def finish(self) -> tuple[str, int]:
        """Make it whole; its path, and its size."""
        sync(self.sink)
        os.rename(self.sink, self._path)
        return self._path, os.path.getsize(self._path)

    def abandon(self) -> None:
        """It keeps its temporary name."""


class _Sent:
    """On its way to a store."""

    def __init__(self, folder: StoreFolder) -> None:
        self._place = folder.location.child(f"{uuid.uuid4().hex}.parquet")
        self._store = store_of(folder)
        with _telling_full_disk():
            self.sink: Any = tempfile.TemporaryFile(  # noqa: SIM115
                dir=scratch_folder()
            )

    @property
    def size(self) -> int:
        """The bytes that are in it by now."""
        return int(self.sink.tell())

    def telling(self) -> AbstractContextManager[None]:
        """Say which machine has no room."""
        return _telling_full_disk()

    def finish(self) -> tuple[str, int]:
        """Put it; its URL, and its size."""
        with self.sink:
            with _telling_full_disk():
                self.sink.flush()
            return str(self._place), self._store.put_file(self._place.path, self.sink)

    def abandon(self) -> None:
        """Nothing of it was put."""
        self.sink.close()


def store_of(folder: StoreFolder) -> ObjectStore:
    """The store of a folder; that of the last ones is kept."""
    return _store(str(folder.location), folder.options)


@lru_cache(_STORES_KEPT)
def _store(folder: str, options: tuple[tuple[str, str], ...]) -> ObjectStore:
    return open_store(read_settings(folder, dict(options)))


def scratch_folder() -> str:
    """Where Spark has its own temporary files; the system's place otherwise."""
    named = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0].strip()
    return named if named and os.path.isdir(named) else tempfile.gettempdir()


@contextmanager
def _telling_full_disk() -> Iterator[None]:
    """Say which machine has no room for files on their way to a store."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise JobStopped(
            f"{socket.gethostname()} has no room in {scratch_folder()} for files on"
            " their way to the store (up to 512 MB each): let SPARK_LOCAL_DIRS or"
            " TMPDIR name a larger disk"
        ) from None
