"""Partitioned tables of each format in a store, as their readers see them."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.compaction.compaction import compact
from odradek.pipeline.tables.table import FORMATS, open_table
from tests.fakes.stored_objects import ObjectServer
from tests.objects.conftest import far_server, far_store
from tests.pipeline.fake_job import JOB
from tests.pipeline.stores import URL, catalog, rows_in, table_at

from .divided_table import SCHEMA, by, commit_batch

__all__ = ["far_server", "far_store"]
# A store takes names that a file system does not, and a URL has its own characters.
KINDS = ["007", "a/b", None, "a.", "ä <&+%2F>", "?#%"]


def fill(kind: str, folder: Path, batches: range) -> None:
    with closing(table_at(kind, JOB, folder)) as table:
        table.create(SCHEMA, partitioning=by(kind))
        for batch in batches:
            table.publish(commit_batch(table, kind, batch, KINDS))


def read_folder(server: ObjectServer, name: str) -> list[tuple[int, Any]]:
    """A Parquet table by a reader of folders, which knows their names only."""
    system = fs.S3FileSystem(
        access_key="a",
        secret_key="b",
        endpoint_override=server.where().removeprefix("http://"),
        scheme="http",
    )
    found = []
    for path in server.names(f"jobs/{name}/kind="):
        rows = pq.read_table(f"lake/{path}", filesystem=system, partitioning=None)
        found += [(n, path.split("/")[2]) for n in rows["n"].to_pylist()]
    return sorted(found)


@pytest.mark.parametrize("kind", FORMATS)
def test_all_rows_are_there(
    kind: str, far_server: ObjectServer, tmp_path: Path
) -> None:
    fill(kind, tmp_path, range(2))
    if kind == "parquet":
        names = ["007", "a%2Fb", "__HIVE_DEFAULT_PARTITION__"]
        names += ["a%2E", "ä <&+%252F>", "%3F%23%25"]
        assert read_folder(far_server, "rows") == [
            (n, f"kind={names[n % 6]}") for n in range(24)
        ]
        assert far_server.names("jobs/rows/_stage") == []
        return
    told = [rows_in(far_server, kind, name, tmp_path) for name in ("n", "_timestamp")]
    assert told[0] == list(range(24))
    done = compact(f"{URL}/rows", catalog=catalog(kind, tmp_path))
    assert done.files_after == 6
    fill(kind, tmp_path, range(2, 3))
    assert rows_in(far_server, kind, "n", tmp_path) == list(range(36))
    found = rows_in(far_server, kind, "kind", tmp_path, key=str)
    assert found == sorted(KINDS * 6, key=str)


def test_a_driver_that_dies_before_the_files_are_shown(
    far_server: ObjectServer, tmp_path: Path
) -> None:
    fill("parquet", tmp_path, range(1))
    table = table_at("parquet", JOB, tmp_path)
    commit_batch(table, "parquet", 1, KINDS)
    assert len(table.files()) == 6
    again = table_at("parquet", JOB, tmp_path)
    last = again.last_commit(JOB)
    assert last is not None
    for _ in range(2):
        again.publish(last)
        assert len(again.files()) == 12
    assert all(again.open(path).read(4) == b"PAR1" for path in again.files())


def test_folders_of_somebody_else(far_server: ObjectServer, tmp_path: Path) -> None:
    far_server.put("jobs/rows/kind=a/x.parquet", b"")
    with pytest.raises(JobError, match=r"is not a table of odradek.*kind=a"):
        table_at("parquet", JOB, tmp_path).create(SCHEMA)


def test_names_that_might_be_too_long(far_server: ObjectServer) -> None:
    table = open_table("parquet", f"{URL}/{'x' * 600}", JOB)
    with pytest.raises(JobError, match=r"have 1024 bytes.*a shorter path"):
        table.create(SCHEMA, partitioning=by("parquet", "kind", "n"))
    assert far_server.names() == []
