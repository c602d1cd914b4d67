from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.load.record_rows import RecordColumns
from odradek.pipeline.load.replay import HEADER, Replay

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "topic string, partition int, offset long, timestamp timestamp, key binary, value"
    " binary, headers array<struct<key string, value binary>>, reason string"
)
NOW = datetime(2026, 1, 31, tzinfo=UTC)


@pytest.fixture
def letters(spark: "SparkSession") -> "DataFrame":
    replayed = [("h", b"1"), (HEADER, b"b-0@3")]
    data = [
        ("a", 1, 5, NOW, b"k", b"{", None, "no JSON: at 1"),
        ("b", 0, 6, NOW, None, b"[", replayed, "no JSON: at 2"),
        ("b", 0, 7, NOW, None, b"x", [], "unknown schema id 9"),
    ]
    return spark.createDataFrame(data, SCHEMA)


def values(replay: Replay, letters: "DataFrame") -> list[bytes]:
    return sorted(bytes(row.value) for row in replay.rows(letters).collect())


def test_which_letters(letters: "DataFrame") -> None:
    assert values(Replay(), letters) == [b"[", b"x", b"{"]
    assert values(Replay(topic="b"), letters) == [b"[", b"x"]
    assert values(Replay(reason="^no JSON"), letters) == [b"[", b"{"]
    assert values(Replay("b", "JSON"), letters) == [b"["]


def test_a_header_says_where_from(letters: "DataFrame") -> None:
    rows = Replay().rows(letters).orderBy("offset").collect()
    found = [[(each.key, bytes(each.value)) for each in row.headers] for row in rows]
    assert found == [
        [(HEADER, b"a-1@5")],
        [("h", b"1"), (HEADER, b"b-0@6")],
        [(HEADER, b"b-0@7")],
    ]
    without = Replay().rows(letters.drop("headers")).orderBy("offset").first()
    assert without is not None
    assert [each.key for each in without.headers] == [HEADER]


def test_where_to() -> None:
    usual = RecordColumns("key", "value", "headers", "timestamp")
    assert Replay().columns([]) == usual
    assert Replay(keeps_partition=True).columns([]) == usual._replace(
        partition="partition"
    )


def test_another_table_is_refused(letters: "DataFrame") -> None:
    with pytest.raises(JobError, match=r"a table of dead letters: .* column reason"):
        Replay().rows(letters.drop("reason"))
