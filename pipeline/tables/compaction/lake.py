"""Compaction of Delta and Iceberg tables: one commit takes old files out, new ones in.

Jobs may go on writing. The commit also carries the last commit of every job, so that
they are found however much of the table's history is removed later. The old files stay
for readers of earlier versions, until the table's own cleaning removes them.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.carried_commits import (
    in_properties,
    in_summary,
    last_commits,
)
from odradek.pipeline.tables.column_names import former_names
from odradek.pipeline.tables.delta import commits_of
from odradek.pipeline.tables.iceberg import (
    DATA,
    IcebergTableOfJob,
    data_files_of,
    local_name,
)
from odradek.pipeline.tables.places.task_file import as_told
from odradek.pipeline.tables.snapshot_history import keep_snapshots, newest_only
from odradek.pipeline.tables.table import DataFile

from .compaction import NOTHING, Compaction, groups_of_partitions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltalake import DeltaTable
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.table import Table as IcebergTable

    from odradek.pipeline.tables.commit import Commit
    from odradek.pipeline.tables.places.place import TablePlace

    from .compaction import Rewrite

# In an entry of a Delta table's log that has the commits of all jobs.
_CARRIES = "odradekCarries"
_ALL = "all"
# So far back it is looked for, and then further.
_HISTORY = (1_000, 10_000, None)


def compact_delta(place: TablePlace, file_size: int) -> Compaction:
    """Compact a Delta table, by deltalake's own means.

    Raises:
        JobError: somebody else compacted it at the same time.
    """
    from deltalake import DeltaTable

    location = str(place.location)
    with place.telling():
        table = DeltaTable(location, storage_options=place.library_options)
        return _compact_delta(table, location, file_size)


def _compact_delta(table: DeltaTable, location: str, file_size: int) -> Compaction:
    from deltalake import CommitProperties
    from deltalake.exceptions import DeltaError

    texts = ",".join(each.as_json() for each in _last_commits(table))
    files = table.get_add_actions().num_rows
    try:
        done = table.optimize.compact(
            target_size=file_size,
            commit_properties=CommitProperties(
                custom_metadata={"odradek": f"[{texts}]", _CARRIES: _ALL}
            ),
        )
    except DeltaError as error:
        raise JobError(
            f"the Delta table {location} was not compacted: {error}"
        ) from None
    added, removed = done["numFilesAdded"], done["numFilesRemoved"]
    return Compaction(
        files_before=files,
        files_after=files - removed + added,
        row_count=_rows_added(table) if added else 0,
        size_before=_total(done["filesRemoved"]),
        size_after=_total(done["filesAdded"]),
    )


def _last_commits(table: DeltaTable) -> Iterable[Commit]:
    """Those of all jobs, looked for up to the last compaction but one.

    Of a job that committed while the last one was made, that has the commit before.
    """
    jobs: dict[str, Commit] = {}
    for limit in _HISTORY:
        entries, compactions = table.history(limit), 0
        for entry in entries:
            for commit in commits_of(entry):
                known = jobs.setdefault(commit.job, commit)
                if commit.batch > known.batch:
                    jobs[commit.job] = commit
            compactions += entry.get(_CARRIES) == _ALL
            if compactions == 2:
                return jobs.values()
        if limit is None or len(entries) < limit:
            break
    return jobs.values()


def _rows_added(table: Any) -> int:
    return int(table.count())


def _total(metrics: Any) -> int:
    found = json.loads(metrics) if isinstance(metrics, str) else metrics
    return int(found.get("totalSize") or 0)


def compact_iceberg(
    place: TablePlace, file_size: int, catalog: dict[str, str], rewrite: Rewrite
) -> Compaction:
    """Compact an Iceberg table.

    Raises:
        JobError: somebody committed to it at the same time.
    """
    from pyiceberg.exceptions import CommitFailedException

    opened = IcebergTableOfJob(place, "", catalog)
    try:
        table = opened.load()
        old = {
            local_name(task.file.file_path): task.file
            for task in table.scan().plan_files()
        }
        files = [
            DataFile(path, each.record_count, each.file_size_in_bytes, _partition(each))
            for path, each in sorted(old.items())
        ]
        spec = table.spec().spec_id
        # Files of another partitioning, that somebody changed, stay as they are.
        small = [file for file in files if old[file.path].spec_id == spec]
        names = tuple(former_names(place.location, table.metadata).items())
        groups = [
            group._replace(names=names)
            for group in groups_of_partitions(small, file_size)
        ]
        if not groups:
            return NOTHING._replace(files_before=len(files), files_after=len(files))
        folder = place.staging(DATA, f"compact-{uuid.uuid4().hex[:12]}")
        rewritten = rewrite(groups, as_told(folder))
        place.settle([each.file.path for each in rewritten], DATA)
        replaced = [old[file.path] for group in groups for file in group.files]
        try:
            _replace(table, replaced, [each.file.path for each in rewritten])
        except CommitFailedException:
            raise JobError(
                f"another process committed to {place.location} while it was"
                " compacted; nothing was changed, try it again"
            ) from None
        opened.write_hint()
    finally:
        opened.close()
    return Compaction(
        files_before=len(files),
        files_after=len(files) - len(replaced) + len(rewritten),
        row_count=sum(each.file.row_count for each in rewritten),
        size_before=sum(each.group.size for each in rewritten),
        size_after=sum(each.file.size for each in rewritten),
    )


def _partition(file: IcebergFile) -> str:
    """What tells the file's partition from others."""
    return repr(file.partition)


def keep_iceberg_snapshots(
    place: TablePlace, catalog: dict[str, str], count: int
) -> int:
    """Bound the history of an Iceberg table; how many snapshots were expired.

    Raises:
        JobError: somebody commits all the time.
    """
    opened = IcebergTableOfJob(place, "", catalog)
    try:
        expired = keep_snapshots(opened.load, count)
        opened.write_hint()
    finally:
        opened.close()
    return expired


def _replace(table: IcebergTable, old: list[IcebergFile], new: list[str]) -> None:
    commits = last_commits(table.metadata)
    with newest_only(table).transaction() as transaction:
        transaction.set_properties(in_properties(table.metadata, commits))
        added = data_files_of(transaction.table_metadata, new, table.io)
        snapshot = transaction.update_snapshot(snapshot_properties=in_summary(commits))
        with snapshot.overwrite() as overwrite:
            for file in old:
                overwrite.delete_data_file(file)
            for file in added:
                overwrite.append_data_file(file)
