from pathlib import Path

import pytest

from odradek.pipeline.job_errors import CommitRefused, JobError
from tests.pipeline.table_readers import READERS, rows_of
from tests.pipeline.upsert_job import UpsertJob, put

KIND = "iceberg"


def test_the_later_of_two_drivers_is_refused(tmp_path: Path) -> None:
    """By the number of the batch, or as its files were removed by the other one."""
    first, second = UpsertJob(tmp_path, KIND), UpsertJob(tmp_path, KIND)
    first.run([put(b"a", 1)])
    second.run([put(b"a", 1)])  # it is told that the batch is done
    late = first.staged([put(b"a", 2), put(b"b", 3)])
    second.run([put(b"a", 4)])
    with pytest.raises((CommitRefused, FileNotFoundError)):
        late()
    for reader in READERS[KIND]:
        assert rows_of(reader, first.table, "id") == [4]


def test_what_is_written_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = UpsertJob(tmp_path, KIND)
    synced: set[str] = set()
    name = f"odradek.pipeline.tables.upserts.{KIND}.sync"
    monkeypatch.setattr(name, lambda path: synced.add(str(path)))
    job.run([put(b"a", 1), put(b"b", 2)])
    job.run([put(b"a", 3)])
    files = {str(path) for path in job.table.rglob("*.parquet")}
    assert len(files) >= 2
    assert files <= synced


def test_what_pyiceberg_needs_another_package_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "odradek.pipeline.tables.upserts.iceberg.find_spec"
    monkeypatch.setattr(name, lambda _: None)
    job = UpsertJob(tmp_path, KIND, ("days(_timestamp)",))
    with pytest.raises(JobError, match="pip install 'pyiceberg"):
        job.run([put(b"a", 1)])
