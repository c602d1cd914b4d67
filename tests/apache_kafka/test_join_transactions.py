"""Transactions that are spread over brokers of odradek and of Apache Kafka."""

from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import admin

from odradek.broker.coordinator.placement import partition_for
from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.transaction_steps import CommittedNote
from odradek.client.transactional_producer import TransactionalProducer
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.node import KafkaNode, running_kafka
from tests.apache_kafka.test_join import US, Joined
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

THEIRS, OTHER = 1, 3
BROKERS = (THEIRS, US, OTHER)
REPLICAS = [[THEIRS, US], [US, THEIRS], [OTHER, US]]
TOPICS = ("t", "__transaction_state", "__consumer_offsets")
OPTIONS = {
    "transaction.state.log.num.partitions": str(len(BROKERS)),
    "offsets.topic.num.partitions": str(len(BROKERS)),
    # One that was killed is away sooner.
    "broker.session.timeout.ms": "3000",
}
PLACES = [TopicPartition("t", number) for number in range(len(BROKERS))]


class Spread(Joined):
    """A node of Kafka's, and two brokers of ours."""

    def __init__(self, root: Path, kafka: KafkaNode) -> None:
        super().__init__(root, kafka)
        self.other = self.broker(root / "other", node_id=str(OTHER))


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spread]:
    """A node of Kafka's and two brokers of ours; each leads one partition of all.

    What one of ours leads is copied by Kafka, what the other one leads by ours.
    """
    root = tmp_path_factory.mktemp("joined")
    with running_kafka(root, OPTIONS) as kafka:
        made = Spread(root, kafka)
        made.ours.start()
        made.other.start()
        try:
            wait_until(lambda: made.brokers(kafka) == set(BROKERS), PATIENCE_S)
            topics = [
                admin.NewTopic(
                    name,
                    len(BROKERS),
                    replica_assignment=REPLICAS,
                    config={"cleanup.policy": "delete" if name == "t" else "compact"},
                )
                for name in TOPICS
            ]
            client = made.admin(kafka)
            for each in client.create_topics(topics).values():
                each.result(PATIENCE_S)
            yield made
        finally:
            made.ours.kill()
            made.other.kill()
        for broker in (made.ours, made.other):
            assert "Traceback" not in broker.log()


def name_at(broker_id: int, prefix: str) -> str:
    """A name whose records are led by that broker."""
    number = BROKERS.index(broker_id)
    return next(
        name
        for name in (f"{prefix}-{count}" for count in range(1000))
        if partition_for(name, len(BROKERS)) == number
    )


def committed(joined: Joined, group: str) -> list[int]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": joined.kafka.address, "group.id": group}
    )
    wanted = [confluent_kafka.TopicPartition(*place) for place in PLACES]
    found = consumer.committed(wanted, timeout=PATIENCE_S)
    consumer.close()
    return [each.offset for each in found]


def seen(joined: Joined, name: str) -> list[bytes]:
    """What readers of committed records see of that transaction."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": joined.ours.address,
            "group.id": "nobody",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(*place, 0) for place in PLACES])
    found, ended = [], set()
    while len(ended) < len(PLACES):
        for each in consumer.consume(100, timeout=1.0):
            if each.error() is not None:
                assert each.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
                ended.add(each.partition())
            elif each.key() == name.encode():
                found.append(each.value())
    consumer.close()
    return sorted(found)


@pytest.mark.parametrize("coordinator", BROKERS)
def test_a_transaction_is_whole_at_all_brokers(
    joined: Joined, coordinator: int
) -> None:
    name = name_at(coordinator, "second")
    groups = [name_at(each, f"group-{coordinator}") for each in BROKERS]
    address = joined.kafka.address if coordinator == US else joined.ours.address
    with (
        Cluster(parse_addresses(address), timeout_s=PATIENCE_S) as cluster,
        TransactionalProducer(cluster, name) as producer,
    ):
        for value, is_committed in ((b"kept", True), (b"lost", False), (b"more", True)):
            producer.begin()
            for place in PLACES:
                record = NewRecord(key=name.encode(), value=value)
                producer.send(place.topic, record, place.partition)
            offset = {b"kept": 1, b"lost": 2, b"more": 3}[value]
            for group in groups:
                producer.send_offsets(
                    group, {place: CommittedNote(offset) for place in PLACES}
                )
            if is_committed:
                producer.commit()
            else:
                producer.abort()
    wait_until(lambda: seen(joined, name) == [b"kept"] * 3 + [b"more"] * 3, PATIENCE_S)
    for group in groups:
        wait_until(lambda group=group: committed(joined, group) == [3] * 3, PATIENCE_S)


@pytest.mark.parametrize("coordinator", BROKERS)
def test_older_producers_say_beforehand_where_they_write(
    joined: Joined, coordinator: int
) -> None:
    name = name_at(coordinator, "first")
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": joined.kafka.address, "transactional.id": name}
    )
    producer.init_transactions(PATIENCE_S)
    for value in (b"kept", b"lost", b"more"):
        producer.begin_transaction()
        for place in PLACES:
            producer.produce(place.topic, value, name, partition=place.partition)
        if value == b"lost":
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
    wait_until(lambda: seen(joined, name) == [b"kept"] * 3 + [b"more"] * 3, PATIENCE_S)


def is_in_sync(joined: Joined) -> bool:
    """Whether every replica of all partitions is."""
    topics = joined.admin(joined.kafka).list_topics(timeout=PATIENCE_S).topics
    return all(
        set(topics[name].partitions[number].isrs) == set(replicas)
        for name in TOPICS
        for number, replicas in enumerate(REPLICAS)
    )


def lead_again(joined: Joined, number: int) -> None:
    """Have the first replica of a partition lead it, in all topics."""
    places = [confluent_kafka.TopicPartition(name, number) for name in TOPICS]
    client = joined.admin(joined.kafka)
    client.elect_leaders(confluent_kafka.ElectionType.PREFERRED, places).result(
        PATIENCE_S
    )


@pytest.mark.parametrize("leader", [US, OTHER])
def test_a_transaction_goes_on_where_its_coordinator_has_moved(
    joined: Spread, leader: int
) -> None:
    """With its group and its records: to who had copies, and back."""
    broker = joined.ours if leader == US else joined.other
    name, group = name_at(leader, "moved"), name_at(leader, f"group of {leader}")
    wait_until(lambda: is_in_sync(joined), PATIENCE_S)
    with (
        Cluster(parse_addresses(joined.kafka.address), timeout_s=PATIENCE_S) as cluster,
        TransactionalProducer(cluster, name) as producer,
    ):
        for number, value in enumerate((b"first", b"second"), 1):
            producer.begin()
            for place in PLACES:
                record = NewRecord(key=name.encode(), value=value)
                producer.send(place.topic, record, place.partition)
            notes = {place: CommittedNote(number) for place in PLACES}
            producer.send_offsets(group, notes)
            if value == b"first":
                broker.kill()
            else:
                broker.start()
                wait_until(lambda: is_in_sync(joined), PATIENCE_S)
                lead_again(joined, BROKERS.index(leader))
            producer.commit()
    wait_until(lambda: committed(joined, group) == [2] * 3, PATIENCE_S)
    wait_until(
        lambda: seen(joined, name) == [b"first"] * 3 + [b"second"] * 3, PATIENCE_S
    )
