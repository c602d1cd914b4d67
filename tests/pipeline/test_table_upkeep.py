"""What owners ordinarily do to a table, and jobs go on behind it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.compaction.compaction import compact
from odradek.pipeline.tables.iceberg import IcebergTableOfJob
from odradek.pipeline.tables.table import open_table
from tests.pipeline.fake_job import JOB, SCHEMA, run_batches
from tests.pipeline.table_readers import rows_of

READER = {"delta": "deltalake", "iceberg": "pyiceberg"}
FAR = datetime(2100, 1, 1, tzinfo=UTC)


def run(kind: str, location: Path, batches: range) -> None:
    run_batches(lambda: (open_table(kind, str(location), JOB), None), batches)


def position(kind: str, location: Path, job: str = JOB) -> Commit | None:
    table = open_table(kind, str(location), job)
    try:
        return table.last_commit(job)
    finally:
        table.close()


def expire(location: Path) -> None:
    """All snapshots but the current one."""
    table = IcebergTableOfJob(location, JOB, {})
    table.load().maintenance.expire_snapshots().older_than(FAR).commit()
    assert len(table.load().metadata.snapshots) == 1
    table.write_hint()
    table.close()


def foreign_rows(location: Path) -> None:
    table = IcebergTableOfJob(location, JOB, {})
    table.load().append(pa.table({"n": [1000], "_offset": [1000]}, schema=SCHEMA))
    table.close()


def foreign_overwrite(location: Path) -> None:
    """All rows are written anew, and the old files named no more, as by a rewrite."""
    table = IcebergTableOfJob(location, JOB, {})
    loaded = table.load()
    loaded.overwrite(loaded.scan().to_arrow())
    table.close()


def second_job(location: Path) -> None:
    table = IcebergTableOfJob(location, "other", {})
    last = table.last_commit("other")
    table.commit(Commit("other", 0 if last is None else last.batch + 1, ()), [])
    table.close()


def own_compaction(location: Path) -> None:
    compact(str(location))


UPKEEP = (foreign_rows, foreign_overwrite, second_job, own_compaction)


@pytest.mark.parametrize("on_top", UPKEEP)
def test_snapshots_are_expired(on_top: Callable[[Path], None], tmp_path: Path) -> None:
    location = tmp_path / "t"
    run("iceberg", location, range(3))
    on_top(location)
    expire(location)
    found = position("iceberg", location)
    assert found is not None
    assert found.batch == 2
    run("iceberg", location, range(3, 5))
    rows = [n for n in rows_of("pyiceberg", location, "_offset") if n < 1000]
    assert rows == list(range(50))


def test_all_of_it_twice(tmp_path: Path) -> None:
    location = tmp_path / "t"
    for batch in range(3):
        run("iceberg", location, range(batch, batch + 1))
        for on_top in UPKEEP:
            on_top(location)
            expire(location)
    found = [position("iceberg", location, job) for job in (JOB, "other")]
    assert [each and each.batch for each in found] == [2, 2]
    rows = [n for n in rows_of("pyiceberg", location, "_offset") if n < 1000]
    assert rows == list(range(30))


def test_idle_job_is_carried_by_another(tmp_path: Path) -> None:
    """Its own snapshots are expired; even the properties were put back."""
    location = tmp_path / "t"
    run("iceberg", location, range(3))
    for _ in range(3):
        second_job(location)
        expire(location)
    table = IcebergTableOfJob(location, JOB, {})
    with table.load().transaction() as transaction:
        transaction.remove_properties(f"odradek.commit.{JOB}")
    table.close()
    found = position("iceberg", location)
    assert found is not None
    assert found.batch == 2


def test_table_that_was_rolled_back(tmp_path: Path) -> None:
    """The properties are ahead of it then; the snapshots say the truth."""
    location = tmp_path / "t"
    run("iceberg", location, range(2))
    table = IcebergTableOfJob(location, JOB, {})
    earlier = table.load().current_snapshot()
    assert earlier is not None
    run("iceberg", location, range(2, 4))
    manage = table.load().manage_snapshots()
    manage.rollback_to_snapshot(earlier.snapshot_id).commit()
    table.close()
    found = position("iceberg", location)
    assert found is not None
    assert found.batch == 1
    # What was rolled back stays for those who named a snapshot of it.
    files = {p for p in (location / "data").rglob("*.parquet")}
    run("iceberg", location, range(2, 4))
    assert files <= {p for p in (location / "data").rglob("*.parquet")}
    assert rows_of("pyiceberg", location, "_offset") == list(range(40))


def test_rolled_back_to_what_nobody_of_us_made(tmp_path: Path) -> None:
    """Only the properties are left, and they are of what came later: not to be used."""
    location = tmp_path / "t"
    run("iceberg", location, range(1))
    foreign_rows(location)
    expire(location)
    table = IcebergTableOfJob(location, JOB, {})
    earlier = table.load().current_snapshot()
    assert earlier is not None
    run("iceberg", location, range(1, 3))
    manage = table.load().manage_snapshots()
    manage.rollback_to_snapshot(earlier.snapshot_id).commit()
    table.close()
    assert position("iceberg", location) is None


def cleaned_log(location: Path) -> None:
    """No entry of the log is left but the newest, of somebody else."""
    table = DeltaTable(location)
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 days"})
    by_hand(location)
    table = DeltaTable(location)
    table.create_checkpoint()
    table.cleanup_metadata()
    left = sorted(path.stem for path in (location / "_delta_log").glob("*.json"))
    assert left == [f"{table.version():020d}"]


def by_hand(location: Path, mode: str = "append") -> None:
    rows = pa.table({"n": [1000], "_offset": [1000]}, schema=SCHEMA)
    write_deltalake(location, rows, mode=mode)  # type: ignore[call-overload]


def vacuumed(location: Path) -> None:
    by_hand(location, "overwrite")
    DeltaTable(location).vacuum(
        0, dry_run=False, enforce_retention_duration=False, full=True
    )
    assert not list((location / "data").rglob("*.parquet"))


@pytest.mark.parametrize("upkeep", [cleaned_log, vacuumed])
def test_history_of_a_delta_table_is_removed(
    upkeep: Callable[[Path], None], tmp_path: Path
) -> None:
    location = tmp_path / "t"
    run("delta", location, range(3))
    before = set(rows_of("deltalake", location, "_offset"))
    upkeep(location)
    found = position("delta", location)
    assert found is not None
    assert (found.batch, next(iter(found.ends.values()))) == (2, 30)
    kept = before & set(rows_of("deltalake", location, "_offset"))
    run("delta", location, range(3, 5))
    after = set(rows_of("deltalake", location, "_offset"))
    assert after == kept | set(range(30, 50)) | {1000}


def long_ago(location: Path) -> None:
    """What the entries of the log say of transactions was said in 1970."""
    for entry in (location / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        for action in actions:
            if "txn" in action:
                action["txn"]["lastUpdated"] = 1000
        entry.write_text("\n".join(map(json.dumps, actions)))


def test_identifier_of_a_delta_job_expires(tmp_path: Path) -> None:
    """As other engines let it, when the owner says how long."""
    location = tmp_path / "t"
    run("delta", location, range(1))
    table = DeltaTable(location)
    table.alter.set_table_properties(
        {"delta.setTransactionRetentionDuration": "interval 1 hours"}
    )
    run("delta", location, range(1, 3))
    long_ago(location)
    cleaned_log(location)
    assert DeltaTable(location).transaction_version(JOB) is None
    found = position("delta", location)
    assert found is not None
    assert found.batch == 2
    run("delta", location, range(2, 4))  # Spark repeats the last one
    assert rows_of("deltalake", location, "_offset") == [*range(40), 1000]


def test_second_table_in_the_place_of_a_delta_table(tmp_path: Path) -> None:
    """The notes of the first one say nothing of it."""
    location = tmp_path / "t"
    run("delta", location, range(3))
    (location / "_delta_log").rename(tmp_path / "gone")
    run("delta", location, range(1))
    assert rows_of("deltalake", location, "_offset") == list(range(10))


def test_note_that_is_torn_or_late(tmp_path: Path) -> None:
    """Then the log's entry says it, as long as it is there."""
    location = tmp_path / "t"
    run("delta", location, range(1))
    (note,) = (location / "_odradek").iterdir()
    first = note.read_text()
    run("delta", location, range(1, 3))
    for text in (first, first[:50], ""):
        note.write_text(text)
        found = position("delta", location)
        assert found is not None
        assert found.batch == 2
