"""Faults as clients meet them, in a broker of their own (T330 to T343)."""

import asyncio
import http.client
import urllib.parse
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import aiokafka
import aiokafka.errors
import kafka.errors
import pytest
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from odradek.testing import Broker, Refused, SharedBroker, Topic
from odradek.testing.faults import Faults
from tests.patience import PATIENCE_S

QUICK = {"linger.ms": 0, "retry.backoff.ms": 10, "retry.backoff.max.ms": 20}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker
        assert "Traceback" not in broker.log()


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> Topic:
    name = "".join(c if c.isalnum() else "-" for c in request.node.name).strip("-")
    return broker.topic(name, 2)


@pytest.fixture(autouse=True)
def no_rule_is_left(broker: Broker) -> Iterator[None]:
    yield
    broker.ask("faults.clear")


def produce(broker: Broker, topic: str, value: bytes = b"v", **options: Any) -> Any:
    """What the producer was told: an error, or none."""
    producer = Producer({**broker.config("confluent"), **QUICK, **options})
    told: list[Any] = []
    partition = 0
    producer.produce(
        topic,
        value,
        partition=partition,
        on_delivery=lambda error, _: told.append(error),
    )
    assert producer.flush(PATIENCE_S) == 0
    return told[0]


def values(broker: Broker, topic: str, partition: int = 0, **options: Any) -> list[Any]:
    """All that can be read of a partition."""
    group = {"group.id": "reader", "auto.offset.reset": "earliest"}
    config = {**broker.config("confluent"), **group, "enable.partition.eof": True}
    consumer = Consumer({**config, **options})
    found: list[Any] = []
    try:
        consumer.assign([TopicPartition(topic, partition, 0)])
        while (message := consumer.poll(PATIENCE_S)) is not None:
            if message.error() is None:
                found.append(message.value())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                return found
    finally:
        consumer.close()
    raise TimeoutError("the end of the partition did not come")


@pytest.mark.parametrize("client", ["confluent", "aiokafka"])
def test_a_producer_delivers_at_the_third_try(
    broker: Broker, topic: Topic, client: str
) -> None:
    """T330: refused twice, stored once."""
    code = "NOT_LEADER_OR_FOLLOWER"
    with broker.faults.error("Produce", code, topic=topic, times=2) as rule:
        if client == "confluent":
            assert produce(broker, topic) is None
        else:
            asyncio.run(_produce_by_aiokafka(broker, topic))
        assert rule.count == 2
    assert values(broker, topic) == [b"v"]


async def _produce_by_aiokafka(broker: Broker, topic: str) -> None:
    producer = aiokafka.AIOKafkaProducer(
        **broker.config("aiokafka"), retry_backoff_ms=10
    )
    await producer.start()
    try:
        await producer.send_and_wait(topic, b"v", partition=0)
    finally:
        await producer.stop()


@pytest.mark.parametrize(("is_idempotent", "count"), [(True, 1), (False, 2)])
def test_an_answer_that_is_lost_makes_a_second_record(
    broker: Broker, topic: Topic, is_idempotent: bool, count: int
) -> None:
    """T331: only of a producer that is not idempotent."""
    with broker.faults.drop("Produce", topic=topic, when="after", times=1) as rule:
        options = {"enable.idempotence": is_idempotent}
        assert produce(broker, topic, **options) is None
        assert rule.count == 1
    assert values(broker, topic) == [b"v"] * count


def test_a_request_that_is_lost_has_changed_nothing(
    broker: Broker, topic: Topic
) -> None:
    """T332: a commit that is dropped before it was done."""
    config = {**broker.config("confluent"), "group.id": topic}
    consumer = Consumer({**config, "enable.auto.commit": False, **SHORT})
    places = [TopicPartition(topic, 0, 7)]
    try:
        consumer.commit(offsets=places, asynchronous=False)
        places[0].offset = 9
        with broker.faults.drop("OffsetCommit", group=topic) as rule:
            with pytest.raises(KafkaException):
                consumer.commit(offsets=places, asynchronous=False)
            assert rule.count >= 1
        [committed] = consumer.committed(places, PATIENCE_S)
        assert committed.offset == 7
    finally:
        consumer.close()


SHORT = {"socket.timeout.ms": 1000, "retry.backoff.ms": 10}


def test_an_end_of_a_transaction_that_is_denied_is_asked_for_again(
    broker: Broker, topic: Topic
) -> None:
    """T334: it was done, it is asked again, and there is one marker."""
    transactional = {"transactional.id": topic, "transaction.timeout.ms": 60_000}
    producer = Producer({**broker.config("confluent"), **QUICK, **transactional})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic, b"v", partition=0)
    code = "COORDINATOR_LOAD_IN_PROGRESS"
    rule = broker.faults.error(
        "EndTxn", code, applied=True, transactional_id=topic, times=1
    )
    with broker.expect("EndTxn", transactional_id=topic, times=2):
        producer.commit_transaction(PATIENCE_S)
    assert rule.count == 1
    assert values(broker, topic) == [b"v"]
    ends = Consumer({**broker.config("confluent"), "group.id": "ends"})
    assert ends.get_watermark_offsets(TopicPartition(topic, 0), PATIENCE_S)[1] == 2
    ends.close()


def test_what_is_held_waits_and_nobody_else_does(broker: Broker, topic: Topic) -> None:
    """T337"""
    with broker.faults.hold("Produce", topic=topic, partition=0) as rule:
        producer = Producer({**broker.config("confluent"), **QUICK})
        told: list[Any] = []
        producer.produce(
            topic, b"held", partition=0, on_delivery=lambda *_: told.append(1)
        )
        rule.wait()
        assert rule.held == 1
        other = broker.topic(f"{topic}-other")
        assert produce(broker, other) is None
        assert values(broker, topic) == []
        assert not told
        assert rule.release() == 1
        assert producer.flush(PATIENCE_S) == 0
    assert values(broker, topic) == [b"held"]


def test_no_client_hangs_at_an_answer_that_is_cut_off(broker: Broker) -> None:
    """T338: at every byte of Metadata it fails at once, or asks again."""
    quick = {"reconnect.backoff.ms": 0, "log_level": 0}

    def new_client() -> AdminClient:
        """One that has nothing under way: no retry brings it another answer."""
        return AdminClient({**broker.config("confluent"), **quick})

    size = 0
    while True:
        with broker.faults.truncate("Metadata", size, times=1) as rule:
            with suppress(KafkaException):
                new_client().list_topics("none", timeout=PATIENCE_S)
            assert rule.count == 1
        with broker.journal() as journal:
            assert new_client().list_topics("none", timeout=PATIENCE_S).brokers
            whole = max(call.answer_size for call in journal.calls("Metadata"))
        size += 1
        if size > whole:
            break


# In the size, in the head, in the body, all of it but a byte.
CUTS = (0, 3, 4, 7, 8, 20, -1)


@pytest.mark.parametrize("client", ["kafka-python", "aiokafka"])
def test_no_other_client_hangs_at_one_either(
    broker: Broker, topic: Topic, client: str
) -> None:
    """T338: these fail at once, too, or ask again."""
    partitions = {"kafka-python": _by_kafka_python, "aiokafka": _by_aiokafka}[client]
    with broker.journal() as journal:
        assert partitions(broker, topic) == {0, 1}
        sizes = [call.answer_size for call in journal.calls("Metadata")]
    for cut in CUTS:
        at = cut if cut >= 0 else min(sizes) + cut
        with broker.faults.truncate("Metadata", at, times=1) as rule:
            with suppress(aiokafka.errors.KafkaError, kafka.errors.KafkaError):
                partitions(broker, topic)
            assert rule.count == 1
        assert partitions(broker, topic) == {0, 1}


def _by_kafka_python(broker: Broker, topic: str) -> set[int]:
    consumer = kafka.KafkaConsumer(
        **broker.config("kafka-python"),
        reconnect_backoff_ms=1,
        retry_backoff_ms=1,
    )
    try:
        return set(consumer.partitions_for_topic(topic) or ())
    finally:
        consumer.close()


def _by_aiokafka(broker: Broker, topic: str) -> set[int]:
    async def partitions() -> set[int]:
        config = broker.config("aiokafka")
        producer = aiokafka.AIOKafkaProducer(**config, retry_backoff_ms=1)
        try:
            await producer.start()
            return set(await producer.partitions_for(topic))
        finally:
            await producer.stop()

    return asyncio.run(asyncio.wait_for(partitions(), PATIENCE_S))


def test_a_full_disk_is_told_at_once_and_reading_goes_on(
    broker: Broker, topic: Topic
) -> None:
    """T340"""
    assert produce(broker, topic, b"before") is None
    with broker.faults.disk("full", topic=topic) as rule:
        with broker.expect("Produce", topic=topic, error="KAFKA_STORAGE_ERROR") as seen:
            error = produce(broker, topic, **{"message.timeout.ms": 500})
        assert error.code() == KafkaError._MSG_TIMED_OUT
        assert seen.calls
        assert values(broker, topic) == [b"before"]
        assert rule.count >= 1
    assert produce(broker, topic, b"after") is None
    assert values(broker, topic) == [b"before", b"after"]


def test_a_sync_that_failed_is_never_acknowledged() -> None:
    """T341: nor is what comes later; and /readyz is red."""
    options = {"durability": "commit", "http.listener": "127.0.0.1:0"}
    with Broker(options) as broker:
        topics = [broker.topic(name) for name in ("a", "b", "c")]
        for topic in topics:
            assert produce(broker, topic) is None
        assert broker.ask("health") == []
        assert readyz(broker) == 200
        broker.faults.disk("fail_sync", topic="b")
        failed = produce(broker, "b", **{"message.timeout.ms": 500})
        assert failed.code() == KafkaError._MSG_TIMED_OUT
        assert broker.ask("health")
        assert readyz(broker) == 503
        broker.ask("faults.clear")
        late = produce(broker, "b", **{"message.timeout.ms": 500})
        assert late.code() == KafkaError._MSG_TIMED_OUT


def readyz(broker: Broker) -> int:
    """The status of the answer."""
    url = urllib.parse.urlsplit(broker.url)
    connection = http.client.HTTPConnection(url.netloc, timeout=PATIENCE_S)
    connection.request("GET", "/readyz")
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_client_speaks_what_it_is_offered(broker: Broker, topic: Topic) -> None:
    """T343: below what it could speak."""
    assert produce(broker, topic) is None
    with broker.faults.versions("Fetch", max=11), broker.journal() as journal:
        assert values(broker, topic) == [b"v"]
        assert {call.version for call in journal.calls("Fetch")} == {11}


def test_a_group_without_a_coordinator_waits_for_one(
    broker: Broker, topic: Topic
) -> None:
    assert produce(broker, topic) is None
    config = {"group.id": topic, "auto.offset.reset": "earliest", **SHORT}
    consumer = Consumer({**broker.config("confluent"), **config})
    try:
        with broker.faults.no_coordinator(group=topic) as rule:
            consumer.subscribe([topic])
            while not rule.count:
                assert consumer.poll(0.01) is None
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        assert message.value() == b"v"
    finally:
        consumer.close()


def test_a_scoped_rule_is_for_the_topics_of_one_test(broker: Broker) -> None:
    mine, other = broker.topic("scope-one-1"), broker.topic("scope-two-1")
    faults = Faults(broker.ask, scope="scope-one-")
    rule = faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", times=1)
    assert produce(broker, other) is None
    assert rule.count == 0
    assert produce(broker, mine) is None
    assert rule.count == 1
    for arm in (
        lambda: faults.drop("ApiVersions"),
        lambda: faults.drop(),
        lambda: faults.drop("Produce", topic=other),
        lambda: faults.disk("full"),
    ):
        with pytest.raises(SharedBroker, match="odradek_own"):
            arm()
    faults.clear()
    assert broker.ask("faults.list") == []


def test_a_rule_that_makes_no_sense_is_refused_with_the_nearest_name(
    broker: Broker,
) -> None:
    with pytest.raises(Refused, match="did you mean Produce"):
        broker.faults.drop("Prodcue")
    with pytest.raises(Refused, match="did you mean topic"):
        broker.faults.drop("Produce", topc="t")
    assert broker.ask("faults.list") == []


def test_waiting_for_a_rule_ends(broker: Broker, topic: Topic) -> None:
    late = pytest.raises(TimeoutError, match="was at work 0 times")
    with broker.faults.drop("Produce", topic=topic) as rule, late:
        rule.wait(timeout=0.01)
    rule.clear()  # the second time it does nothing
    assert (rule.count, rule.held) == (0, 0)
