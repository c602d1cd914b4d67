"""Delta tables: several jobs, other writers, and where a job's offsets are found."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from odradek.pipeline.job_errors import CommitRefused, JobError, PositionLost
from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.delta import DeltaTableOfJob
from tests.pipeline.fake_job import JOB, SCHEMA, range_of, run_batches, writer
from tests.pipeline.table_readers import rows_of


def filled(folder: Path, count: int) -> DeltaTableOfJob:
    run_batches(lambda: (DeltaTableOfJob(folder, JOB), None), range(count))
    return DeltaTableOfJob(folder, JOB)


def by_hand(folder: Path, number: int) -> None:
    rows = pa.table({"n": [number], "_offset": [number]}, schema=SCHEMA)
    write_deltalake(folder, rows, mode="append")


def test_other_writers_come_between(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    for number in range(100, 160):
        by_hand(tmp_path / "t", number)
    last = table.last_commit(JOB)
    assert last is not None
    assert last.batch == 1
    run_batches(lambda: (DeltaTableOfJob(tmp_path / "t", JOB), None), range(2, 3))
    expected = [*range(30), *range(100, 160)]
    assert rows_of("deltalake", tmp_path / "t", "_offset") == expected


def test_a_path_that_deltalake_takes_for_another(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="give the table another path"):
        filled(tmp_path / "a%20b", 1)
    filled(tmp_path / "a b#?", 1)
    assert rows_of("deltalake", tmp_path / "a b#?", "_offset") == list(range(10))


def test_two_jobs_write_to_one_table(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", 2)
    other = DeltaTableOfJob(tmp_path / "t", "other")
    assert other.last_commit("other") is None
    other.commit(Commit("other", 7, ()), [])
    found = table.last_commit(JOB), other.last_commit("other")
    assert [each and each.batch for each in found] == [1, 7]


def test_commit_says_the_transaction(tmp_path: Path) -> None:
    filled(tmp_path / "t", 3)
    table = DeltaTable(tmp_path / "t")
    assert table.transaction_version(JOB) == 2
    (entry,) = table.history(1)
    assert json.loads(entry["odradek"])[0]["batch"] == 2


def test_second_driver_whose_view_is_old(tmp_path: Path) -> None:
    """It had loaded the table before the first one committed the same batch."""
    filled(tmp_path / "t", 2)
    slow = DeltaTableOfJob(tmp_path / "t", JOB)
    staged = slow.staging(2)
    written = writer(range_of(2))(staged, None)
    view = DeltaTable(str(tmp_path / "t"))
    DeltaTableOfJob(tmp_path / "t", JOB).commit(Commit(JOB, 2, ()), [])
    slow._table = lambda: view  # type: ignore[method-assign]
    with pytest.raises(CommitRefused):
        slow.commit(Commit(JOB, 2, ()), written.files)
    assert rows_of("deltalake", tmp_path / "t", "_offset") == list(range(20))


def test_transaction_without_offsets(tmp_path: Path) -> None:
    """The entry is gone, or it was never one of ours."""
    table = DeltaTableOfJob(tmp_path / "t", JOB)
    table.create(SCHEMA)
    properties = CommitProperties(app_transactions=[Transaction(JOB, 4)])
    rows = pa.table({"n": [1], "_offset": [1]}, schema=SCHEMA)
    write_deltalake(tmp_path / "t", rows, mode="append", commit_properties=properties)
    with pytest.raises(PositionLost, match="no longer has the entry of batch 4"):
        table.last_commit(JOB)


@pytest.mark.parametrize(("batch", "said"), [(0, CommitRefused), (1, JobError)])
def test_failure_is_told_from_another_drivers_commit(
    batch: int, said: type[JobError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library failed; whether batch 0 was committed meanwhile, the table says."""
    table = filled(tmp_path / "t", 0)
    table.create(SCHEMA)
    write = DeltaTable.create_write_transaction

    def other_commits_first(self: DeltaTable, *args: object, **options: object) -> None:
        monkeypatch.setattr(DeltaTable, "create_write_transaction", write)
        DeltaTableOfJob(tmp_path / "t", JOB).commit(Commit(JOB, 0, ()), [])
        raise DeltaError("the file system is full")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", other_commits_first)
    with pytest.raises(JobError) as raised:
        table.commit(Commit(JOB, batch, ()), [])
    assert type(raised.value) is said
