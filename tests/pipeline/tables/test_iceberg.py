"""Iceberg tables: several jobs, other writers, other catalogs."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog

from odradek.pipeline.job_errors import CommitRefused, JobError
from odradek.pipeline.tables.commit import Commit
from odradek.pipeline.tables.compaction.compaction import compact
from odradek.pipeline.tables.files import TableSource
from odradek.pipeline.tables.iceberg import IcebergTableOfJob
from odradek.pipeline.tables.table import Table, open_table
from tests.pipeline.fake_job import JOB, SCHEMA, range_of, run_batches, writer
from tests.pipeline.table_readers import READERS, rows_of


def catalog_of(folder: Path) -> dict[str, str]:
    return {
        "name": "lakes",
        "type": "sql",
        "uri": f"sqlite:///{folder}/shared.db",
        "warehouse": f"file://{folder}",
        "table": "lake.orders",
    }


def opened(options: dict[str, str]) -> Catalog:
    rest = {k: v for k, v in options.items() if k not in ("name", "table")}
    return load_catalog(options["name"], **rest)


def test_a_path_with_characters_that_a_uri_escapes(tmp_path: Path) -> None:
    folder = tmp_path / "my rows #1" / "ä%20b?"
    run_batches(lambda: (open_table("iceberg", str(folder), JOB), None), range(2))
    assert compact(str(folder)).files_after == 1
    for reader in READERS["iceberg"]:
        assert rows_of(reader, folder, "_offset") == list(range(20))
    assert len(TableSource("iceberg", str(folder), {}).files(None)) == 1  # type: ignore[arg-type]


def test_catalog_of_the_user(tmp_path: Path) -> None:
    options = catalog_of(tmp_path)

    def made() -> tuple[Table, None]:
        return IcebergTableOfJob(tmp_path / "t", JOB, options), None

    run_batches(made, range(2))
    catalog = opened(options)
    rows = catalog.load_table("lake.orders").scan().to_arrow()
    assert sorted(rows["_offset"].to_pylist()) == list(range(20))
    assert not (tmp_path / "t" / "catalog.db").exists()
    catalog.close()


def test_other_writers_and_jobs_come_between(tmp_path: Path) -> None:
    def made() -> tuple[Table, None]:
        return IcebergTableOfJob(tmp_path / "t", JOB, {}), None

    run_batches(made, range(2))
    other = IcebergTableOfJob(tmp_path / "t", "other", {})
    other.commit(Commit("other", 7, ()), [])
    other.load().append(pa.table({"n": [100], "_offset": [100]}, schema=SCHEMA))
    run_batches(made, range(2, 3))
    found = other.last_commit("other"), other.last_commit(JOB)
    assert [each and each.batch for each in found] == [7, 2]
    other.close()
    assert rows_of("pyiceberg", tmp_path / "t", "_offset") == [*range(30), 100]


def test_second_driver_whose_view_is_old(tmp_path: Path) -> None:
    """It had loaded the table before the first one committed the same batch."""

    def made() -> tuple[Table, None]:
        return IcebergTableOfJob(tmp_path / "t", JOB, {}), None

    run_batches(made, range(2))
    slow, fast = made()[0], made()[0]
    assert isinstance(slow, IcebergTableOfJob)
    written = writer(range_of(2))(slow.staging(2), None)
    views = [slow.load(), slow.load()]
    load = slow.load
    fast.commit(Commit(JOB, 2, ()), [])
    slow.load = lambda: views.pop() if views else load()  # type: ignore[method-assign]
    with pytest.raises(CommitRefused):
        slow.commit(Commit(JOB, 2, ()), written.files)
    slow.close()
    fast.close()
    assert rows_of("pyiceberg", tmp_path / "t", "_offset") == list(range(20))


def test_table_that_would_retry_is_refused(tmp_path: Path) -> None:
    options = catalog_of(tmp_path)
    name = options["table"]
    catalog = opened(options)
    catalog.create_namespace("lake")
    catalog.create_table(name, schema=SCHEMA, location=f"file://{tmp_path}/t")
    with pytest.raises(JobError, match=r"commit.retry.num-retries must be 0"):
        IcebergTableOfJob(tmp_path / "t", JOB, options).create(SCHEMA)
    catalog.close()
