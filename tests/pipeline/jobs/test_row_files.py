"""Files of rows: whole or not there, and one at least for each partition."""

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.jobs import row_files
from odradek.pipeline.jobs.row_files import RowFiles, Shape
from odradek.pipeline.tables.partitions.partitioning import read_partitioning

SCHEMA = pa.schema([("kind", pa.string()), ("n", pa.int64())])


class Held(bytearray):
    """Bytes that tell whether somebody still has them."""


def rows(*kinds: str, first: int = 0) -> pa.RecordBatch:
    made = [{"kind": kind, "n": first + n} for n, kind in enumerate(kinds)]
    return pa.RecordBatch.from_pylist(made, schema=SCHEMA)


def by_kind(kind: str = "parquet", **options: Any) -> Shape:
    return Shape(partitioning=read_partitioning("", ["kind"], kind), **options)


def test_one_file_for_each_partition(tmp_path: Path) -> None:
    files = RowFiles(str(tmp_path), by_kind())
    files.write(rows("a", "b", "a"))
    files.write(rows("b", first=3))
    found = {each["partition_path"]: each for each in files.finish()}
    assert {path: each["rows"] for path, each in found.items()} == {
        "kind=a": 2,
        "kind=b": 2,
    }
    for each in found.values():
        assert Path(each["path"]).stat().st_size == each["size"]
        assert Path(each["path"]).parent == tmp_path
    table = pq.ParquetFile(found["kind=b"]["path"]).read()
    assert table.to_pydict() == {"n": [1, 3]}


def test_few_files_are_open_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "_OPEN_MAX", 2)
    monkeypatch.setattr(row_files, "_ROW_GROUP_SIZE", 1)
    files = RowFiles(str(tmp_path), by_kind("delta"))
    for number, kind in enumerate("abcabc"):
        files.write(rows(kind, first=number))
        whole = len(list(tmp_path.glob("*.parquet")))
        assert len(list(tmp_path.glob("*.tmp"))) <= 2
    assert whole == 4
    done = files.finish()
    assert sorted(each["partition_path"] for each in done) == sorted(
        ["kind=" + k for k in "abc"] * 2
    )
    found = [n for e in done for n in pq.ParquetFile(e["path"]).read()["n"].to_pylist()]
    assert sorted(found) == list(range(6))


def test_what_is_held_is_bounded_however_many_rows_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, size = 10_000, 3000
    monkeypatch.setattr(row_files, "_ROW_GROUP_SIZE", group)
    files = RowFiles(str(tmp_path), Shape("none"))
    schema = pa.schema([("value", pa.large_binary())])
    held: list[weakref.ref[Held]] = []
    most = 0
    for number in range(50):
        value = Held(bytes([number]) * size)
        held.append(weakref.ref(value))
        ends = pa.py_buffer(np.array([0, size], np.int64))
        buffers = [None, ends, pa.py_buffer(value)]
        column = pa.Array.from_buffers(pa.large_binary(), 1, buffers)
        files.write(pa.RecordBatch.from_arrays([column], schema=schema))
        del value, buffers, column
        most = max(most, sum(each() is not None for each in held))
    assert most * size <= group
    (done,) = files.finish()
    assert not any(each() is not None for each in held)
    file = pq.ParquetFile(done["path"])
    groups = range(file.metadata.num_row_groups)
    assert {file.metadata.row_group(n).num_rows for n in groups} <= {2, 3}
    found = file.read()["value"].to_pylist()
    assert found == [bytes([number]) * size for number in range(50)]


def test_a_column_that_tells_rows_apart_divides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "_PARTITIONS_MAX", 3)
    files = RowFiles(str(tmp_path), by_kind())
    files.write(rows("a", "b", "c", "d"))
    with pytest.raises(JobStopped, match="more than 3 partitions, by kind"):
        files.finish()


def test_what_is_abandoned_does_not_look_whole(tmp_path: Path) -> None:
    files = RowFiles(str(tmp_path), by_kind())
    files.write(rows("a"))
    files._flush()
    files.abandon()
    assert [path.suffix for path in tmp_path.iterdir()] == [".tmp"]


def test_columns_of_the_table_are_there_before_rows_are_divided(tmp_path: Path) -> None:
    wider = SCHEMA.append(pa.field("more", pa.string()))
    files = RowFiles(str(tmp_path), by_kind(schema=bytes(wider.serialize())))
    files.write(rows("a"))
    (done,) = files.finish()
    assert pq.ParquetFile(done["path"]).read().to_pydict() == {"n": [0], "more": [None]}
