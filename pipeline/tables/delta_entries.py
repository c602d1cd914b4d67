"""Entries of a Delta table's log, as a driver adds one behind the other.

deltalake reads all that came since the last checkpoint anew for each commit, and lists
the whole log many times. A driver that has read the table once needs neither: it reads
the entries that others have added since, and puts its own behind them, under the next
number, if there is none. So a batch costs the same however long the log is.

Invariants: an entry is added only while what is known is the newest state, or another
has that number. What is known is forgotten, and the table read as ever, when somebody
has changed what the table is (``metaData``, ``protocol``), has committed for this job,
or has made a checkpoint of what is not known here. A cleanup removes entries that a
checkpoint covers, so a number may be free because its entry is gone: who finds a
checkpoint ahead, or the entry before replaced, behind its own entry as well as before,
is told that it is not certain.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltalake import DeltaTable

    from .commit import Commit
    from .places.place import TablePlace

LOG = "_delta_log"
# A checkpoint for so many entries, where the table does not say it (deltalake's number)
# and has few files. It costs as much as the table has files, and names of removed ones:
# so it is made for each hundredth part of them, where that is more.
_ENTRIES_MAX = 100
_PART = 100
# What asks more of a writer than files, and rows that are like the schema.
_PLAIN_WRITER = 2
_FEATURES_WRITER = 7
_PLAIN_FEATURES = frozenset({"appendOnly", "invariants", "timestampNtz"})


class Uncertain(Exception):
    """The entry was written, and may be behind what a cleanup has removed."""


class _Checkpoint(NamedTuple):
    """Up to which version the log was summed up, and how many actions that were."""

    version: int = -1
    action_count: int = 0


class _Known(NamedTuple):
    """The newest state, as far as it matters; ``identity`` is that of its entry."""

    version: int
    identity: object
    commit: Commit
    table_id: str
    partition_columns: tuple[str, ...]
    entries_max: int  # of the table's own properties; 0 where they have none


class DeltaEntries:
    """The log of one table, for one driver of one job."""

    def __init__(self, place: TablePlace, job: str) -> None:
        self._place = place
        self._job = job
        self._known: _Known | None = None
        self._checkpoint = _Checkpoint()

    def begin(self, table: DeltaTable, commit: Commit) -> None:
        """Know the table as it was read, with the job's last commit in it."""
        self.forget()
        identity = self._place.identity(LOG, _name(table.version()))
        if identity is None or not _is_plain(table):
            return
        metadata = table.metadata()
        entries_max = metadata.configuration.get("delta.checkpointInterval", "")
        self._known = _Known(
            table.version(),
            identity,
            commit,
            str(metadata.id),
            tuple(metadata.partition_columns),
            int(entries_max) if entries_max.isdigit() else 0,
        )

    def forget(self) -> None:
        """Know nothing: the table has to be read."""
        self._known = None

    @property
    def table_id(self) -> str:
        """The id of the table that is known; empty where none is."""
        return self._known.table_id if self._known else ""

    def last_commit(self) -> Commit | None:
        """The job's last commit; None where the table has to be read."""
        known = self._caught_up()
        return known.commit if known else None

    def _caught_up(self) -> _Known | None:
        """What is known, with what others have added since."""
        known, self._known = self._known, None
        if known is None or not self._is_newest(known):
            return None
        while (text := self._read(_name(known.version + 1))) is not None:
            if self._matters(text):
                return None
            identity = self._place.identity(LOG, _name(known.version + 1))
            known = known._replace(version=known.version + 1, identity=identity)
        self._known = known
        return known

    def _is_newest(self, known: _Known) -> bool:
        """Whether what follows may be added behind it: nothing was cleaned there."""
        self._checkpoint = self._read_checkpoint()
        if self._checkpoint.version > known.version:
            return False
        return self._place.identity(LOG, _name(known.version)) == known.identity

    def _matters(self, entry: str) -> bool:
        """Whether what is known is not true any more, behind somebody's entry."""
        try:
            actions = [json.loads(line) for line in filter(None, entry.splitlines())]
        except ValueError:
            return True
        return any(
            "metaData" in action
            or "protocol" in action
            or action.get("txn", {}).get("appId") == self._job
            for action in actions
        )

    def add(self, commit: Commit, adds: Callable[[], Iterable[dict[str, Any]]]) -> bool:
        """Commit files; False where the table has to be read first.

        Raises:
            Uncertain: the table has to be read to know whether they are committed.
        """
        while (known := self._caught_up()) is not None:
            if known.commit.batch >= commit.batch:
                return False
            name = _name(known.version + 1)
            entry = "\n".join(_lines(known, commit, adds()))
            self.forget()
            if not self._place.put_new(entry, LOG, name):
                self._known = known  # somebody was faster; behind his, then
                continue
            if not self._is_newest(known):
                raise Uncertain(name)
            self._known = known._replace(
                version=known.version + 1,
                identity=self._place.identity(LOG, name),
                commit=commit,
            )
            return True
        return False

    def take_back(self, uncertain: Uncertain) -> None:
        """Remove an entry that is in no state of the table."""
        name = uncertain.args[0]
        self._place.remove_files([f"{self._place.location}/{LOG}/{name}"])

    def sum_up(self, table: DeltaTable) -> None:
        """Make a checkpoint, and clean the log as its table says."""
        table.create_checkpoint()
        self._checkpoint = self._read_checkpoint()
        configuration = table.metadata().configuration
        if configuration.get("delta.enableExpiredLogCleanup", "true") == "true":
            table.cleanup_metadata()

    @property
    def is_long(self) -> bool:
        """Whether a checkpoint is due."""
        if self._known is None:
            return False
        count = self._known.version - self._checkpoint.version
        entries_max = self._known.entries_max or max(
            _ENTRIES_MAX, self._checkpoint.action_count // _PART
        )
        return count >= entries_max

    def _read_checkpoint(self) -> _Checkpoint:
        text = self._read("_last_checkpoint")
        if text is None:
            return _Checkpoint()
        fields = json.loads(text)
        return _Checkpoint(int(fields["version"]), int(fields.get("size", 0)))

    def _read(self, name: str) -> str | None:
        try:
            return self._place.read(LOG, name)
        except FileNotFoundError:
            return None


def _name(version: int) -> str:
    return f"{version:020d}.json"


def _is_plain(table: DeltaTable) -> bool:
    """Whether an entry needs no more than the files that it adds."""
    protocol = table.protocol()
    if protocol.min_writer_version <= _PLAIN_WRITER:
        return True
    features = frozenset(protocol.writer_features or ())
    is_known = protocol.min_writer_version == _FEATURES_WRITER
    return is_known and features <= _PLAIN_FEATURES


def _lines(
    known: _Known, commit: Commit, adds: Iterable[dict[str, Any]]
) -> Iterator[str]:
    """An entry: what it is, the files, and the job's transaction."""
    partitions = json.dumps(known.partition_columns, separators=(",", ":"))
    about = {
        "timestamp": int(time.time() * 1000),
        "operation": "WRITE",
        "operationParameters": {"mode": "Append", "partitionBy": partitions},
        "isBlindAppend": True,
        "engineInfo": "odradek",
        "odradek": f"[{commit.as_json()}]",
    }
    yield json.dumps({"commitInfo": about})
    for each in adds:
        yield json.dumps({"add": each})
    yield json.dumps({"txn": {"appId": commit.job, "version": commit.batch}})
