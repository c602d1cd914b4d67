"""Where the jobs of an Iceberg table are, as its metadata says.

Each snapshot that this project makes carries the last commit of every job, its own and
those of the others, so the newest of them says it all, however many were expired. The
table's properties have the same, for when none of them is left: a property survives the
expiry of all snapshots, and what other engines write. It also says the sequence number
of the snapshot that set it: a table that was rolled back to before has a smaller one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from .commit import Commit, read_commit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

_COMMIT = "odradek.commit."
# In the summary of a snapshot that has the commits of all jobs; earlier ones do not.
_CARRIES = "odradek.carries"
_ALL = "all"


def last_commits(metadata: TableMetadata) -> dict[str, Commit]:
    """The last commit of each job."""
    found: dict[str, str] = {}
    for snapshot in lineage(metadata):
        said = summary_of(snapshot)
        for name, text in said.items():
            if name.startswith(_COMMIT):
                found.setdefault(name.removeprefix(_COMMIT), text)
        if said.get(_CARRIES) == _ALL:
            break
    else:
        for name in metadata.properties:
            if name.startswith(_COMMIT):
                job = name.removeprefix(_COMMIT)
                if job not in found and (said_last := _of_property(metadata, job)):
                    found[job] = said_last
    return {job: read_commit(text) for job, text in found.items()}


def last_commit(metadata: TableMetadata, job: str) -> Commit | None:
    """The last commit of one job."""
    for snapshot in lineage(metadata):
        said = summary_of(snapshot)
        if text := said.get(_COMMIT + job):
            return read_commit(text)
        if said.get(_CARRIES) == _ALL:
            return None
    text = _of_property(metadata, job)
    return read_commit(text) if text else None


def in_summary(commits: dict[str, Commit]) -> dict[str, str]:
    """What a snapshot says of all jobs."""
    texts = {_COMMIT + job: commit.as_json() for job, commit in commits.items()}
    return {**texts, _CARRIES: _ALL}


def in_properties(
    metadata: TableMetadata, commits: dict[str, Commit]
) -> dict[str, str]:
    """The properties to set in the same step as the next snapshot."""
    sequence = metadata.next_sequence_number()
    wanted = {
        _COMMIT + job: {"sequence": sequence, "commit": json.loads(commit.as_json())}
        for job, commit in commits.items()
        if last_in_properties(metadata, job) != commit
    }
    return {
        name: json.dumps(each, separators=(",", ":")) for name, each in wanted.items()
    }


def last_in_properties(metadata: TableMetadata, job: str) -> Commit | None:
    """The last commit of a job, by the properties alone."""
    text = _of_property(metadata, job)
    return read_commit(text) if text else None


def _of_property(metadata: TableMetadata, job: str) -> str | None:
    try:
        said = json.loads(metadata.properties[_COMMIT + job])
        sequence, text = int(said["sequence"]), json.dumps(said["commit"])
    except (KeyError, TypeError, ValueError):
        return None
    snapshot = metadata.current_snapshot()
    if snapshot is None or sequence > (snapshot.sequence_number or sequence):
        return None  # the table was put back to a state before
    return text


def lineage(metadata: TableMetadata) -> Iterator[Snapshot]:
    """The current snapshot and those it was made of, as far as they are there."""
    by_id = {each.snapshot_id: each for each in metadata.snapshots}
    snapshot = metadata.current_snapshot()
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else by_id.get(parent)


def summary_of(snapshot: Snapshot) -> dict[str, str]:
    """What a snapshot says of itself."""
    summary = snapshot.summary
    return summary.additional_properties if summary else {}


def commit_in(snapshot: Snapshot, job: str) -> Commit | None:
    """The job's commit that a snapshot made or carries."""
    text = summary_of(snapshot).get(_COMMIT + job)
    return read_commit(text) if text else None
