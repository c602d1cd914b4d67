"""Topics, partitions and offsets of rows, from statistics or from the columns."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.table_rows import OffsetSpan, offset_columns, offset_spans
from odradek.pipeline.values.decoding import ValueFormat
from odradek.protocol.topic_partition import TopicPartition

COLUMNS = ("_topic", "_partition", "_offset")
SCHEMA = pa.schema(
    [
        ("tags", pa.list_(pa.struct([("a", pa.string()), ("b", pa.string())]))),
        ("_topic", pa.string()),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
    ]
)
Place = tuple[str, int, int]


def write(
    folder: Path, rows: list[Place | tuple[None, None, None]], **options: object
) -> str:
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    values: list[list[object]] = [[[{"a": "x", "b": "y"}] for _ in rows]]
    values += [[row[n] for row in rows] for n in range(3)]
    table = pa.table(values, schema=SCHEMA)
    if not options.pop("is_nested", False):
        table = table.select(COLUMNS)
    pq.write_table(table, path, **options)  # type: ignore[arg-type]
    return str(path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"is_nested": True},
        {"write_statistics": False},
        {"row_group_size": 2},
        {"write_statistics": ["_topic"]},
    ],
)
def test_span_of_each_partition(options: dict[str, object], tmp_path: Path) -> None:
    paths = [
        write(tmp_path, [("t", 0, n) for n in range(5, 15)], **options),
        write(tmp_path, [("t", 0, 40), ("t", 1, 3), ("u", 0, 9)], **options),
        write(tmp_path, [(None, None, None), ("t", 1, 7)], **options),
        write(tmp_path, [], **options),
    ]
    assert offset_spans(paths, COLUMNS) == {
        TopicPartition("t", 0): OffsetSpan(5, 41),
        TopicPartition("t", 1): OffsetSpan(3, 8),
        TopicPartition("u", 0): OffsetSpan(9, 10),
    }


def test_places_in_the_names_of_folders(tmp_path: Path) -> None:
    folder = tmp_path / "_topic=t%2F1" / "_partition=3"
    folder.mkdir(parents=True)
    rows = pa.table({"_offset": pa.array([4, 9]), "n": pa.array([1, 2])})
    pq.write_table(rows, folder / "a.parquet")
    found = offset_spans([str(folder / "a.parquet")], COLUMNS)
    assert found == {TopicPartition("t/1", 3): OffsetSpan(4, 10)}
    lost = tmp_path / "_topic=t" / "a.parquet"
    lost.parent.mkdir()
    pq.write_table(rows, lost)
    assert offset_spans([str(lost)], COLUMNS) is None


def test_rows_that_do_not_say_it(tmp_path: Path) -> None:
    path = write(tmp_path, [("t", 0, 1)])
    assert offset_spans([path], None) is None
    assert offset_spans([path], ("topic", "partition", "offset")) is None
    assert offset_spans([path, "s3://bucket/x"], COLUMNS) is None
    assert offset_spans([], None) == {}


def test_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("?")
    with pytest.raises(JobError, match="cannot be read"):
        offset_spans([str(tmp_path / "x")], COLUMNS)


def test_columns_of_a_job() -> None:
    assert offset_columns(ValueFormat()) == ("topic", "partition", "offset")
    assert offset_columns(ValueFormat(format="json")) == COLUMNS
    assert offset_columns(ValueFormat(columns=("topic", "offset"))) is None
