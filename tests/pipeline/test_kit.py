"""The test kit tells Spark where its broker is, and how to log in there."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from odradek.testing import Broker
from tests.sampling import sampled

USERS = {"alice": 'se"cr\\et', "bob": "other"}
WAYS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "plain": (None, {}),
    "tls and a login": ("sasl_ssl", {"user": "bob", "mechanism": "SCRAM-SHA-512"}),
    "a quoted password": ("sasl_plaintext", {"user": "alice"}),
}


class Told(dict[str, Any]):
    """A broker, and what Spark is told of it."""

    def __init__(self, broker: Broker, options: dict[str, Any]) -> None:
        super().__init__(options)
        self.broker = broker


@pytest.fixture(scope="module", params=sampled(WAYS, "tls and a login"))
def told(request: pytest.FixtureRequest) -> Iterator[Told]:
    security, who = WAYS[request.param]
    with Broker(security=security, users=USERS if security else None) as broker:
        yield Told(broker, broker.config("spark", **who))


def values(frame: DataFrame) -> list[bytes]:
    return sorted(bytes(row.value) for row in frame.select("value").collect())


@pytest.mark.parametrize("word", ["kafka", "odradek"])
def test_spark_reads_a_topic_of_the_kit(
    spark: SparkSession, kafka_connector: str, told: Told, word: str
) -> None:
    topic = told.broker.topic(f"read-by-{word}", 2)
    topic.produce(["a", "b", "c"])
    reader = spark.read.format(word).options(**told).option("subscribe", topic)
    assert values(reader.load()) == [b"a", b"b", b"c"]


def test_spark_writes_a_topic_that_the_kit_reads(
    spark: SparkSession, kafka_connector: str, told: Told
) -> None:
    topic = told.broker.topic("written")
    frame = spark.sql("select value from values ('x'), ('y') as t(value)")
    frame.write.format("kafka").options(**told).option("topic", topic).save()
    assert sorted(each.value or b"" for each in topic.records(2)) == [b"x", b"y"]
