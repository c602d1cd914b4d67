"""A folder of Parquet files with a log of commits beside them, for any reader.

```
table/part-0000000007-00000-3f2a9c01.parquet   what readers see
table/kind=a/part-....parquet                  the same of a table with partitions
table/_log/table.json                          job and schema
table/_log/00000000000000000007.json           batch 7: its `Commit`, and its files
table/_stage/...                               what nobody sees
```

The log has the last batches: each commit has all that is needed to go on, so that older
ones are removed, the oldest first, a few with each batch (an old table may have many).
The newest is never removed, and numbers follow each other: so the last is found without
a list of the log, which is slow in a folder that was large once.

A batch is committed when its file in ``_log`` appears: it is written elsewhere, made
durable, and linked to its name, which fails if the name is there. Then the batch's
files are moved out of ``_stage``, one rename each; a driver that dies between leaves
that to the next one. Readers pass over names that begin with an underscore.

A driver that was held up for long may find its number free again, because the batch was
committed by another and is no longer in the log. So it looks behind its link: while the
commit before is the one that it knew, nothing above that was removed. Otherwise there
are later ones, and its file goes again. Nobody has minded it: only the newest counts.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from odradek.pipeline.job_errors import CommitRefused, JobError

from .commit import Commit, commit_of
from .evolution import evolution
from .parquet_note import noted_partitioning, noted_schema, table_note
from .partitions.partition_path import files_in
from .partitions.partitioning import WHOLE, check_same
from .staging import batch_of, staging_name
from .table import DataFile, check_schema, describe, refuse_renamed, sync

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow

    from .partitions.partitioning import Partitioning
    from .places.place import Location, StagingFolder

LOG = "_log"
STAGE = "_stage"
# So many batches stay in the log, for people who look.
LOG_KEPT = 100
# Of an old table no more are removed with one batch, which would wait for it.
_REMOVED_MAX = 20
_TABLE = "table.json"
_LOCK = "lock"


class ParquetTable:
    """The table of one job, for one driver."""

    is_of_one_job = True

    def __init__(self, location: Path, job: str, *, takes_lock: bool = True) -> None:
        self._start(location, job)
        self._folder = location
        self._log = location / LOG
        self._stage = location / STAGE
        self._takes_lock = takes_lock

    def _start(self, location: Location, job: str) -> None:
        self.location = location
        self._job = job
        self._lock: int | None = None
        self._known: tuple[int, object] = (-1, None)
        self._folded_end: int | None = None
        self._backlog: list[int] = []

    def exists(self) -> bool:
        """Whether there is a table."""
        return (self._log / _TABLE).exists()

    def create(
        self,
        schema: pyarrow.Schema,
        *,
        evolves: bool = False,
        partitioning: Partitioning = WHOLE,
        renamed: Mapping[str, str] | None = None,
    ) -> pyarrow.Schema:
        """Make the table if there is none, and keep other drivers of the host out.

        Files that are there stay as they are: readers take new columns from new ones.

        Raises:
            JobError: the folder is of another job or schema, or in use.
        """
        refuse_renamed("Parquet", renamed)
        partitioning.check(schema)
        self._check_names(schema, partitioning)
        if not self.exists() and (strange := self._strangers()):
            raise JobError(
                f"{self.location} is not a table of odradek, and not empty (there "
                f"is {strange[0]}); give the job a folder of its own"
            )
        self._make()
        self.lock()
        with suppress(FileExistsError):
            self._put(_TABLE, table_note(self._job, schema, partitioning))
        there = self._read(_TABLE)
        if there["job"] != self._job:
            raise JobError(
                f"the table {self.location} is of the job {there['job']!r}, this is "
                f"{self._job!r}; a Parquet table has one job: give this one "
                'a table of its own, or use format = "delta"'
            )
        check_same(self.location, noted_partitioning(there), partitioning)
        if not evolves:
            check_schema(self.location, there["schema"], describe(schema))
            return schema
        noted = noted_schema(there, self.files()) or schema
        change = evolution(self.location, noted, schema)
        if change.changes_table:
            note = table_note(self._job, change.files, partitioning)
            self._put(_TABLE, note, new=True)
        return change.files

    def _strangers(self) -> list[str]:
        """What readers would take for a part of the table, where there is none."""
        with suppress(FileNotFoundError):
            return [name for name in os.listdir(self._folder) if name[0] not in "_."]
        return []

    def _check_names(self, schema: pyarrow.Schema, partitioning: Partitioning) -> None:
        """A path may have any length; folders of partitions are short enough."""

    def _make(self) -> None:
        self._log.mkdir(parents=True, exist_ok=True)
        self._stage.mkdir(exist_ok=True)

    def lock(self) -> None:
        """Keep other drivers on this host, and compactions, out.

        Raises:
            JobError: somebody has it.
        """
        if self._lock is not None or not self._takes_lock:
            return
        self._lock = os.open(self._log / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise JobError(
                f"another process writes to the table {self.location}: a driver of the "
                f"job {self._job!r}, or a compaction; `odradek pipeline sink status` "
                "says what the job does"
            ) from None

    def close(self) -> None:
        """Let others have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def last_commit(self, job: str) -> Commit | None:
        """The job's last commit, as the table is now."""
        batch = self._last_batch()
        if batch is None:
            return None
        commit = commit_of(self._read(_manifest(batch)))
        return commit if commit.job == job else None

    def recent(self, job: str, count: int) -> list[Commit]:
        """The job's last commits that the log still has, the newest first."""
        found: list[Commit] = []
        last = self._last_batch()
        for batch in range(-1 if last is None else last, -1, -1):
            with suppress(FileNotFoundError):
                found.append(commit_of(self._read(_manifest(batch))))
            if len(found) == count or not found or found[-1].batch != batch:
                break
        return [commit for commit in found if commit.job == job]

    def _last_batch(self) -> int | None:
        """Found from the last one known; what has one before it was never removed."""
        batch = self._known[0]
        if not self._is_known_there():
            batch = max(self._batches(), default=-1)
        while self._identity(batch + 1) is not None:
            batch += 1
        self._known = batch, self._identity(batch)
        return None if batch < 0 else batch

    def _is_known_there(self) -> bool:
        batch, identity = self._known
        return identity is not None and identity == self._identity(batch)

    def _identity(self, batch: int) -> object:
        """What tells a commit from one made later; None where there is none."""
        try:
            status = os.stat(self._log / _manifest(batch))
        except FileNotFoundError:
            return None
        return status.st_ino, status.st_mtime_ns

    def _batches(self) -> list[int]:
        """Those that the log still has. A folder that was large once lists slowly."""
        with suppress(FileNotFoundError):
            return [int(n[:-5]) for n in os.listdir(self._log) if n[:-5].isdigit()]
        return []

    def staging(self, batch: int) -> StagingFolder:
        """A new folder for files of a batch, unseen by readers."""
        folder = self._stage / staging_name(self._job, batch)
        folder.mkdir(parents=True)
        return folder

    def commit(self, commit: Commit, files: list[DataFile]) -> None:
        """Add the files: the commit point of a batch.

        Raises:
            CommitRefused: another driver of the job did it.
        """
        self._settle(files)
        moves = [
            [
                self._relative(file.path),
                os.path.join(file.partition_path, self._name(commit.batch, number)),
            ]
            for number, file in enumerate(files)
        ]
        manifest = {**json.loads(commit.as_json()), "files": moves}
        try:
            self._put(_manifest(commit.batch), manifest)
        except FileExistsError:
            raise self._refused(commit) from None
        is_next = commit.batch == self._known[0] + 1 and self._is_known_there()
        if not is_next and max(self._batches()) > commit.batch:
            self._remove(_manifest(commit.batch))
            raise self._refused(commit)

    def _settle(self, files: list[DataFile]) -> None:
        """Make what the tasks have written durable."""
        folders = set()
        for file in files:
            sync(file.path)
            folders.add(os.path.dirname(file.path))
        for folder in folders:
            sync(folder)
        sync(self._stage)

    def _relative(self, path: str) -> str:
        return os.path.relpath(path, self._folder)

    def _refused(self, commit: Commit) -> CommitRefused:
        return CommitRefused(
            f"batch {commit.batch} of the job {commit.job!r} was committed by "
            f"another driver to {self.location}; stop one of the two"
        )

    @staticmethod
    def _name(batch: int, number: int) -> str:
        return f"part-{batch:010d}-{number:05d}-{uuid.uuid4().hex[:8]}.parquet"

    def _put(self, name: str, content: dict[str, Any], *, new: bool = False) -> None:
        """Make a durable file of the log, whole at once, unless there is one; or in its
        place, where it is ``new``.

        Raises:
            FileExistsError: there is one.
        """
        path = self._log / name
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            with temporary.open("w") as file:
                # In one piece: `json.dump` takes ten times as long.
                file.write(json.dumps(content))
                file.flush()
                os.fsync(file.fileno())
            if new:
                os.replace(temporary, path)
            else:
                os.link(temporary, path)
        except OSError as error:
            if error.errno in (errno.EPERM, errno.ENOTSUP):
                raise JobError(
                    f"the file system of {self.location} has no links, with which "
                    'batches are committed; use format = "delta", or another place'
                ) from None
            raise
        finally:
            temporary.unlink(missing_ok=True)
        sync(path.parent)

    def publish(self, commit: Commit) -> None:
        """Show the files of a committed batch to readers, and clean up behind it."""
        self._show(self._read(_manifest(commit.batch))["files"])
        self._clear(commit)
        self._fold(commit)

    def _show(self, moves: list[list[str]]) -> None:
        folders = {self._folder}
        for staged, name in moves:
            path = self._folder / name
            folders |= self._folders_above(path)
            with suppress(FileNotFoundError):  # it was moved before
                os.rename(self._folder / staged, path)
        for folder in sorted(folders, reverse=True):  # what is in it first
            sync(folder)

    def _clear(self, commit: Commit) -> None:
        """Remove what was staged of a batch that is whole."""
        for name in os.listdir(self._stage):
            batch = batch_of(name)
            if name == commit.staged or batch == commit.batch:
                shutil.rmtree(self._stage / name, ignore_errors=True)

    def _folders_above(self, path: Path) -> set[Path]:
        """The folders of a file's partition, which are there then."""
        if path.parent == self._folder:
            return set()
        path.parent.mkdir(parents=True, exist_ok=True)
        inside = path.relative_to(self._folder).parents
        return {self._folder / folder for folder in inside}

    def _fold(self, commit: Commit) -> None:
        """Remove what is old, the oldest first."""
        end = commit.batch - LOG_KEPT + 1
        if self._folded_end is None:
            self._folded_end = end
            self._backlog = sorted(b for b in self._batches() if b < end)
        self._backlog += range(self._folded_end, end)
        self._folded_end = max(self._folded_end, end)
        for batch in self._backlog[:_REMOVED_MAX]:
            self._remove(_manifest(batch))
        del self._backlog[:_REMOVED_MAX]

    def restore(self, commit: Commit) -> None:
        """Say again where the job is; the table has no more rows than before.

        Raises:
            CommitRefused: the table has a later batch of the job.
        """
        self.commit(commit, [])

    def files(self) -> list[str]:
        """The paths of all files of the table as it is now."""
        return files_in(self._folder)

    def open(self, path: str) -> Any:
        """One of them, as pyarrow takes it."""
        return path

    def _read(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self._log / name).read_text())
        return content

    def _remove(self, name: str) -> None:
        (self._log / name).unlink(missing_ok=True)


def _manifest(batch: int) -> str:
    return f"{batch:020d}.json"
