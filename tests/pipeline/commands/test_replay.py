import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from odradek.client.cluster import Cluster
from odradek.client.producer import Producer
from odradek.client.topics import NewTopic, create_topic
from odradek.pipeline.commands.replay import command
from odradek.pipeline.load.replay import HEADER
from odradek.protocol.records import NewRecord
from tests.broker_process import BrokerProcess
from tests.client.live import settle
from tests.client.test_producer import records_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Captured = pytest.CaptureFixture[str]


def write_letters(spark: "SparkSession", location: Path) -> None:
    now = datetime(2026, 1, 31, tzinfo=UTC)
    letters = [
        ("orders", number % 2, number, now, b"k%d" % number, b"{", reason)
        for number, reason in enumerate(["no JSON", "no JSON", "no schema"])
    ]
    schema = (
        "topic string, partition int, offset long, timestamp timestamp, key binary,"
        " value binary, reason string"
    )
    spark.createDataFrame(letters, schema).coalesce(1).write.parquet(str(location))


@pytest.mark.usefixtures("shared_spark")
def test_letters_are_replayed_once(
    spark: "SparkSession",
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    create_topic(cluster, NewTopic(topic, 2))
    with Producer(cluster) as producer:
        producer.send(topic, NewRecord(None, b"there before", 0), 0)
        producer.send(topic, NewRecord(None, b"there before", 0), 1)
    write_letters(spark, tmp_path / "letters")
    given = ["--table", str(tmp_path / "letters"), "--topic", topic, "--job", topic]
    given += ["--bootstrap-server", broker_process.address]
    given += ["--reason", "^no J", "--same-partition"]
    assert command(given) == 0
    assert capsys.readouterr().out == f"{topic}: 2 dead letters replayed\n"
    assert command([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == 0
    settle(cluster, topic)
    for number in 0, 1:
        _, record = records_in(cluster, topic, number)
        assert (record.key, record.value) == (b"k%d" % number, b"{")
        assert record.timestamp == 1_769_817_600_000
        assert record.headers == ((HEADER, f"orders-{number}@{number}".encode()),)


@pytest.mark.usefixtures("shared_spark")
def test_another_table(
    spark: "SparkSession",
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    create_topic(cluster, NewTopic(topic))
    spark.range(3).write.parquet(str(tmp_path / "rows"))
    given = ["--table", str(tmp_path / "rows"), "--topic", topic, "--job", topic]
    assert command([*given, "--bootstrap-server", broker_process.address]) == 1
    assert "this is not a table of dead letters" in capsys.readouterr().err
