"""Where a table lies: in a folder of a file system, or in a store of objects.

Delta and Iceberg tables are written by their libraries, which know both; what is done
beside them is here: staging folders, notes, what is durable, what is removed.
"""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from odradek.objects.location import ObjectLocation
from odradek.pipeline.job_errors import JobError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Location = Path | ObjectLocation


class StagingFolder(Protocol):
    """Where the files of a batch are written, before readers see them."""

    @property
    def name(self) -> str:
        """Its own name, without those above."""

    def rmdir(self) -> None:
        """Remove it while nothing is in it."""


class FileStatus(NamedTuple):
    """A data file as it lies there."""

    size: int
    changed_ms: int


class TablePlace(Protocol):
    """What jobs do to a table's folder, beside its format's library."""

    @property
    def location(self) -> Location:
        """For messages."""

    @property
    def uri(self) -> str:
        """The table, as Iceberg writes it down."""

    @property
    def library_options(self) -> dict[str, str] | None:
        """What deltalake is told to get there."""

    def catalog(self, given: dict[str, str] | None, name: str) -> dict[str, str]:
        """The properties of an Iceberg catalog: its own, if none is given.

        Raises:
            JobError: there must be one here.
        """

    def has_catalog(self) -> bool:
        """Whether there is one of its own."""

    def check(self) -> None:
        """See that of two who commit one is refused.

        Raises:
            OSError: both would believe that they did it.
        """

    def make(self) -> None:
        """Make the folder."""

    def staging(self, *parts: str) -> StagingFolder:
        """A new folder below the table's."""

    def settle(self, paths: Iterable[str], folder: str) -> None:
        """Make files durable that lie in staging folders, and their names."""

    def status(self, path: str) -> FileStatus:
        """What there is to know of a data file."""

    def relative(self, path: str) -> str:
        """The path of a data file, from the table on."""

    def uri_of(self, path: str) -> str:
        """A data file, as Iceberg writes it down."""

    def folders_in(self, folder: str) -> list[str]:
        """The names of folders that lie below one of the table's."""

    def remove_folder(self, *parts: str) -> None:
        """Remove one, with what is in it, as far as it is there."""

    def data_files(self, folder: str) -> dict[str, float]:
        """All Parquet files below one of the table's folders, and when they changed."""

    def real(self, path: str) -> str:
        """What two paths of one file have in common."""

    def remove_files(self, paths: list[str]) -> None:
        """Remove files, as far as they are there."""

    def remove_empty(self, folder: str, before_s: float) -> None:
        """Remove folders below one of the table's that had nothing for so long."""

    def open(self, path: str) -> Any:
        """A data file, as pyarrow takes it; None if it lies somewhere else."""

    def read(self, *parts: str) -> str:
        """A small file.

        Raises:
            FileNotFoundError: there is none.
        """

    def write(self, text: str, *parts: str, durably: bool = False) -> None:
        """Replace a small file in one step."""

    def put_new(self, text: str, *parts: str) -> bool:
        """Write a small file, whole and durably; False if there is one."""

    def identity(self, *parts: str) -> object:
        """What tells a file from one made later; None where there is none."""

    def telling(self) -> AbstractContextManager[None]:
        """What libraries raise of a store is told in our words, without secrets."""


class LocalPlace:
    """A folder that all of Spark's machines see."""

    library_options = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.location: Location = folder

    @property
    def uri(self) -> str:
        """The table, as Iceberg writes it down."""
        return local_uri(self.folder)

    def catalog(self, given: dict[str, str] | None, name: str) -> dict[str, str]:
        """The properties of an Iceberg catalog: a SQLite file, if none is given."""
        if given is not None:
            return given
        from sqlalchemy import URL

        self.make()
        file = URL.create("sqlite", database=str(self.folder / "catalog.db"))
        return {
            "type": "sql",
            "uri": file.render_as_string(),
            "warehouse": local_uri(self.folder.parent),
        }

    def has_catalog(self) -> bool:
        """Whether there is one of its own."""
        return (self.folder / "catalog.db").exists()

    def check(self) -> None:
        """A file system minds what is there."""

    def make(self) -> None:
        """Make the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def staging(self, *parts: str) -> StagingFolder:
        """A new folder below the table's."""
        folder = self.folder.joinpath(*parts)
        folder.mkdir(parents=True)
        return folder

    def settle(self, paths: Iterable[str], folder: str) -> None:
        """Make files durable that lie in staging folders, and their names."""
        from odradek.pipeline.tables.table import sync

        folders = set()
        for path in paths:
            sync(path)
            folders.add(os.path.dirname(path))
        for each in folders:
            sync(each)
        if folders:
            sync(self.folder / folder)

    def status(self, path: str) -> FileStatus:
        """What there is to know of a data file."""
        found = os.stat(path)
        return FileStatus(found.st_size, found.st_mtime_ns // 1_000_000)

    def relative(self, path: str) -> str:
        """The path of a data file, from the table on."""
        return os.path.relpath(path, self.folder)

    def uri_of(self, path: str) -> str:
        """A data file, as Iceberg writes it down."""
        return local_uri(Path(path))

    def folders_in(self, folder: str) -> list[str]:
        """The names of folders that lie below one of the table's."""
        path = self.folder / folder
        return os.listdir(path) if path.exists() else []

    def remove_folder(self, *parts: str) -> None:
        """Remove one, with what is in it, as far as it is there."""
        shutil.rmtree(self.folder.joinpath(*parts), ignore_errors=True)

    def data_files(self, folder: str) -> dict[str, float]:
        """All Parquet files below one of the table's folders, and when they changed."""
        found = (self.folder / folder).rglob("*.parquet")
        return {str(path): path.stat().st_mtime for path in found}

    def real(self, path: str) -> str:
        """What two paths of one file have in common."""
        return os.path.realpath(path)

    def remove_files(self, paths: list[str]) -> None:
        """Remove files, as far as they are there, and folders that are empty then."""
        for path in map(Path, paths):
            path.unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                if not os.listdir(path.parent):
                    path.parent.rmdir()

    def remove_empty(self, folder: str, before_s: float) -> None:
        """Remove folders below one of the table's that had nothing for so long."""
        for name in self.folders_in(folder):
            path = self.folder / folder / name
            with suppress(OSError):  # it is a file, or somebody has it in use
                if path.stat().st_mtime < before_s:
                    path.rmdir()

    def open(self, path: str) -> Any:
        """A data file, as pyarrow takes it; None if it lies somewhere else."""
        return local_or_none(path)

    def read(self, *parts: str) -> str:
        """A small file.

        Raises:
            FileNotFoundError: there is none.
        """
        return self.folder.joinpath(*parts).read_text()

    def write(self, text: str, *parts: str, durably: bool = False) -> None:
        """Replace a small file in one step."""
        from odradek.pipeline.tables.table import sync

        path = self.folder.joinpath(*parts)
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            temporary.write_text(text)
            if durably:
                sync(temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        if durably:
            sync(path.parent)

    def put_new(self, text: str, *parts: str) -> bool:
        """Write a small file, whole and durably; False if there is one."""
        from odradek.pipeline.tables.table import sync

        path = self.folder.joinpath(*parts)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            temporary.write_text(text)
            sync(temporary)
            os.link(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        sync(path.parent)
        return True

    def identity(self, *parts: str) -> object:
        """What tells a file from one made later; None where there is none."""
        try:
            status = os.stat(self.folder.joinpath(*parts))
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def telling(self) -> AbstractContextManager[None]:
        """Errors of a file system say what they mean."""
        return nullcontext()


def local_uri(path: Path) -> str:
    """A path as Iceberg writes it down: a URI, if nothing in it has to be escaped.

    Libraries of Iceberg do not undo an escape, so others stay paths.
    """
    uri = path.as_uri()
    return str(path) if "%" in uri else uri


def local_or_none(path: str) -> str | None:
    """A path of the file system; None for what lies somewhere else."""
    return None if "://" in path else path


def place_of(place: TablePlace | Path) -> TablePlace:
    """The place that a path is."""
    return LocalPlace(place) if isinstance(place, Path) else place


def local_folder(place: TablePlace, why: str) -> Path:
    """The folder of a table.

    Raises:
        JobError: it lies in a store; says ``why`` that does not do.
    """
    if isinstance(place.location, Path):
        return place.location
    raise JobError(f"{place.location}: {why}")


def open_place(location: str, options: Mapping[str, str] | None = None) -> TablePlace:
    """The place that a path or a URL names.

    Raises:
        JobError: it is neither, or an option is wrong.
        ModuleNotFoundError: the library for stores is not installed.
    """
    from odradek.objects.location import is_object_url

    if is_object_url(location):
        from .store_place import open_store_place

        return open_store_place(location, options or {})
    if options:
        raise JobError(
            f"{location} lies in no store, and {', '.join(options)} are options of one"
        )
    from odradek.pipeline.tables.table import local_path

    return LocalPlace(local_path(location))
