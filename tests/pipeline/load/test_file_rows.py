"""Rows of files as records: each in one task, as Spark would have made them."""

import pickle
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.pipeline.load.file_rows import (
    TASKS_MAX,
    FileRows,
    FilesDiffer,
    PlainFiles,
    plain_files,
)
from odradek.pipeline.load.record_rows import RecordColumns, record_rows, usual_columns
from odradek.pipeline.tables.files import TableSource
from odradek.protocol.murmur2 import partition_of_key

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from odradek.pipeline.tables.files import RowSource

VALUES = RecordColumns(value="value")
KEYED = RecordColumns("key", "value")
EARLY = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)


def written(folder: Path, *tables: pa.Table) -> tuple[str, ...]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number}.parquet" for number in range(len(tables))]
    for path, table in zip(paths, tables, strict=True):
        pq.write_table(table, path, row_group_size=100)
    return tuple(map(str, paths))


def rows_of(rows: FileRows) -> list[list[dict[str, Any]]]:
    """Those that each task sends."""
    packed = pickle.loads(pickle.dumps(rows))
    return [
        [row for batch in packed.batches(task) for row in batch.to_pylist()]
        for task in range(rows.task_count)
    ]


def test_each_row_is_sent_by_one_task_and_in_order(tmp_path: Path) -> None:
    keys = [f"k{number % 30}" for number in range(500)]
    values = [str(number) for number in range(500)]
    whole = pa.table({"key": keys, "value": values, "more": values})
    empty = whole.slice(0, 0)
    paths = written(tmp_path, whole.slice(0, 250), empty, whole.slice(250))
    found = rows_of(PlainFiles(paths, KEYED, 500).divided(7, 3))
    for task, rows in enumerate(found):
        assert rows
        for row in rows:
            assert row["partition"] == partition_of_key(row["key"], 7)
            assert row["partition"] % 3 == task
        numbers = [int(row["value"]) for row in rows]
        assert numbers == sorted(numbers)
    assert Counter(row["value"] for rows in found for row in rows) == Counter(
        text.encode() for text in values
    )


def test_rows_without_keys_are_spread_alike_by_all_tasks(tmp_path: Path) -> None:
    values = [str(number) for number in range(403)]
    table = pa.table({"value": values})
    paths = written(tmp_path, table.slice(0, 201), table.slice(201))
    found = rows_of(PlainFiles(paths, VALUES, 403).divided(4, 2))
    sent = [row for rows in found for row in rows]
    assert len({row["value"] for row in sent}) == len(sent) == 403
    counts = Counter(row["partition"] for row in sent)
    assert sorted(counts.values()) == [100, 101, 101, 101]


def test_there_are_few_tasks() -> None:
    files = PlainFiles((), VALUES, 0)
    assert files.divided(3, 8).task_count == 3
    assert files.divided(100, 2).task_count == 2
    assert files.divided(100, 100).task_count == TASKS_MAX
    assert files.divided(100, None).task_count == TASKS_MAX


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (pa.timestamp("us", "UTC"), [EARLY, None], [-1, 9]),
        (pa.timestamp("ms", "UTC"), [-1, 5], [-1, 5]),
        (pa.int64(), [1 << 40, None], [1 << 40, 9]),
        (pa.int32(), [7, 8], [7, 8]),
    ],
)
def test_times(tmp_path: Path, kind: Any, given: Any, expected: list[int]) -> None:
    table = pa.table({"value": ["a", "b"], "at": pa.array(given, kind)})
    columns = VALUES._replace(timestamp="at")
    files = PlainFiles(written(tmp_path, table), columns, 2, now_ms=9)
    (rows,) = rows_of(files.divided(1, 1))
    assert [row["time_ms"] for row in rows] == expected


def test_large_values_are_read_few_at_once(tmp_path: Path) -> None:
    large = ["a" * (1 << 20)] * 40  # once in the file, as all are the same
    paths = written(tmp_path, pa.table({"value": large}))
    batches = list(PlainFiles(paths, VALUES, 403).divided(1, 1).batches(0))
    assert sum(batch.num_rows for batch in batches) == 40
    assert max(batch.num_rows for batch in batches) <= 8


def test_a_row_that_wants_a_partition_that_there_is_not(tmp_path: Path) -> None:
    table = pa.table({"value": ["a"], "partition": pa.array([4], pa.int32())})
    columns = VALUES._replace(partition="partition")
    rows = PlainFiles(written(tmp_path, table), columns, 1).divided(4, 2)
    with pytest.raises(ValueError, match="wants partition 4; the topic has 4"):
        list(rows.batches(0))


def test_rows_of_many_small_files_are_sent_together(tmp_path: Path) -> None:
    tables = [pa.table({"value": [f"{number}"] * 3}) for number in range(50)]
    large = pa.table({"value": pa.array(["x"] * 3, pa.large_string())})
    paths = written(tmp_path, *tables, large)
    rows = PlainFiles(paths, VALUES, 153).divided(3, 3)
    batches = list(rows.batches(1))
    assert [batch.num_rows for batch in batches] == [50, 1]
    found = [value.as_py() for value in batches[0].column("value")]
    assert found == [str(number).encode() for number in range(50)]


def test_no_more_of_a_file_is_held_than_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself the reader holds on to all columns of a file."""
    asked: list[bool] = []
    real = pq.ParquetFile

    def opened(path: Any, *, pre_buffer: bool, **more: Any) -> Any:
        asked.append(pre_buffer)
        return real(path, pre_buffer=pre_buffer, **more)

    paths = written(tmp_path, pa.table({"value": ["a"]}))
    monkeypatch.setattr(pq, "ParquetFile", opened)
    assert len(list(PlainFiles(paths, VALUES, 1).divided(1, 1).batches(0))) == 1
    assert asked == [False]


def test_who_has_not_sent_all_rows_is_told() -> None:
    rows = PlainFiles(("a",), VALUES, 7).divided(2, 2)
    rows.check(7)
    with pytest.raises(FilesDiffer, match="have 7 rows here, and tasks found 6"):
        rows.check(6)


KEYS: list[Any] = [
    pa.array(["a", None, "ü"], pa.string()),
    pa.array([b"\xff", b"", None], pa.binary()),
    pa.array([-7, None, 1 << 60], pa.int64()),
    pa.array([-7, None, 127], pa.int8()),
]


@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: str(keys.type))
def test_they_are_what_spark_makes_of_them(
    spark: "SparkSession", tmp_path: Path, keys: Any
) -> None:
    table = pa.table(
        {
            "key": keys,
            "value": pa.array([None, b"\xff", b""], pa.binary()),
            "timestamp": pa.array([EARLY, None, EARLY], pa.timestamp("us", "UTC")),
            "partition": pa.array([2, 0, None], pa.int32()),
        }
    )
    written(tmp_path / "t", table)
    source = TableSource("parquet", str(tmp_path / "t"), {})
    files = source.files(spark)
    rows = source.rows(spark, files)
    columns = usual_columns(rows.columns)
    plain = plain_files(source, files, rows, columns)
    assert plain is not None
    assert plain.row_count == 3
    of_spark = record_rows(rows, columns, 3, 2).toArrow().to_pylist()
    now_ms = next(row["time_ms"] for row in of_spark if row["time_ms"] > 0)
    ours = PlainFiles(plain.paths, columns, 3, now_ms).divided(3, 2)
    found = [{**row, "headers": []} for rows in rows_of(ours) for row in rows]
    assert sorted(found, key=str) == sorted(of_spark, key=str)


def test_what_needs_spark(spark: "SparkSession", tmp_path: Path) -> None:
    table = pa.table(
        {
            "key": ["a"],
            "value": ["b"],
            "price": [1.5],
            "at": pa.array([1], pa.timestamp("us")),  # of no zone
            "list": [["x"]],
        }
    )
    folder = tmp_path / "t"
    written(folder, table)

    def is_plain(columns: RecordColumns, source: "RowSource | None" = None) -> bool:
        source = source or TableSource("parquet", str(folder), {})
        files = source.files(spark)
        rows = source.rows(spark, files)
        return plain_files(source, files, rows, columns) is not None

    assert is_plain(KEYED)
    assert not is_plain(RecordColumns("key"))  # all columns as JSON
    for part, name in {
        "key": "price",
        "value": "price",
        "timestamp": "at",
        "headers": "list",
        "partition": "key",
    }.items():
        assert not is_plain(KEYED._replace(**{part: name})), part
    assert not is_plain(KEYED._replace(key="gone"))
    source = TableSource("parquet", str(folder), {})
    (file,) = source.files(spark)
    rows = source.rows(spark, [file])
    assert plain_files(source, [file] * 501, rows, KEYED) is None
    elsewhere = file._replace(path=f"hdfs://{file.path}")
    assert plain_files(source, [elsewhere], rows, KEYED) is None
    options = {"recursiveFileLookup": "true"}
    assert not is_plain(KEYED, TableSource("parquet", str(folder), options))
    older = table.drop_columns(["key"])
    pq.write_table(older, folder / "older.parquet")
    assert not is_plain(KEYED)
    assert is_plain(VALUES)
    divided = tmp_path / "divided"
    written(divided, older)
    (divided / "key=1").mkdir()
    (divided / "0.parquet").rename(divided / "key=1" / "0.parquet")
    assert not is_plain(KEYED, TableSource("parquet", str(divided), {}))
