"""A table's place in a store of objects.

What was written is durable when the store has said so, and nobody sees half of it, so
that nothing is synced or renamed here. A folder is what names have in common.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odradek.objects.errors import NoSuchObject, StoreError
from odradek.objects.failures import failure_of, is_of_store
from odradek.objects.opening import open_store, read_settings
from odradek.objects.probe import check_conditions
from odradek.objects.reading import open_object
from odradek.pipeline.job_errors import JobError

from .catalogs import clear_secret, file_io_properties, pyiceberg_variable
from .library_options import library_options
from .place import FileStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from odradek.objects.location import ObjectLocation
    from odradek.objects.settings import StoreSettings
    from odradek.objects.store import ObjectStore

    from .place import Location, StagingFolder

NOTES = "_odradek"


@dataclass(frozen=True)
class StoreFolder:
    """A folder in a store, as it goes to the tasks: they open the store themselves."""

    location: ObjectLocation
    options: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """Its own name, without those above."""
        return self.location.name

    def __str__(self) -> str:
        return str(self.location)

    def rmdir(self) -> None:
        """Without objects there is no folder."""


class StorePlace:
    """Where a table lies in a bucket."""

    def __init__(self, settings: StoreSettings, store: ObjectStore) -> None:
        self.settings = settings
        self.store = store
        self.folder = settings.location
        self.location: Location = settings.location

    @property
    def uri(self) -> str:
        """The table, as Iceberg writes it down."""
        return str(self.folder)

    @property
    def library_options(self) -> dict[str, str]:
        """What deltalake is told to get there; it finds the rest as we do."""
        return library_options(self.settings)

    def catalog(self, given: dict[str, str] | None, name: str) -> dict[str, str]:
        """The properties of an Iceberg catalog, with what reads and writes its files.

        Raises:
            JobError: none is given, or it has a secret.
        """
        if given is None:
            raise JobError(
                f"{self.folder}: the commits of an Iceberg table are its catalog's, and"
                " a store has none of its own: name one, like --catalog type=rest"
                " --catalog uri=https://HOST, or type=sql, or type=glue (in a job file"
                " [table] catalog)"
            )
        if secret := clear_secret(given):
            raise JobError(
                f"catalog {secret}: a secret belongs neither on a command line nor into"
                " a job file; pyiceberg finds it in ~/.pyiceberg.yaml, or in the"
                f" variable {pyiceberg_variable(name, secret)}"
            )
        return {**given, **file_io_properties(self.settings.options)}

    def has_catalog(self) -> bool:
        """There is none without a name."""
        return True

    def check(self) -> None:
        """See that of two who commit one is refused.

        Raises:
            StoreRefused: the store lets both.
        """
        check_conditions(self.store, self.folder, NOTES)

    def make(self) -> None:
        """Without objects there is no folder."""

    def staging(self, *parts: str) -> StagingFolder:
        """A new folder below the table's."""
        options = tuple(sorted(self.settings.for_tasks().items()))
        return StoreFolder(self.folder.child(*parts), options)

    def settle(self, paths: Iterable[str], folder: str) -> None:
        """The store has them, or the task had failed."""

    def status(self, path: str) -> FileStatus:
        """What there is to know of a data file."""
        found = self.store.head(self.name_of(path))
        return FileStatus(found.size, int(found.changed_s * 1000))

    def relative(self, path: str) -> str:
        """The path of a data file, from the table on."""
        return path.removeprefix(f"{self.folder}/")

    def uri_of(self, path: str) -> str:
        """A data file, as Iceberg writes it down."""
        return path

    def name_of(self, path: str) -> str:
        """The name of an object in its bucket."""
        bucket = f"{self.folder.scheme}://{self.folder.bucket}/"
        assert path.startswith(bucket), path
        return path.removeprefix(bucket)

    def folders_in(self, folder: str) -> list[str]:
        """The names of folders that lie below one of the table's."""
        return self.store.list_folder(self.folder.child(folder).path)[1]

    def remove_folder(self, *parts: str) -> None:
        """Remove one, with what is in it, as far as it is there."""
        found = self.store.list_all(self.folder.child(*parts).path)
        self.store.delete([each.name for each in found])

    def data_files(self, folder: str) -> dict[str, float]:
        """All Parquet objects below one of the table's folders, and when they came."""
        found = self.store.list_all(self.folder.child(folder).path)
        bucket = f"{self.folder.scheme}://{self.folder.bucket}/"
        return {
            bucket + each.name: each.changed_s
            for each in found
            if each.name.endswith(".parquet")
        }

    def real(self, path: str) -> str:
        """A URL has one form."""
        return path

    def remove_files(self, paths: list[str]) -> None:
        """Remove objects, as far as they are there."""
        self.store.delete(map(self.name_of, paths))

    def remove_empty(self, folder: str, before_s: float) -> None:
        """Without objects there is no folder."""

    def open(self, path: str) -> Any:
        """A data file, as pyarrow takes it; None if it lies somewhere else."""
        if not path.startswith(f"{self.folder.scheme}://{self.folder.bucket}/"):
            return None
        return open_object(self.store, self.name_of(path))

    def read(self, *parts: str) -> str:
        """A small object.

        Raises:
            NoSuchObject: there is none.
        """
        return self.store.get(self.folder.child(*parts).path).decode()

    def write(self, text: str, *parts: str, durably: bool = False) -> None:
        """Replace a small object."""
        self.store.put(self.folder.child(*parts).path, text.encode())

    def put_new(self, text: str, *parts: str) -> bool:
        """Write a small object; False if there is another."""
        name = self.folder.child(*parts).path
        return self.store.put_if_absent(name, text.encode())

    def identity(self, *parts: str) -> object:
        """What tells an object from one made later; None where there is none."""
        try:
            return self.store.head(self.folder.child(*parts).path).version
        except NoSuchObject:
            return None

    @contextmanager
    def telling(self) -> Iterator[None]:
        """What libraries raise of a store is told in our words, without secrets."""
        try:
            yield
        except (JobError, StoreError):
            raise
        except Exception as error:
            if not is_of_store(error):
                raise
            failure = failure_of(error, self.settings)
        else:
            return
        raise failure from None


def open_store_place(location: str, options: Mapping[str, str]) -> StorePlace:
    """The place that a URL names.

    Raises:
        JobError: the URL or an option is wrong.
        ModuleNotFoundError: obstore is not installed.
    """
    try:
        settings = read_settings(location, options)
    except ValueError as error:
        raise JobError(str(error)) from None
    return StorePlace(settings, open_store(settings))
