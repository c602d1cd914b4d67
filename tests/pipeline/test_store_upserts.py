"""The last row of each key, in tables that lie in a store, through a driver's death."""

from itertools import product
from pathlib import Path

import pytest

from odradek.pipeline.jobs.job_committer import Step
from odradek.pipeline.tables.table import Table, open_table, open_upserts
from odradek.pipeline.tables.upserts.last_rows import KeyColumns
from tests.fakes.stored_objects import ObjectServer
from tests.objects.conftest import far_server, far_store
from tests.pipeline.fake_job import JOB
from tests.pipeline.stores import URL, catalog, rows_in
from tests.pipeline.upsert_job import Change, UpsertJob, put
from tests.sampling import sampled_rows

__all__ = ["far_server", "far_store"]


class StoredUpserts(UpsertJob):
    """The job, whose tables are in a store."""

    def __init__(self, folder: Path, kind: str) -> None:
        super().__init__(folder, kind)
        self._catalog = catalog(kind, folder)

    def _open(self) -> tuple[Table, Table]:
        columns = KeyColumns.of("_")
        table = open_upserts(self._kind, f"{URL}/rows", JOB, columns, self._catalog)
        letters = open_table(self._kind, f"{URL}/letters", JOB, self._catalog)
        return table, letters


@pytest.mark.parametrize(
    ("kind", "dies_at"),
    sampled_rows(
        product(["delta", "iceberg"], [None, Step.STAGED, Step.COMMITTED]),
        ("delta", Step.STAGED),
        ("iceberg", Step.COMMITTED),
    ),
)
def test_last_rows(
    kind: str, dies_at: Step | None, far_server: ObjectServer, tmp_path: Path
) -> None:
    job = StoredUpserts(tmp_path, kind)
    job.run([put(b"a", 1), put(b"b", 2), put(b"a", 3)], dies_at)
    assert rows_in(far_server, kind, "id", tmp_path) == [2, 3]
    job.run([put(b"c", 4), Change(b"b", None), put(b"a", 5)], dies_at)
    assert rows_in(far_server, kind, "id", tmp_path) == [4, 5]
    job.run([Change(b"z", None)], dies_at)
    assert rows_in(far_server, kind, "id", tmp_path) == [4, 5]
    job.run([Change(b"c", b"bad"), put(b"b", 6)], dies_at)
    assert rows_in(far_server, kind, "id", tmp_path) == [4, 5, 6]
    staged = [name for name in far_server.names("jobs/rows/data") if JOB[:5] in name]
    assert staged == []
