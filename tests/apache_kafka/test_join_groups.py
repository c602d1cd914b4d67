"""Groups in a cluster of odradek and Apache Kafka, whose coordinators move."""

import time
from base64 import b64decode
from collections.abc import Iterator

import confluent_kafka
import pytest
from confluent_kafka import TopicCollection

from odradek.broker.coordinator.placement import partition_for
from odradek.broker.coordinator.share.state import ShareKey, key_text
from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.spread import (
    BROKERS,
    OPTIONS,
    OTHER,
    THEIRS,
    Spread,
    name_at,
    spread_brokers,
)
from tests.apache_kafka.test_join import US
from tests.client.live import wait_until
from tests.patience import PATIENCE_S
from tests.share_member import ShareAdmin
from tests.streams_member import StreamsMember

SENT_AT_ONCE = 30
# So that members are not waited for long.
QUICK_BEATS = {
    "group.share.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
    # The member that the test plays says nothing while a broker starts.
    "group.streams.session.timeout.ms": str(1000 * PATIENCE_S),
    "group.streams.max.session.timeout.ms": str(1000 * PATIENCE_S),
}


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spread]:
    coordinators = ("__consumer_offsets", "__share_group_state")
    root = tmp_path_factory.mktemp("joined")
    with spread_brokers(root, coordinators, OPTIONS | QUICK_BEATS) as made:
        yield made


def topic_id_of(joined: Spread, topic: str) -> bytes:
    client = joined.admin(joined.kafka)
    found: list[bytes] = []

    def is_known() -> bool:
        """Whoever is asked may not have heard of it yet."""
        told = client.describe_topics(TopicCollection([topic]))[topic]
        try:
            topic_id = str(told.result(PATIENCE_S).topic_id)
        except confluent_kafka.KafkaException:
            return False
        found.append(b64decode(topic_id + "=="))
        return True

    wait_until(is_known, PATIENCE_S)
    return found[0]


def state_leaders(joined: Spread, topic: str) -> list[int]:
    """Who keeps the states of the share group that is named like the topic."""
    topic_id = topic_id_of(joined, topic)
    return [
        BROKERS[
            partition_for(key_text(ShareKey(topic, topic_id, number)), len(BROKERS))
        ]
        for number in range(len(BROKERS))
    ]


def shared(joined: Spread, coordinator: int) -> str:
    """A topic of whose partitions one has leader, group and state at three brokers."""
    for number in range(100):
        name = name_at(coordinator, f"shared-{number}")
        joined.create(name)
        places = zip(BROKERS, state_leaders(joined, name), strict=True)
        if any(len({*each, coordinator}) == len(BROKERS) for each in places):
            return name
    raise AssertionError("no such topic")


@pytest.mark.long
@pytest.mark.parametrize("coordinator", [US, THEIRS])
def test_a_share_group_goes_on_whoever_leads(
    joined: Spread, java: JavaClient, coordinator: int
) -> None:
    """Nothing that was accepted comes again, and nothing is left out."""
    name = shared(joined, coordinator)
    wait_until(joined.is_in_sync, PATIENCE_S)

    def back(broker_id: int) -> None:
        (joined.ours if broker_id == US else joined.other).start()
        joined.lead_again(broker_id)

    deeds = {
        "away": joined.ours.terminate,
        "back": lambda: back(US),
        "killed": joined.other.kill,
        "again": lambda: back(OTHER),
    }
    java.play_at(joined.kafka.address, "Shares", "moved", name, deeds)
    broker = joined.ours if coordinator == US else joined.kafka
    none_left = [0] * len(BROKERS)
    with ShareAdmin(broker.address, name) as asked:
        wait_until(lambda: [x.lag for x in asked.places().values()] == none_left)


class Reader:
    """A member of a group, and what it was given."""

    def __init__(self, joined: Spread, topic: str, group: str, **options: str) -> None:
        self.found: list[int] = []
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": joined.kafka.address,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "reconnect.backoff.max.ms": 100,
                **{name.replace("_", "."): value for name, value in options.items()},
            }
        )
        self._consumer.subscribe([topic])

    def poll(self) -> None:
        for each in self._consumer.consume(100, 0.05):
            if each.error() is None:
                self.found.append(int(each.value() or b""))

    def commit(self) -> int:
        """How far the group is, once that is kept."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                places = self._consumer.commit(asynchronous=False)
            except confluent_kafka.KafkaException:
                assert time.monotonic() < deadline, "it cannot commit"
                time.sleep(0.1)
            else:
                assert not any(each.error for each in places), places
                return sum(each.offset for each in places)

    def close(self) -> None:
        self._consumer.close()


def send(joined: Spread, topic: str, count: int) -> None:
    """The numbers below it that were not sent yet."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": joined.kafka.address, "enable.idempotence": True}
    )
    for number in range(count - SENT_AT_ONCE, count):
        value, partition = b"%d" % number, number % len(BROKERS)
        producer.produce(topic, value, partition=partition)
    assert producer.flush(PATIENCE_S) == 0


@pytest.mark.long
def test_members_of_all_kinds_go_on_where_their_coordinator_is(joined: Spread) -> None:
    """Nobody joins anew: each goes on behind what it had."""
    topic = "read"
    joined.create(topic)
    classic = Reader(joined, topic, name_at(US, "classic"))
    assigned = Reader(joined, topic, name_at(US, "new"), group_protocol="consumer")
    readers = (classic, assigned)
    with Cluster(parse_addresses(joined.kafka.address), timeout_s=PATIENCE_S) as found:
        task_doer = StreamsMember(found, name_at(US, "streams"), "m")
        task_doer.join(topic)

        def read(count: int) -> None:
            """What was sent by now is read, and committed; that is all there is."""
            send(joined, topic, count)
            deadline = time.monotonic() + PATIENCE_S
            while not (
                task_doer.active and all(len(each.found) >= count for each in readers)
            ):
                assert time.monotonic() < deadline, [each.found for each in readers]
                task_doer.beat()
                for each in readers:
                    each.poll()
            for each in readers:
                assert sorted(each.found) == list(range(count))
                assert each.commit() == count

        read(SENT_AT_ONCE)
        tasks = task_doer.active
        wait_until(joined.is_in_sync, PATIENCE_S)
        joined.ours.kill()
        read(2 * SENT_AT_ONCE)
        joined.ours.start()
        joined.lead_again(US)
        read(3 * SENT_AT_ONCE)
        assert task_doer.active == tasks
        task_doer.leave()
    for each in readers:
        each.close()
