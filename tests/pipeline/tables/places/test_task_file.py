"""Files that tasks write, in folders and on their way to stores."""

import errno
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.tables.places import task_file
from odradek.pipeline.tables.places.store_place import StorePlace
from odradek.pipeline.tables.places.task_file import (
    Folder,
    as_told,
    new_task_file,
    opened,
    scratch_folder,
)
from tests.fakes.stored_objects import ObjectServer

ROWS = pa.table({"n": list(range(1000))})


def write(folder: Folder) -> tuple[str, int]:
    made = new_task_file(folder)
    with made.telling(), pq.ParquetWriter(made.sink, ROWS.schema) as writer:
        writer.write_table(ROWS)
        assert made.size > 0
    return made.finish()


def test_in_a_folder(tmp_path: Path) -> None:
    path, size = write(str(tmp_path))
    assert os.listdir(tmp_path) == [Path(path).name]
    assert size == Path(path).stat().st_size
    assert pq.read_table(opened(path, str(tmp_path))).equals(ROWS)


def test_in_a_store(
    place: StorePlace,
    server: ObjectServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    folder = as_told(place.staging("data", "x"))
    url, size = write(folder)
    (name,) = server.names()
    assert url == f"s3://lake/{name}"
    assert size == len(server.content(name))
    assert pq.read_table(opened(url, folder)).equals(ROWS)
    assert os.listdir(tmp_path) == []


def test_abandoned(place: StorePlace, server: ObjectServer, tmp_path: Path) -> None:
    for folder in (str(tmp_path), as_told(place.staging("data", "x"))):
        made = new_task_file(folder)
        writer = pq.ParquetWriter(made.sink, ROWS.schema)
        writer.close()
        made.abandon()
    assert all(name.endswith(".tmp") for name in os.listdir(tmp_path))
    assert server.names() == []


def test_disk_that_is_full(place: StorePlace, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(dir: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(task_file.tempfile, "TemporaryFile", full)
    with pytest.raises(JobStopped, match=r"has no room in .*TMPDIR names|TMPDIR name"):
        new_task_file(as_told(place.staging("data", "x")))


def test_where_files_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/other")
    assert scratch_folder() == str(tmp_path)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/none")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(task_file.tempfile, "tempdir", None)
    assert scratch_folder() == str(tmp_path)
