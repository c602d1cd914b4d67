"""A job's last commit, noted beside a Delta table: ``_odradek/JOB-DIGEST.json``.

The entry of the log that has a job's offsets is removed when the log is cleaned, and
the job's transaction identifier goes with ``delta.setTransactionRetentionDuration``.
The note stays: vacuum leaves folders alone whose names begin with an underscore. It is
written behind each commit, so it may be one batch late, never ahead; it also says the
id of the table, so that another table in the same place is not taken for this one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .commit import Commit, commit_of
from .places.place import place_of
from .staging import owner_name

if TYPE_CHECKING:
    from pathlib import Path

    from .places.place import TablePlace

FOLDER = "_odradek"


class CommitNote:
    """The note of one job about one table."""

    def __init__(self, place: TablePlace | Path, job: str) -> None:
        self._place = place_of(place)
        self._name = f"{owner_name(job)}.json"
        self._job = job

    def read(self, table_id: str, batch: int | None) -> Commit | None:
        """The commit of a batch, or the last one of this table where that is not known.

        None if there is no such note, or one that cannot be read.
        """
        try:
            fields = json.loads(self._place.read(FOLDER, self._name))
            commit = commit_of(fields["commit"])
            is_of_table = fields["table"] == table_id
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None
        if commit.job != self._job:
            return None
        is_wanted = is_of_table if batch is None else commit.batch == batch
        return commit if is_wanted else None

    def write(self, commit: Commit, table_id: str, *, durably: bool = False) -> None:
        """Replace the note in one step.

        After a loss of power it may be the former one, or none, unless ``durably``:
        then the log has the entry still, and the next driver writes the note again.
        """
        fields = {"table": table_id, "commit": json.loads(commit.as_json())}
        text = json.dumps(fields, separators=(",", ":"))
        self._place.write(text, FOLDER, self._name, durably=durably)
