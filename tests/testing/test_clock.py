"""The broker's time, moved while real clients are connected."""

import operator
import select
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from odradek.client.connection import Connection
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from odradek.testing import Broker, Refused, Topic
from tests.patience import PATIENCE_S

HOUR = timedelta(hours=1)
SESSION_MS = 45_000


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def produce(broker: Broker, topic: str, *values: bytes) -> None:
    """Each in a batch of its own."""
    producer = confluent_kafka.Producer(broker.config("confluent"))
    for value in values:
        producer.produce(topic, value)
        assert producer.flush(PATIENCE_S) == 0


def ends(broker: Broker, topic: Topic) -> tuple[int, int]:
    """The first offset of the only partition, and the next one."""
    config = broker.config("confluent") | {"group.id": "nobody"}
    consumer = confluent_kafka.Consumer(config)
    place = confluent_kafka.TopicPartition(topic, 0)
    try:
        low, high = consumer.get_watermark_offsets(place, PATIENCE_S)
        return low, high
    finally:
        consumer.close()


class Members:
    """Consumers of one group, and how often each was given partitions."""

    def __init__(self, broker: Broker, topic: Topic, group: str, count: int) -> None:
        self.broker = broker
        self.group = group
        self.assigned = [0] * count
        config = broker.config("confluent") | {
            "group.id": group,
            "session.timeout.ms": SESSION_MS,
        }
        self.consumers = []
        for number in range(count):
            consumer = confluent_kafka.Consumer(config)
            self.consumers.append(consumer)
            consumer.subscribe([topic], on_assign=self._noting(number))

    def _noting(self, number: int) -> Any:
        def note(consumer: Any, partitions: list[Any]) -> None:
            if partitions:
                self.assigned[number] += 1

        return note

    def poll(self) -> None:
        for consumer in self.consumers:
            consumer.poll(0.05)

    def ids(self) -> set[str]:
        """Who the broker takes for members."""
        admin = AdminClient(self.broker.config("confluent"))
        (asked,) = admin.describe_consumer_groups([self.group]).values()
        return {each.member_id for each in asked.result(PATIENCE_S).members}

    def close(self) -> None:
        for consumer in self.consumers:
            consumer.close()


@pytest.fixture
def members(broker: Broker) -> Iterator[Members]:
    """Two members that have settled."""
    members = Members(broker, broker.topic("read", 4), "readers", 2)
    try:
        while len(members.ids()) < 2 or not all(
            consumer.assignment() for consumer in members.consumers
        ):
            members.poll()
        yield members
    finally:
        members.close()


def test_what_retention_lets_go_has_gone_when_an_advance_answers(
    broker: Broker,
) -> None:
    """T320."""
    retention_ms = 3_600_000
    config = {"retention.ms": retention_ms, "segment.bytes": 1 << 20}
    topic = broker.topic("old", config=config)
    produce(broker, topic, *[bytes(900_000)] * 3)
    directory = broker.data_dir / "old-0"
    assert len(list(directory.glob("*.log"))) == 3
    broker.clock.advance(retention_ms // 2)
    assert ends(broker, topic) == (0, 3)
    broker.clock.advance(retention_ms // 2)
    assert ends(broker, topic) == (3, 3)
    broker.clock.advance(HOUR)  # file.delete.delay.ms is over
    assert [each.stat().st_size for each in directory.glob("*.log*")] == [0]


def test_a_transaction_that_takes_too_long_is_aborted_when_an_advance_answers(
    broker: Broker,
) -> None:
    """T321."""
    topic = broker.topic("written")
    timeout_ms = 60_000
    config = broker.config("confluent") | {
        "transactional.id": "slow",
        "transaction.timeout.ms": timeout_ms,
    }
    producer = confluent_kafka.Producer(config)
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, b"never")
    producer.flush(PATIENCE_S)
    produce(broker, topic, b"kept")
    committed = broker.config("confluent") | {
        "group.id": "committed",
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
    }
    assert _stable_end(broker, topic) == 0
    broker.clock.advance(timeout_ms)
    assert _stable_end(broker, topic) == 3  # with the marker
    consumer = confluent_kafka.Consumer(committed)
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    message = consumer.poll(PATIENCE_S)
    consumer.close()
    assert message is not None
    assert message.value() == b"kept"
    with pytest.raises(confluent_kafka.KafkaException) as raised:
        producer.commit_transaction(PATIENCE_S)
    error = raised.value.args[0]
    assert error.fatal()
    assert error.code() == confluent_kafka.KafkaError._FENCED


def _stable_end(broker: Broker, topic: Topic) -> int:
    """The last stable offset: where readers of what is committed end."""
    admin = AdminClient(broker.config("confluent"))
    place = confluent_kafka.TopicPartition(topic, 0)
    (asked,) = admin.list_offsets(
        {place: confluent_kafka.admin.OffsetSpec.latest()},
        isolation_level=confluent_kafka.IsolationLevel.READ_COMMITTED,
    ).values()
    offset: int = asked.result(PATIENCE_S).offset
    return offset


def test_members_stay_while_hours_pass(broker: Broker, members: Members) -> None:
    """T322 "keep": nor are their connections closed as idle."""
    before = members.ids()
    broker.clock.advance(24 * HOUR)
    assert members.ids() == before
    assert broker.disconnect("rdkafka") >= 2


def test_members_go_when_their_sessions_expire(
    broker: Broker, members: Members
) -> None:
    """T322 "expire": they find out, and join again."""
    before, assigned = members.ids(), list(members.assigned)
    broker.clock.advance(2 * SESSION_MS, sessions="expire")
    assert not members.ids() & before
    while not all(map(operator.gt, members.assigned, assigned)):
        members.poll()
    assert len(members.ids()) == 2


def test_a_fetch_waits_for_the_clock_that_stands_still(broker: Broker) -> None:
    """T324: to the millisecond, whatever the clock shows."""
    topic = broker.topic("empty")
    host, port = broker.bootstrap.split(":")
    with Connection(host, int(port)) as reader, broker.clock.freeze():
        for wait_ms in range(500, 504):
            request, version = _waiting_fetch(reader, topic, wait_ms)
            correlation_id = reader.send(request, version)
            for past_ms in (0, wait_ms - 1):
                broker.clock.advance(past_ms)
                assert not select.select([reader._socket], [], [], 0)[0]
            broker.clock.advance(1)
            assert reader.receive(request.api_key, version)[0] == correlation_id


def _waiting_fetch(
    reader: Connection, topic: Topic, wait_ms: int
) -> tuple[FetchRequest, int]:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    (found,) = reader.request(asked, MetadataResponse).topics
    partition = FetchPartition(partition=0, partition_max_bytes=1000)
    wanted = FetchTopic(topic=topic, topic_id=found.topic_id, partitions=[partition])
    request = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, topics=[wanted])
    return request, reader.version_of(request)


def test_a_clock_that_is_set_back_ends_nothing(
    broker: Broker, members: Members
) -> None:
    """T325."""
    topic = broker.topic("kept", config={"retention.ms": 3_600_000})
    produce(broker, topic, b"kept")
    before, now = members.ids(), broker.clock.now()
    broker.clock.jump(-24 * HOUR)
    assert broker.clock.now() < now - 23 * HOUR
    broker.clock.advance(0)  # whatever is to be found by looking
    assert members.ids() == before
    assert ends(broker, topic) == (0, 1)


def test_a_leap_forward_is_not_believed_by_retention_at_once(broker: Broker) -> None:
    topic = broker.topic("kept", config={"retention.ms": 3_600_000})
    produce(broker, topic, b"kept")
    broker.clock.advance(0)
    broker.clock.jump(24 * HOUR)
    broker.clock.advance(0)
    assert ends(broker, topic) == (0, 1)
    broker.clock.advance(2 * HOUR)
    assert ends(broker, topic) == (1, 1)


def test_a_frozen_clock_stands_still_until_the_end_of_the_block(
    broker: Broker,
) -> None:
    with broker.clock.freeze():
        stood = broker.clock.now()
        assert broker.clock.now() == stood
        assert broker.clock.advance(HOUR) == stood + HOUR
    assert not broker.ask("clock.now")[0]["is_frozen"]


def test_a_year_passes_in_one_advance(broker: Broker) -> None:
    begun = broker.clock.now()
    assert broker.clock.advance(365 * 24 * HOUR) >= begun + 365 * 24 * HOUR
    assert broker.log() == ""


def test_time_does_not_go_back(broker: Broker) -> None:
    with pytest.raises(Refused, match="ms is -1; it is at least 0"):
        broker.clock.advance(-1)
    with pytest.raises(Refused, match="did you mean keep"):
        broker.clock.advance(1, sessions="kept")
