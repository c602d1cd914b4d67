"""Topics read in one go, by Spark as its users start it."""

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from client.cluster import Cluster
from tests.broker_process import BrokerProcess
from tests.client.live import create_topic, produce


def read(spark: SparkSession, broker: BrokerProcess, **options: Any) -> DataFrame:
    reader = spark.read.format("odradek")
    reader = reader.option("kafka.bootstrap.servers", broker.address)
    for name, value in options.items():
        text = value if isinstance(value, str) else json.dumps(value)
        reader = reader.option(name, text)
    return reader.load()


def test_all_of_a_topic(
    spark: SparkSession, broker_process: BrokerProcess, cluster: Cluster, topic: str
) -> None:
    create_topic(cluster, topic, 2)
    produce(cluster, topic, 0, [1000, 2000])
    produce(cluster, topic, 1, [3000])
    frame = read(spark, broker_process, subscribe=topic, includeHeaders=True)
    rows = frame.orderBy("partition", "offset").collect()
    assert [(r.partition, r.offset, bytes(r.key), r.topic) for r in rows] == [
        (0, 0, b"key", topic),
        (0, 1, b"key", topic),
        (1, 0, b"key", topic),
    ]
