from datetime import UTC, datetime

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.source.pushdown import Narrowing
from odradek.protocol.topic_partition import TopicPartition
from tests.pipeline.fake_view import FakeView

OFFSET, PARTITION, TOPIC, TIME = (
    (name,) for name in ("offset", "partition", "topic", "timestamp")
)
WHOLE = [
    OffsetRange("a", 0, 5, 20),
    OffsetRange("a", 1, 0, 30),
    OffsetRange("b", 0, 0, 9),
]
VIEW = FakeView(
    {}, {(TopicPartition("a", 0), 1500): 7, (TopicPartition("a", 1), 1500): 9}
)
MOMENT = datetime.fromtimestamp(1.5, UTC)


def left(*filters: Filter) -> list[OffsetRange]:
    narrowing = Narrowing()
    for each in filters:
        narrowing = narrowing.by(each)
    return narrowing.of(WHOLE, VIEW)


def test_offsets() -> None:
    assert left(GreaterThanOrEqual(OFFSET, 10), LessThan(OFFSET, 15)) == [
        OffsetRange("a", 0, 10, 15),
        OffsetRange("a", 1, 10, 15),
    ]
    assert left(GreaterThan(OFFSET, 19), LessThanOrEqual(OFFSET, 21)) == [
        OffsetRange("a", 1, 20, 22)
    ]
    assert left(In(OFFSET, (8, None, 3)), EqualTo(PARTITION, 0)) == [
        OffsetRange("a", 0, 5, 9),
        OffsetRange("b", 0, 3, 9),
    ]


def test_partitions_and_topics() -> None:
    assert left(EqualTo(TOPIC, "b")) == WHOLE[2:]
    assert left(In(PARTITION, (1, 7))) == WHOLE[1:2]
    assert left(In(PARTITION, (1, 7)), EqualTo(PARTITION, 7)) == []


def test_times_from_below_only() -> None:
    """Before the first record that late there is none; behind it there may be."""
    assert left(GreaterThanOrEqual(TIME, MOMENT)) == [
        OffsetRange("a", 0, 7, 20),
        OffsetRange("a", 1, 9, 30),
    ]
    assert left(LessThan(TIME, MOMENT)) == WHOLE


def test_what_cannot_be_said_so_narrows_nothing() -> None:
    naive = MOMENT.replace(tzinfo=None)
    assert (
        left(
            IsNotNull(OFFSET),
            EqualTo(("key",), b"k"),
            GreaterThan(TIME, naive),
            EqualTo(OFFSET, None),
        )
        == WHOLE
    )
