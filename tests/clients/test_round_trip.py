"""What a stock client sends is what every stock client reads, byte for byte."""

import itertools

import confluent_kafka
import pytest

from tests.broker_process import BrokerProcess
from tests.clients.adapters import (
    CLIENTS,
    QUICKLY,
    AioKafka,
    Client,
    Confluent,
    KafkaPython,
    Message,
    Options,
    by_name,
    numbered,
)

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

SHAPES = [
    Message(b"key", b"value"),
    Message(None, b"no key"),
    Message(b"no value", None),
    Message(b"", b""),
    Message(b"\x00\xff" * 8, bytes(range(256))),
    Message(b"h", b"headers", (("a", b"1"), ("a", b"2"), ("empty", b""))),
    Message(b"h", b"header in unicode", (("ünïcode", "☃".encode()),)),
    Message(b"old", b"time", timestamp_ms=1),
    Message(b"k" * 200, b"large " * 5000),
]


@pytest.mark.parametrize("client", CLIENTS, ids=by_name)
@pytest.mark.parametrize("codec", CODECS)
def test_each_codec_and_shape_comes_back(
    broker: BrokerProcess, topic: str, client: Client, codec: str
) -> None:
    client.create_topic(broker.address, topic, 1)
    client.produce(broker.address, topic, SHAPES, QUICKLY._replace(codec=codec))
    for reader in CLIENTS:
        found = reader.consume(broker.address, topic, 0, len(SHAPES))
        assert found == list(numbered(SHAPES)), reader.name


@pytest.mark.parametrize("client", CLIENTS, ids=by_name)
@pytest.mark.parametrize(
    "options",
    [Options(0, False), Options(1, False), Options(-1, False), Options(-1, True)],
    ids=["acks-0", "acks-1", "acks-all", "idempotent"],
)
def test_each_acknowledgement_keeps_the_order(
    broker: BrokerProcess, topic: str, client: Client, options: Options
) -> None:
    messages = [Message(None, b"%d" % number) for number in range(1000)]
    client.create_topic(broker.address, topic, 1)
    client.produce(broker.address, topic, messages, options)
    found = client.consume(broker.address, topic, 0, len(messages))
    assert found == list(numbered(messages))


@pytest.mark.parametrize("client", CLIENTS, ids=by_name)
def test_twelve_partitions_each_keep_their_own(
    broker: BrokerProcess, topic: str, client: Client
) -> None:
    messages = [
        Message(b"%d" % number, b"value %d" % number, partition=number % 12)
        for number in range(1200)
    ]
    client.create_topic(broker.address, topic, 12)
    client.produce(broker.address, topic, messages, QUICKLY)
    for partition, count in itertools.product([0, 5, 11], [100]):
        found = client.consume(broker.address, topic, partition, count)
        own = [each for each in messages if each.partition == partition]
        assert found == list(numbered(own))


@pytest.mark.parametrize("client", CLIENTS, ids=by_name)
def test_a_topic_appears_when_it_is_first_used(
    broker: BrokerProcess, topic: str, client: Client
) -> None:
    messages = [Message(b"a", b"1")]
    client.produce(broker.address, topic, messages, QUICKLY)
    assert client.consume(broker.address, topic, 0, 1) == list(numbered(messages))


def test_what_only_librdkafka_sends(broker: BrokerProcess, topic: str) -> None:
    messages = [Message(None, None), Message(None, None, (("null", None),))]
    Confluent().produce(broker.address, topic, messages, QUICKLY)
    for reader in CLIENTS:
        found = reader.consume(broker.address, topic, 0, len(messages))
        assert found == list(numbered(messages)), reader.name


@pytest.mark.parametrize("codec", CODECS[1:])
def test_what_is_all_alike_is_taken_however_small_it_has_become(
    broker: BrokerProcess, topic: str, codec: str
) -> None:
    """Four megabytes of zeros are 150 bytes with zstd."""
    zeros = bytes(4_000_000)
    errors: list[str | None] = []

    def delivered(error: confluent_kafka.KafkaError | None, _: object) -> None:
        errors.append(error and str(error))

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": broker.address,
            "compression.type": codec,
            "message.max.bytes": 8_000_000,  # which it compares before it compresses
            "linger.ms": 0,
        }
    )
    producer.produce(topic, zeros, on_delivery=delivered)
    producer.flush(30)
    assert errors == [None]
    for reader in CLIENTS:
        found = reader.consume(broker.address, topic, 0, 1)
        assert [read.message.value for read in found] == [zeros], reader.name


def test_offsets_for_times(broker: BrokerProcess, topic: str) -> None:
    start = 1_700_000_000_000
    messages = [
        Message(None, b"%d" % number, timestamp_ms=start + number * 1000)
        for number in range(100)
    ]
    KafkaPython().create_topic(broker.address, topic, 1)
    AioKafka().produce(broker.address, topic, messages, Options())
    assert _offset_for_time(broker, topic, start + 41_500) == 42
    assert _offset_for_time(broker, topic, start) == 0
    assert _offset_for_time(broker, topic, start + 100_000) is None


def _offset_for_time(
    broker: BrokerProcess, topic: str, timestamp_ms: int
) -> int | None:
    import kafka

    consumer = kafka.KafkaConsumer(bootstrap_servers=broker.address)
    place = kafka.TopicPartition(topic, 0)
    try:
        found = consumer.offsets_for_times({place: timestamp_ms})[place]
        return None if found is None else int(found.offset)
    finally:
        consumer.close()
