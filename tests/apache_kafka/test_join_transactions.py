"""Transactions that are spread over brokers of odradek and of Apache Kafka."""

from collections.abc import Iterator

import confluent_kafka
import pytest

from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.transaction_steps import CommittedNote
from odradek.client.transactional_producer import TransactionalProducer
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.spread import (
    BROKERS,
    OTHER,
    THEIRS,
    Spread,
    name_at,
    spread_brokers,
)
from tests.apache_kafka.test_join import US, Joined
from tests.client.live import wait_until
from tests.patience import PATIENCE_S
from tests.sampling import sampled

PLACES = [TopicPartition("t", number) for number in range(len(BROKERS))]


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spread]:
    """Brokers that each lead one partition of all."""
    coordinators = ("__transaction_state", "__consumer_offsets")
    with spread_brokers(tmp_path_factory.mktemp("joined"), coordinators) as made:
        made.create("t")
        yield made


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


@pytest.mark.parametrize("coordinator", sampled(BROKERS, US))
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


@pytest.mark.parametrize("coordinator", sampled(BROKERS, THEIRS))
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


@pytest.mark.parametrize("leader", sampled([US, OTHER], OTHER))
def test_a_transaction_goes_on_where_its_coordinator_has_moved(
    joined: Spread, leader: int
) -> None:
    """With its group and its records: to who had copies, and back."""
    broker = joined.ours if leader == US else joined.other
    name, group = name_at(leader, "moved"), name_at(leader, f"group of {leader}")
    wait_until(joined.is_in_sync, PATIENCE_S)
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
                joined.lead_again(leader)
            producer.commit()
    wait_until(lambda: committed(joined, group) == [2] * 3, PATIENCE_S)
    wait_until(
        lambda: seen(joined, name) == [b"first"] * 3 + [b"second"] * 3, PATIENCE_S
    )
