"""A mirror of Apache Kafka: its logs here are the same bytes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import TopicPartition, admin

from odradek.broker.cli.main import main
from tests.apache_kafka.java_client import Broker
from tests.apache_kafka.node import KafkaNode
from tests.apache_kafka.written import CODECS
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

NAME = "from-kafka"
OPTIONS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


class Copied:
    """The mirror, and both brokers."""

    def __init__(
        self,
        kafka: KafkaNode,
        ours: BrokerProcess,
        captured: pytest.CaptureFixture[str],
    ) -> None:
        self.kafka, self.ours = kafka, ours
        self._captured = captured

    def mirror(self, *arguments: str) -> list[dict[str, Any]]:
        """What a command says that succeeds; of the status, whatever it is."""
        given = ["mirror", *arguments, "--json", "--data-dir", str(self.ours.data_dir)]
        code = main(given)
        captured = self._captured.readouterr()
        assert code == 0 or arguments[0] == "status", captured
        return [json.loads(line) for line in captured.out.splitlines()]

    def is_like_source(self, topic: str, partition: int = 0) -> bool:
        """The files there, from where they begin here on."""
        there = log_of(self.kafka, topic, partition)
        here = log_of(self.ours, topic, partition)
        return bool(here) and here == there


def log_of(broker: Any, topic: str, partition: int) -> bytes:
    files = Path(broker.data_dir, f"{topic}-{partition}").glob("*.log")
    return b"".join(each.read_bytes() for each in sorted(files)).rstrip(b"\0")


def client(broker: Broker, **options: object) -> dict[str, Any]:
    dotted = {name.replace("_", "."): value for name, value in options.items()}
    return {"bootstrap.servers": broker.address, "log_level": 0, **dotted}


@pytest.fixture
def copied(
    lone_kafka: KafkaNode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Copied]:
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with running_broker(tmp_path / "data", *options) as ours:
        yield Copied(lone_kafka, ours, capsys)
        assert "Traceback" not in ours.log()


def write_everything(kafka: Broker) -> confluent_kafka.Producer:
    """All codecs, and transactions that end in all ways; one is left open."""
    kafka_admin = admin.AdminClient(client(kafka))
    topics = [
        admin.NewTopic("mirrored-codecs", 1, 1, config={"retention.ms": "-1"}),
        admin.NewTopic("mirrored-transactions", 2, 1),
    ]
    for future in kafka_admin.create_topics(topics).values():
        future.result()
    for codec in CODECS:
        producer = confluent_kafka.Producer(
            client(kafka, compression_type=codec, enable_idempotence=True)
        )
        for number in range(50):
            producer.produce("mirrored-codecs", b"%d" % number * 9, b"key")
        assert producer.flush(PATIENCE_S) == 0
    for number in range(3):
        producer = begun(kafka, f"mirrored-{number}")
        is_commit = number == 1
        end = producer.commit_transaction if is_commit else producer.abort_transaction
        end(PATIENCE_S)
    group = confluent_kafka.Consumer(client(kafka, group_id="mirrored"))
    group.commit(offsets=[TopicPartition("mirrored-codecs", 0, 77)], asynchronous=False)
    group.close()
    return begun(kafka, "mirrored-open")


def begun(kafka: Broker, name: str) -> confluent_kafka.Producer:
    """A producer with a transaction in both partitions."""
    producer = confluent_kafka.Producer(client(kafka, transactional_id=name))
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for partition in range(2):
        producer.produce("mirrored-transactions", name.encode(), partition=partition)
    assert producer.flush(PATIENCE_S) == 0
    return producer


def committed_values(broker: Broker) -> set[tuple[int, int, bytes]]:
    """What a reader of committed records sees, up to the last stable offset."""
    consumer = confluent_kafka.Consumer(
        client(broker, group_id="reader", enable_partition_eof=True)
    )
    consumer.assign(
        [TopicPartition("mirrored-transactions", number, 0) for number in range(2)]
    )
    found, ended = set(), 0
    while ended < 2:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error():
            ended += 1
        else:
            found.add((message.partition(), message.offset(), message.value()))
    consumer.close()
    return found


def test_logs_groups_and_transactions_of_apache_kafka(copied: Copied) -> None:
    left_open = write_everything(copied.kafka)
    topics = ("--from", copied.kafka.address, "--topics", "mirrored-.*")
    copied.mirror("add", NAME, *topics)
    places = [("mirrored-codecs", 0), *(("mirrored-transactions", n) for n in range(2))]
    wait_until(lambda: all(copied.is_like_source(*place) for place in places))
    wait_until(lambda: copied.mirror("status", NAME)[0]["groups"] == 1)
    group = confluent_kafka.Consumer(client(copied.ours, group_id="mirrored"))
    (place,) = group.committed([TopicPartition("mirrored-codecs", 0)], PATIENCE_S)
    assert place.offset == 77
    group.close()
    assert committed_values(copied.ours) == committed_values(copied.kafka)
    refused: list[Any] = []
    producer = confluent_kafka.Producer(client(copied.ours))
    producer.produce(
        "mirrored-codecs", b"x", on_delivery=lambda e, _: refused.append(e)
    )
    producer.flush(PATIENCE_S)
    assert [each.code() for each in refused] == [
        confluent_kafka.KafkaError.POLICY_VIOLATION
    ]
    ends = {each["topic"]: each["ends"] for each in copied.mirror("promote", NAME)}
    assert ends["mirrored-codecs"] == [50 * len(CODECS)]
    # What was open is aborted here, and readers get past it.
    again = begun(copied.ours, "mirrored-open")
    again.commit_transaction(PATIENCE_S)
    values = {value for _, _, value in committed_values(copied.ours)}
    assert values == {b"mirrored-1", b"mirrored-open"}
    left_open.abort_transaction(PATIENCE_S)
    copied.mirror("remove", NAME)
