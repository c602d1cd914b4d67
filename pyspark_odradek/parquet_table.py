"""A folder of Parquet files with a log of commits beside them, for any reader.

```
table/part-0000000007-00000-3f2a9c01.parquet   what readers see
table/_log/table.json                          job and schema
table/_log/00000000000000000007.json           batch 7: its `Commit`, and its files
table/_stage/...                               what nobody sees
```

A batch is committed when its file in ``_log`` appears: it is written elsewhere, made
durable, and linked to its name, which fails if the name is there. Then the batch's
files are moved out of ``_stage``, one rename each; a driver that dies between leaves
that to the next one. Readers pass over names that begin with an underscore.
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

from .commit import Commit, commit_of
from .job_errors import CommitRefused, JobError
from .table import DataFile, check_schema, describe, leftovers, staging_name, sync

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow

LOG = "_log"
STAGE = "_stage"
_TABLE = "table.json"
_LOCK = "lock"


class ParquetTable:
    """The table of one job, for one driver."""

    def __init__(self, location: Path, job: str, *, takes_lock: bool = True) -> None:
        self.location = location
        self._job = job
        self._log = location / LOG
        self._stage = location / STAGE
        self._takes_lock = takes_lock
        self._lock: int | None = None

    def exists(self) -> bool:
        """Whether there is a table."""
        return (self._log / _TABLE).exists()

    def create(self, schema: pyarrow.Schema) -> None:
        """Make the table if there is none, and keep other drivers of the host out.

        Raises:
            JobError: the folder is of another job or schema, or in use.
        """
        if not self.exists() and self.location.exists():
            strange = [
                name for name in os.listdir(self.location) if name[0] not in "_."
            ]
            if strange:
                raise JobError(
                    f"{self.location} is no table of odradek, and not empty (there is "
                    f"{strange[0]}); give the job a folder of its own"
                )
        self._log.mkdir(parents=True, exist_ok=True)
        self._stage.mkdir(exist_ok=True)
        self.lock()
        about = {"version": 1, "job": self._job, "schema": describe(schema)}
        with suppress(FileExistsError):
            self._put(self._log / _TABLE, about)
        self._check(json.loads((self._log / _TABLE).read_text()), about)

    def _check(self, there: dict[str, Any], wanted: dict[str, Any]) -> None:
        if there["job"] != wanted["job"]:
            raise JobError(
                f"the table {self.location} is of the job {there['job']!r}, this is "
                f"{wanted['job']!r}; a Parquet table has one job: give this one "
                'a table of its own, or use format = "delta"'
            )
        check_schema(self.location, there["schema"], wanted["schema"])

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
        commit = commit_of(self._manifest(batch))
        return commit if commit.job == job else None

    def _last_batch(self) -> int | None:
        with suppress(FileNotFoundError):
            batches = [int(n[:-5]) for n in os.listdir(self._log) if n[:-5].isdigit()]
            return max(batches, default=None)
        return None

    def staging(self, batch: int) -> Path:
        """A new folder for files of a batch, unseen by readers."""
        folder = self._stage / staging_name(self._job, batch)
        folder.mkdir(parents=True)
        return folder

    def commit(self, commit: Commit, files: list[DataFile]) -> None:
        """Add the files: the commit point of a batch.

        Raises:
            CommitRefused: another driver of the job did it.
        """
        folders = set()
        for file in files:
            sync(file.path)
            folders.add(os.path.dirname(file.path))
        for folder in folders:
            sync(folder)
        sync(self._stage)
        moves = [
            [
                os.path.relpath(file.path, self.location),
                self._name(commit.batch, number),
            ]
            for number, file in enumerate(files)
        ]
        manifest = {**json.loads(commit.as_json()), "files": moves}
        try:
            self._put(self._manifest_path(commit.batch), manifest)
        except FileExistsError:
            raise CommitRefused(
                f"batch {commit.batch} of the job {commit.job!r} was committed by "
                f"another driver to {self.location}; stop one of the two"
            ) from None

    @staticmethod
    def _name(batch: int, number: int) -> str:
        return f"part-{batch:010d}-{number:05d}-{uuid.uuid4().hex[:8]}.parquet"

    def _put(self, path: Path, content: dict[str, Any]) -> None:
        """Make a durable file, whole at once, unless there is one."""
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            with temporary.open("w") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
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
        for staged, name in self._manifest(commit.batch)["files"]:
            with suppress(FileNotFoundError):  # it was moved before
                os.rename(self.location / staged, self.location / name)
        sync(self.location)
        for name in os.listdir(self._stage):
            if name == commit.staged or name in leftovers([name], commit.job, commit):
                shutil.rmtree(self._stage / name, ignore_errors=True)

    def _manifest(self, batch: int) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._manifest_path(batch).read_text())
        return content

    def _manifest_path(self, batch: int) -> Path:
        return self._log / f"{batch:020d}.json"
