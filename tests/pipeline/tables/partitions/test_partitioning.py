"""What a job may say of partitions, and what is said of the rest."""

from pathlib import Path

import pyarrow as pa
import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.tables.partitions.partitioning import (
    PartitionField,
    Partitioning,
    check_same,
    read_partitioning,
    said_of,
)

WHERE = "[table] partition_by"
SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("n", pa.int64()),
        ("good", pa.bool_()),
        ("day", pa.date32()),
        ("price", pa.decimal128(10, 2)),
        ("raw", pa.binary()),
        ("_timestamp", pa.timestamp("us", "UTC")),
        ("_topic", pa.string()),
    ]
)


def read(*texts: object, kind: str = "delta") -> Partitioning:
    return read_partitioning(WHERE, texts, kind)


def test_columns_and_times() -> None:
    found = read("kind", " days( _timestamp ) ", "months(day)")
    assert found.fields == (
        PartitionField("kind"),
        PartitionField("_timestamp", "days"),
        PartitionField("day", "months"),
    )
    assert found.names == ["kind", "timestamp_day", "day_month"]
    assert str(found) == "kind, days(_timestamp), months(day)"
    found.check(SCHEMA)
    made = found.with_made(SCHEMA)
    assert made.field("timestamp_day").type == pa.date32()
    assert [said_of(made.field(name)) for name in found.names] == [
        "kind",
        "days(_timestamp)",
        "months(day)",
    ]
    assert found.without_made(made) == SCHEMA
    assert not read()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (3, "3 is not the name of a column"),
        ("day(_timestamp)", "neither a column nor years(...), months(...)"),
        ("day(_timestamp)", "Did you mean days?"),
        ("days(a, b", "neither a column nor"),
        ("", "'' is not the name of a column"),
    ],
)
def test_what_cannot_be_read(text: object, said: str) -> None:
    with pytest.raises(JobError) as caught:
        read(text)
    assert said in str(caught.value)
    assert str(caught.value).startswith(WHERE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("knd", "rows of this job have no column knd. Did you mean kind?"),
        ("price", "price is decimal128(10, 2); tables are divided by texts"),
        ("raw", "raw is binary; tables are divided by texts"),
        ("_timestamp", "like days(_timestamp)"),
        ("days(n)", "n is int64, and no time"),
        ("hours(day)", "a date has no hours"),
    ],
)
def test_what_rows_cannot_be_divided_by(text: str, said: str) -> None:
    with pytest.raises(JobError) as caught:
        read(text).check(SCHEMA)
    assert said in str(caught.value)


def test_a_column_divides_once() -> None:
    with pytest.raises(JobError, match="_timestamp divides the table twice"):
        read("days(_timestamp)", "hours(_timestamp)").check(SCHEMA)


def test_the_name_of_what_is_made_is_free() -> None:
    taken = SCHEMA.append(pa.field("timestamp_day", pa.date32()))
    with pytest.raises(JobError, match="there is a column of that name"):
        read("days(_timestamp)").check(taken)


def test_folders_are_not_passed_over() -> None:
    with pytest.raises(JobError, match="begin with an underscore"):
        read("_topic", kind="parquet").check(SCHEMA)
    read("_topic").check(SCHEMA)
    read("days(_timestamp)", kind="parquet").check(SCHEMA)


def test_files_of_a_parquet_table_have_a_column() -> None:
    with pytest.raises(JobError, match="no other is left"):
        read("kind", kind="parquet").check(pa.schema([("kind", pa.string())]))


def test_a_table_keeps_its_partitions() -> None:
    place = Path("/lake/t")
    check_same(place, ["kind", "days(_timestamp)"], read("kind", "days(_timestamp)"))
    check_same(place, [], read())
    with pytest.raises(JobError) as caught:
        check_same(place, ["kind"], read("n"))
    assert str(caught.value) == (
        "the table /lake/t is partitioned by kind, and the job partitions by n: that"
        ' of a table cannot change; say partition_by = ["kind"], or give the job a new'
        " table"
    )
    with pytest.raises(JobError, match="is not partitioned, and the job"):
        check_same(place, [], read("n"))
    with pytest.raises(JobError, match=r"by kind, and .* not at all"):
        check_same(place, ["kind"], read())
