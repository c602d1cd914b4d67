"""A folder of Parquet objects in a store, with a log of commits beside them.

It is laid out as in a file system (`tables.parquet`). A batch is committed when its
object in ``_log`` is put, on the condition that there is none; who is refused compares
what is there, as the answer to its own put may have been lost. Nothing is renamed in a
store: the batch's files are copied out of ``_stage`` by the store itself, all of them,
and then removed there. A driver that dies between leaves that to the next one, which
copies again what is still there: a copy over itself changes nothing.

No lock keeps a second driver out; of the two one is refused when it commits.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from odradek.objects.errors import NoSuchObject
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.parquet import LOG, STAGE, ParquetTable
from odradek.pipeline.tables.partitions.partition_path import NAME_SIZE_MAX, is_shown
from odradek.pipeline.tables.staging import batch_of, staging_name

if TYPE_CHECKING:
    import pyarrow

    from odradek.pipeline.tables.commit import Commit
    from odradek.pipeline.tables.partitions.partitioning import Partitioning
    from odradek.pipeline.tables.table import DataFile

    from .place import StagingFolder
    from .store_place import StorePlace


# Of the name of an object, in bytes, in all stores; and of a file in its partition.
_OBJECT_NAME_SIZE_MAX = 1024
_FILE_NAME_SIZE = 48


class ParquetInStore(ParquetTable):
    """The table of one job, for one driver."""

    def __init__(self, place: StorePlace, job: str) -> None:
        self._start(place.location, job)
        self._place = place
        self._store = place.store

    def exists(self) -> bool:
        """Whether there is a table."""
        with suppress(NoSuchObject):
            self._store.head(self._name_in_log("table.json"))
            return True
        return False

    def _strangers(self) -> list[str]:
        objects, folders = self._store.list_folder(self._place.folder.path)
        names = [each.name.rpartition("/")[2] for each in objects] + folders
        return [name for name in names if name and name[0] not in "_."]

    def _check_names(self, schema: pyarrow.Schema, partitioning: Partitioning) -> None:
        """A row is never refused because its partition cannot be named."""
        size = len(self._place.folder.path) + _FILE_NAME_SIZE
        size += len(partitioning.fields) * (NAME_SIZE_MAX + 1)
        if partitioning and size > _OBJECT_NAME_SIZE_MAX:
            raise JobError(
                f"partition_by: names in a store have {_OBJECT_NAME_SIZE_MAX} bytes,"
                f" and those of {self.location}, divided by {partitioning}, might have"
                f" {size}: divide the table by three columns at most, or give it a"
                ' shorter path, or format = "delta" or "iceberg"'
            )

    def _make(self) -> None:
        self._place.check()

    def lock(self) -> None:
        """Nobody is kept out of a store."""

    def _identity(self, batch: int) -> object:
        try:
            return self._store.head(self._name_in_log(f"{batch:020d}.json")).version
        except NoSuchObject:
            return None

    def _batches(self) -> list[int]:
        objects, _ = self._store.list_folder(self._place.folder.child(LOG).path)
        names = [each.name.rpartition("/")[2][:-5] for each in objects]
        return [int(name) for name in names if name.isdigit()]

    def staging(self, batch: int) -> StagingFolder:
        """A new folder for files of a batch, unseen by readers."""
        return self._place.staging(STAGE, staging_name(self._job, batch))

    def _settle(self, files: list[DataFile]) -> None:
        """The store has them, or the task had failed."""

    def _relative(self, path: str) -> str:
        return self._place.relative(path)

    def _put(self, name: str, content: dict[str, Any], *, new: bool = False) -> None:
        data = json.dumps(content).encode()
        if new:
            self._store.put(self._name_in_log(name), data)
        elif not self._store.put_if_absent(self._name_in_log(name), data):
            raise FileExistsError(name)

    def _read(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._store.get(self._name_in_log(name)))
        return content

    def _remove(self, name: str) -> None:
        self._store.delete([self._name_in_log(name)])

    def _show(self, moves: list[list[str]]) -> None:
        if not moves:
            return
        folder = self._place.folder
        there = {each.name for each in self._store.list_all(folder.child(STAGE).path)}
        staged = [(folder.child(name).path, shown) for name, shown in moves]
        waiting = [each for each in staged if each[0] in there]
        for name, shown in waiting:
            with suppress(NoSuchObject):  # another driver was faster
                self._store.copy(name, folder.child(shown).path)
        self._store.delete([name for name, _ in waiting])

    def _clear(self, commit: Commit) -> None:
        for name in self._place.folders_in(STAGE):
            if name == commit.staged or batch_of(name) == commit.batch:
                self._place.remove_folder(STAGE, name)

    def files(self) -> list[str]:
        """The paths of all files of the table as it is now."""
        folder = self._place.folder
        found = self._store.list_all(folder.path)
        names = [each.name.removeprefix(f"{folder.path}/") for each in found]
        return sorted(f"{folder}/{name}" for name in names if is_shown(name))

    def open(self, path: str) -> Any:
        """One of them, as pyarrow takes it."""
        return self._place.open(path)

    def _name_in_log(self, name: str) -> str:
        return self._place.folder.child(LOG, name).path
