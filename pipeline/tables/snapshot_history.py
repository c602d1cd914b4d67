"""How much history an Iceberg table keeps, and commits that do not pay for all of it.

Each commit writes the metadata of all snapshots anew. Jobs keep that bounded where the
table says so: its property ``odradek.snapshots.max`` is the number of snapshots that
stay. Those of branches and tags stay too. Of an expired snapshot the list of its
manifests is removed, and manifests that no other snapshot has; data files never.
Tables that jobs make say 500; one that was there before keeps all, until its owner says
so (`keep_snapshots`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.pipeline.job_errors import JobError

from .carried_commits import lineage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyiceberg.table import Table as IcebergTable
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

SNAPSHOTS_MAX = "odradek.snapshots.max"
# So many are expired together: each time costs about as much as a commit.
EXPIRED_TOGETHER = 50
# And so many at most, of a table with a long history.
_EXPIRED_MAX = 1000
# Longer lists of manifests take too long to compare: the manifests stay.
_LIST_SIZE_MAX = 1 << 20

_log = logging.getLogger(__name__)


def newest_only(table: IcebergTable) -> IcebergTable:
    """The table as if its newest snapshot were the only one, to base a commit on.

    pyiceberg copies the metadata more than ten times to make a commit. The catalog
    applies the commit to all of it, and compares the newest snapshot.
    """
    from pyiceberg.table import Table

    newest = table.current_snapshot()
    fewer = {"snapshots": [newest] if newest else [], "snapshot_log": []}
    return Table(
        table.name(),
        table.metadata.model_copy(update=fewer),
        table.metadata_location,
        table.io,
        table.catalog,
        table.config,
    )


def snapshots_max(metadata: TableMetadata) -> int | None:
    """How many snapshots the table keeps; None for all."""
    text = metadata.properties.get(SNAPSHOTS_MAX, "")
    return int(text) if text.isdigit() and int(text) > 0 else None


def to_expire(metadata: TableMetadata) -> list[Snapshot]:
    """The oldest snapshots, when there are `EXPIRED_TOGETHER` too many; else none."""
    kept = snapshots_max(metadata)
    if kept is None or len(metadata.snapshots) < kept + EXPIRED_TOGETHER:
        return []
    return _oldest(metadata, kept)


def _oldest(metadata: TableMetadata, kept: int) -> list[Snapshot]:
    named = {ref.snapshot_id for ref in metadata.refs.values()}
    by_age = sorted(metadata.snapshots, key=lambda each: each.timestamp_ms)
    old = by_age[: max(len(by_age) - kept, 0)]
    return [each for each in old if each.snapshot_id not in named][:_EXPIRED_MAX]


def keep_snapshots(load: Callable[[], IcebergTable], count: int) -> int:
    """Let a table keep so many from now on, and expire the others; how many it were.

    Raises:
        JobError: somebody commits all the time.
    """
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table.update import SetPropertiesUpdate

    table = load()
    wanted = SetPropertiesUpdate(updates={SNAPSHOTS_MAX: str(count)})
    try:
        table.catalog.commit_table(table, (), (wanted,))
    except CommitFailedException as error:
        raise JobError(f"{'.'.join(table.name())}: {error}; try it again") from error
    expired = 0
    while old := _oldest((table := load()).metadata, count):
        if not expire(table, old):
            raise JobError(
                f"another process committed to {'.'.join(table.name())} meanwhile; "
                f"{expired} snapshots were expired, jobs expire the others"
            )
        expired += len(old)
    return expired


def expire(table: IcebergTable, snapshots: list[Snapshot]) -> bool:
    """Expire some snapshots, unless somebody commits meanwhile; whether it was done."""
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table.update import (
        AssertRefSnapshotId,
        AssertTableUUID,
        RemoveSnapshotsUpdate,
    )

    metadata = table.metadata
    ids = [each.snapshot_id for each in snapshots]
    gone = _files_of_none_else(table, snapshots)
    newest = {"ref": "main", "snapshot-id": metadata.current_snapshot_id}
    requirements = (
        AssertTableUUID(uuid=metadata.table_uuid),
        AssertRefSnapshotId.model_validate(newest),
    )
    update = RemoveSnapshotsUpdate.model_validate({"snapshot-ids": ids})
    try:
        table.catalog.commit_table(table, requirements, (update,))
    except CommitFailedException as error:
        _log.info("no snapshot was expired: %s", error)
        return False
    for path in gone:
        try:
            table.io.delete(path)
        except OSError as error:
            _log.warning("%s stays: %s", path, error)
    return True


def _files_of_none_else(table: IcebergTable, snapshots: list[Snapshot]) -> set[str]:
    """Lists of manifests, and manifests, that the others do not have."""
    ids = {each.snapshot_id for each in snapshots}
    kept = [s for s in table.metadata.snapshots if s.snapshot_id not in ids]
    lists = {each.manifest_list for each in snapshots}
    lists -= {each.manifest_list for each in kept}
    spread = _spread(table, kept)
    sizes = (len(table.io.new_input(s.manifest_list)) for s in [*snapshots, *spread])
    if max(sizes) > _LIST_SIZE_MAX:
        return lists
    return lists | _manifests(table, snapshots) - _manifests(table, spread)


def _spread(table: IcebergTable, kept: list[Snapshot]) -> list[Snapshot]:
    """Those that may have a manifest of an older snapshot.

    What the oldest in the line to the newest no longer has, none behind it has: so of
    this line it is enough.
    """
    ids = {each.snapshot_id for each in kept}
    line = [s for s in lineage(table.metadata) if s.snapshot_id in ids]
    behind = {each.snapshot_id for each in line[:-1]}
    return [each for each in kept if each.snapshot_id not in behind]


def _manifests(table: IcebergTable, snapshots: Iterable[Snapshot]) -> set[str]:
    return {
        manifest.manifest_path
        for snapshot in snapshots
        for manifest in snapshot.manifests(table.io)
    }
