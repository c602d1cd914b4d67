"""What an Iceberg table keeps of its history: bounded, and nothing in use is gone."""

import os
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pytest
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.snapshots import Snapshot

from odradek.pipeline.tables import snapshot_history
from odradek.pipeline.tables.iceberg import IcebergTableOfJob
from odradek.pipeline.tables.snapshot_history import (
    SNAPSHOTS_MAX,
    expire,
    newest_only,
    snapshots_max,
    to_expire,
)
from tests.pipeline.fake_job import JOB, SCHEMA, run_batches
from tests.pipeline.table_readers import READERS, rows_of


def run(location: Path, batches: range) -> None:
    run_batches(lambda: (IcebergTableOfJob(location, JOB, {}), None), batches)


def load(location: Path) -> IcebergTable:
    table = IcebergTableOfJob(location, JOB, {})
    loaded = table.load()
    table.close()
    return loaded


def keep(location: Path, text: str, merge: int = 100) -> None:
    with load(location).transaction() as transaction:
        transaction.set_properties(
            {SNAPSHOTS_MAX: text, "commit.manifest.min-count-to-merge": str(merge)}
        )


def metadata_files(location: Path) -> set[str]:
    names = os.listdir(location / "metadata")
    return {n for n in names if n.endswith(".avro")}


def named(location: Path) -> set[str]:
    """All lists and manifests that some snapshot needs."""
    table = load(location)
    found = set()
    for snapshot in table.metadata.snapshots:
        found.add(snapshot.manifest_list)
        found |= {each.manifest_path for each in snapshot.manifests(table.io)}
    return {os.path.basename(urlsplit(path).path) for path in found}


def old_of(table: IcebergTable) -> list[Snapshot]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot_history, "EXPIRED_TOGETHER", 1)
        return to_expire(table.metadata)


@pytest.mark.parametrize("merge", [3, 100])
def test_history_stays_bounded_and_the_job_goes_on(
    merge: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_history, "EXPIRED_TOGETHER", 2)
    location = tmp_path / "t"
    run(location, range(1))
    keep(location, "4", merge)
    counts, ever = [], set()
    for batch in range(1, 16):
        run(location, range(batch, batch + 1))
        ever |= named(location)
        counts.append(len(load(location).metadata.snapshots))
    assert set(counts[5:]) == {4, 5}
    for reader in READERS["iceberg"]:
        assert rows_of(reader, location, "_offset") == list(range(160))
    files, needed = metadata_files(location), named(location)
    assert needed <= files
    # What no snapshot ever had is of pyiceberg: it merges what it has just written.
    assert (files - needed) & ever == set()
    table = IcebergTableOfJob(location, JOB, {})
    last = table.last_commit(JOB)
    table.close()
    assert last is not None
    assert last.batch == 15
    # Each of those that are left can be read.
    loaded = load(location)
    ends = [
        loaded.scan(snapshot_id=each.snapshot_id).to_arrow().num_rows
        for each in loaded.metadata.snapshots
    ]
    assert ends == [160 - 10 * n for n in reversed(range(len(ends)))]


def test_tags_and_what_was_rolled_back_keep_their_files(tmp_path: Path) -> None:
    location = tmp_path / "t"
    run(location, range(1))
    keep(location, "3", merge=2)
    run(location, range(1, 6))
    table = load(location)
    tagged, earlier = table.metadata.snapshots[1], table.metadata.snapshots[3]
    table.manage_snapshots().create_tag(tagged.snapshot_id, "first").commit()
    load(location).manage_snapshots().rollback_to_snapshot(earlier.snapshot_id).commit()
    run(location, range(4, 6))
    table = load(location)
    old = old_of(table)
    expire(table, old)
    table = load(location)
    left = {each.snapshot_id for each in table.metadata.snapshots}
    assert left & {each.snapshot_id for each in old} == set()
    assert tagged.snapshot_id in left
    assert len(left) == 4
    assert named(location) <= metadata_files(location)
    rows = table.scan(snapshot_id=tagged.snapshot_id).to_arrow()
    assert rows.num_rows == 20
    assert rows_of("pyiceberg", location, "_offset") == list(range(60))


def test_nothing_is_expired_unless_the_table_says_so(tmp_path: Path) -> None:
    location = tmp_path / "t"
    run(location, range(3))
    assert snapshots_max(load(location).metadata) == 500
    for text in ("0", "", "many", "-1"):
        keep(location, text)
        metadata = load(location).metadata
        assert snapshots_max(metadata) is None
        assert to_expire(metadata) == []


def test_somebody_commits_meanwhile(tmp_path: Path) -> None:
    location = tmp_path / "t"
    run(location, range(3))
    keep(location, "1")
    table = load(location)
    old = old_of(table)
    files = metadata_files(location)
    run(location, range(3, 4))
    expire(table, old)
    assert files <= metadata_files(location)
    assert len(load(location).metadata.snapshots) == 4


def test_commit_on_the_newest_snapshot_alone_keeps_the_others(tmp_path: Path) -> None:
    location = tmp_path / "t"
    run(location, range(3))
    table = load(location)
    slim = newest_only(table)
    assert len(slim.metadata.snapshots) == 1
    assert len(table.metadata.snapshots) == 3
    slim.append(pa.table({"n": [1], "_offset": [99]}, schema=SCHEMA))
    after = load(location).metadata
    assert len(after.snapshots) == len(after.snapshot_log) == 4
    assert rows_of("pyiceberg", location, "_offset")[:30] == list(range(30))
