"""Files that no state of a table names go when they are old, and no others."""

import os
import time
from pathlib import Path

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.compaction.compaction import compact, keep_snapshots
from odradek.pipeline.tables.compaction.removed_files import remove_old_files
from odradek.pipeline.tables.table import FORMATS, open_table
from tests.pipeline.fake_job import JOB, run_batches
from tests.pipeline.table_readers import READERS, rows_of

FUTURE_S = 10.0


def fill(kind: str, location: Path, batches: range) -> None:
    run_batches(lambda: (open_table(kind, str(location), JOB), None), batches)


def files_in(location: Path) -> int:
    return len(list(location.rglob("*.parquet")))


@pytest.mark.parametrize("kind", FORMATS)
def test_what_a_compaction_left(kind: str, tmp_path: Path) -> None:
    location = tmp_path / "t"
    fill(kind, location, range(4))
    compact(str(location), 1 << 20)
    if kind == "iceberg":  # its earlier states name them
        assert remove_old_files(str(location), {}, time.time() + FUTURE_S) == 0
        keep_snapshots(str(location), 1, {})
    was = files_in(location)
    assert remove_old_files(str(location), {}, time.time() - 3600) == 0
    removed = remove_old_files(str(location), {}, time.time() + FUTURE_S)
    assert removed == was - 1 == (0 if kind == "parquet" else 8)
    assert files_in(location) == 1
    fill(kind, location, range(4, 5))
    for reader in READERS[kind]:
        assert rows_of(reader, location, "_offset") == list(range(50)), reader


def test_folders_of_batches_that_are_empty_go_too(tmp_path: Path) -> None:
    """A Delta table would have one for each batch, and each would list them all."""
    fill("delta", tmp_path / "t", range(4))
    data = tmp_path / "t" / "data"
    (data / "a-folder-in-use").mkdir()
    (data / "a-folder-in-use" / "part").touch()
    compact(str(tmp_path / "t"), 1 << 20)
    remove_old_files(str(tmp_path / "t"), {}, time.time() + FUTURE_S)
    assert [each.name for each in data.iterdir()] == ["a-folder-in-use"]


def test_a_link_to_the_folder_of_a_table(tmp_path: Path) -> None:
    """Files have other names by it, and are the table's all the same."""
    fill("iceberg", tmp_path / "t", range(2))
    link = tmp_path / "links" / "t"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "t")
    assert remove_old_files(str(link), {}, time.time() + FUTURE_S) == 0
    assert files_in(tmp_path / "t") == 4


def test_a_folder_that_has_none_of_the_tables_files(tmp_path: Path) -> None:
    location = tmp_path / "t"
    fill("iceberg", location, range(2))
    os.rename(location / "data", tmp_path / "elsewhere")
    (location / "data").mkdir()
    (location / "data" / "strange.parquet").write_bytes(b"")
    with pytest.raises(JobError, match="Nothing was removed"):
        remove_old_files(str(location), {}, time.time() + FUTURE_S)
    assert files_in(location) == 1
