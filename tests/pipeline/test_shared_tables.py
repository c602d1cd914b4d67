"""Several jobs in one Delta or Iceberg table: each keeps its rows and its place."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.tables import delta as delta_table
from odradek.pipeline.tables import iceberg as iceberg_table
from odradek.pipeline.tables.table import open_table
from tests.pipeline.fake_job import LETTERS, PLACE, SCHEMA, driver, writer
from tests.pipeline.table_readers import READERS, rows_of

ALIKE = ("orders-eu", "orders.eu", "orders_eu", "export-a-b", "export-a_b")
SHARED = ("delta", "iceberg")
# Each job has offsets of its own, so that a row tells whose it is.
STRIDE = 1000


def run_job(
    kind: str, folder: Path, job: str, batches: Iterable[int], first: int = 0
) -> None:
    table = open_table(kind, str(folder / "rows"), job)
    dead = open_table(kind, str(folder / "letters"), job)
    table.create(SCHEMA)
    dead.create(LETTERS)
    committer = driver(table, dead, job=job)
    committer.recover()
    for batch in batches:
        start = first + batch * 10
        planned = [OffsetRange(*PLACE, start, start + 10)]
        committer.run(batch, planned, writer(planned))
    table.close()
    dead.close()


def check(kind: str, folder: Path, starts: Iterable[int], count: int) -> None:
    offsets = sorted(start + n for start in starts for n in range(count))
    for reader in READERS[kind]:
        rows = rows_of(reader, folder / "rows", "_offset")
        assert rows == [n for n in offsets if n % 10 != 7], reader
        letters = rows_of(reader, folder / "letters", "offset")
        assert letters == [n for n in offsets if n % 10 == 7], reader


@pytest.mark.parametrize("kind", SHARED)
def test_jobs_whose_names_are_alike(kind: str, tmp_path: Path) -> None:
    """The same batch numbers, and names that differ in one character."""
    starts = {job: number * STRIDE for number, job in enumerate(ALIKE)}
    for batch in range(2):
        for job, start in starts.items():
            run_job(kind, tmp_path, job, [batch], start)
    check(kind, tmp_path, starts.values(), 20)


def without_digest(job: str, batch: int) -> str:
    """The folder's name as earlier versions made it."""
    slug = job.replace("-", "_").replace(".", "_")
    return f"{slug}-{batch:010d}-{batch:012x}"


@pytest.mark.parametrize("kind", SHARED)
def test_folders_of_earlier_versions_stay(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        for module in (delta_table, iceberg_table):
            before.setattr(module, "staging_name", without_digest)
        run_job(kind, tmp_path, "orders.eu", range(3))
    run_job(kind, tmp_path, "orders-eu", range(4), STRIDE)
    run_job(kind, tmp_path, "orders.eu", [3])
    check(kind, tmp_path, [0, STRIDE], 40)
