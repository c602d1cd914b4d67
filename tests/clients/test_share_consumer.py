"""librdkafka in share groups (KIP-932), by confluent-kafka's ShareConsumer."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, Producer, ShareConsumer

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.topics import NewTopic, create_topic
from tests.broker_process import BrokerProcess, running_broker
from tests.client.share_groups import begin_with_the_first
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("collected")

OPTIONS = {
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
    # No lock ends, however slow the machine is.
    "group.share.max.record.lock.duration.ms": "3600000",
    "group.share.record.lock.duration.ms": "3600000",
}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("share-consumer") / "data"
    options = [part for each in OPTIONS.items() for part in ("-o", "=".join(each))]
    with running_broker(data_dir, *options) as process:
        yield process
        assert "Traceback" not in process.log()


def begin(broker: BrokerProcess, name: str, count: int, partitions: int = 1) -> None:
    """A topic with records, and a group of its name that begins with the first."""
    with Cluster([Address("127.0.0.1", broker.port)]) as cluster:
        create_topic(cluster, NewTopic(name, partitions))
        begin_with_the_first(cluster, name)
    produce(broker, name, range(count))


def produce(broker: BrokerProcess, topic: str, values: Iterable[int]) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    for value in values:
        producer.produce(topic, str(value))
    producer.flush(PATIENCE_S)


def member(broker: BrokerProcess, group: str, **more: Any) -> ShareConsumer:
    options = {"bootstrap.servers": broker.address, "group.id": group}
    options.update({name.replace("_", "."): value for name, value in more.items()})
    consumer = ShareConsumer(options)
    consumer.subscribe([group])
    return consumer


def polled(*members: ShareConsumer, count: int) -> list[int]:
    """The values of so many records, which all of these have got."""
    found: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, found
        for each in members:
            found += [int(message.value()) for message in each.poll(0.1)]
    return found


def test_each_record_is_handed_to_one(broker: BrokerProcess) -> None:
    begin(broker, "handed", 100, partitions=3)
    with member(broker, "handed") as one, member(broker, "handed") as other:
        first = polled(one, other, count=100)
        produce(broker, "handed", range(100, 200))
        assert sorted(first + polled(one, other, count=100)) == list(range(200))


def test_what_is_released_comes_again(broker: BrokerProcess) -> None:
    begin(broker, "released", 4)
    explicit = {"share_acknowledgement_mode": "explicit"}
    with member(broker, "released", **explicit) as consumer:
        kinds = {
            0: AcknowledgeType.ACCEPT,
            1: AcknowledgeType.REJECT,
            2: AcknowledgeType.RELEASE,
            3: AcknowledgeType.ACCEPT,
        }
        seen: list[int] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(seen) < 5:
            assert time.monotonic() < deadline, seen
            for message in consumer.poll(0.1):
                value = int(message.value())
                again = value in seen
                kind = AcknowledgeType.ACCEPT if again else kinds[value]
                consumer.acknowledge(message, kind)
                seen.append(value)
            assert not [each for each in consumer.commit_sync().values() if each]
        assert sorted(seen) == [0, 1, 2, 2, 3]


def test_who_is_closed_gives_back(broker: BrokerProcess) -> None:
    begin(broker, "closed", 5)
    explicit = {"share_acknowledgement_mode": "explicit"}
    with member(broker, "closed", **explicit) as one:
        assert polled(one, count=5) == list(range(5))
    with member(broker, "closed") as other:
        assert polled(other, count=5) == list(range(5))


def test_a_broker_that_stops_and_starts_again(tmp_path: Path) -> None:
    options = [part for each in OPTIONS.items() for part in ("-o", "=".join(each))]
    with running_broker(tmp_path / "data", *options) as broker:
        begin(broker, "stopped", 5)
        explicit = {"share_acknowledgement_mode": "explicit"}
        with member(broker, "stopped", **explicit) as consumer:
            accepted: list[int] = []
            deadline = time.monotonic() + PATIENCE_S
            while len(accepted) < 5:
                assert time.monotonic() < deadline
                for message in consumer.poll(0.1):
                    consumer.acknowledge(message)
                    accepted.append(int(message.value()))
                consumer.commit_sync()
            consumer.poll(0.1)  # it waits for more
            broker.terminate()
            broker.start()
            produce(broker, "stopped", range(5, 10))
            assert polled(consumer, count=5) == list(range(5, 10))
        assert sorted(accepted) == list(range(5))
        assert "Traceback" not in broker.log()
