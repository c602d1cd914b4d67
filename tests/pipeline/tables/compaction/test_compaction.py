"""Tables keep their rows and their jobs when their files become few."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.compaction import compaction
from odradek.pipeline.tables.compaction.compaction import (
    Group,
    Rewritten,
    compact,
    format_of,
    groups_of,
    rewrite_group,
)
from odradek.pipeline.tables.places import task_file
from odradek.pipeline.tables.places.place import LocalPlace
from odradek.pipeline.tables.table import FORMATS, DataFile, Table, open_table
from tests.pipeline.fake_job import JOB, run_batches
from tests.pipeline.table_readers import READERS, rows_of

BATCHES = 5
ROWS = list(range(BATCHES * 10))


@pytest.fixture(params=FORMATS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def fill(kind: str, location: Path, first: int = 0, count: int = BATCHES) -> None:
    def made() -> tuple[Table, None]:
        return open_table(kind, str(location), JOB), None

    run_batches(made, range(first, first + count))


def test_many_files_become_one(kind: str, tmp_path: Path) -> None:
    location = tmp_path / "t"
    fill(kind, location)
    before = open_table(kind, str(location), JOB).last_commit(JOB)
    assert format_of(LocalPlace(location)) == kind
    done = compact(str(location))
    assert (done.files_before, done.files_after) == (2 * BATCHES, 1)
    assert done.row_count == len(ROWS)
    for reader in READERS[kind]:
        assert rows_of(reader, location, "_offset") == ROWS, reader
    assert open_table(kind, str(location), JOB).last_commit(JOB) == before


def test_the_job_goes_on_behind_it(kind: str, tmp_path: Path) -> None:
    location = tmp_path / "t"
    fill(kind, location)
    compact(str(location))
    fill(kind, location, BATCHES, 2)
    compact(str(location))
    compact(str(location))  # there is nothing left to do
    fill(kind, location, BATCHES + 2, 1)
    expected = list(range((BATCHES + 3) * 10))
    for reader in READERS[kind]:
        assert rows_of(reader, location, "_offset") == expected, reader


def test_a_replayed_batch_is_not_shown_again(tmp_path: Path) -> None:
    """The manifest of the last batch names files that are compacted away."""
    location = tmp_path / "t"
    fill("parquet", location)
    compact(str(location))
    table = open_table("parquet", str(location), JOB)
    last = table.last_commit(JOB)
    assert last is not None
    table.publish(last)
    assert rows_of("duckdb", location, "_offset") == ROWS


def test_parquet_table_in_use_is_left_alone(tmp_path: Path) -> None:
    location = tmp_path / "t"
    fill("parquet", location)
    table = open_table("parquet", str(location), JOB)
    table.create(pq.read_schema(next(location.glob("*.parquet"))))
    with pytest.raises(JobError, match="another process writes"):
        compact(str(location))
    table.close()
    compact(str(location))


def test_compaction_that_dies_changes_nothing(tmp_path: Path) -> None:
    location = tmp_path / "t"
    fill("parquet", location)

    def die(groups: object, folder: Path) -> list[object]:
        (folder / "half.parquet").write_bytes(b"PAR1")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compact(str(location), rewrite=die)  # type: ignore[arg-type]
    assert rows_of("duckdb", location, "_offset") == ROWS
    assert len(os.listdir(tmp_path)) == 2
    compact(str(location))
    assert rows_of("duckdb", location, "_offset") == ROWS
    assert os.listdir(tmp_path) == ["t"]


def test_rows_that_get_lost_stop_it(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2]}), path)
    group = Group((DataFile(str(path), 3, 10),))
    with pytest.raises(JobError, match="have 3 rows"):
        rewrite_group(group, tmp_path)


def test_a_new_file_is_durable_before_it_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By who wrote it: the driver may be another machine."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": [1, 2]}), path)
    synced: list[str] = []
    monkeypatch.setattr(task_file, "sync", lambda path: synced.append(str(path)))
    done = rewrite_group(Group((DataFile(str(path), 2, 10),)), tmp_path)
    assert synced == [f"{done.file.path}.tmp"]  # it has its name behind that


def test_the_memory_that_it_took_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill("parquet", tmp_path / "t")
    done: list[str] = []

    def rewrite(*given: Any) -> Rewritten:
        done.append("rewritten")
        return rewrite_group(*given)

    pool = SimpleNamespace(release_unused=lambda: done.append("given back"))
    monkeypatch.setattr(compaction, "rewrite_group", rewrite)
    monkeypatch.setattr(pa, "default_memory_pool", lambda: pool)
    compact(str(tmp_path / "t"), is_ours=True)
    assert done == ["rewritten", "given back"]


def test_groups_are_neighbours_up_to_the_size() -> None:
    sizes = [10, 20, 70, 90, 30, 30, 30, 30, 5]
    files = [DataFile(str(n), 1, size) for n, size in enumerate(sizes)]
    found = [[file.path for file in group.files] for group in groups_of(files, 100)]
    # 3 is large enough as it is; the last has nobody left to go with.
    assert found == [["0", "1", "2"], ["4", "5", "6"], ["7", "8"]]


def test_no_table_is_said(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="not a table"):
        compact(str(tmp_path))
