"""Stock clients log in, by each mechanism, with TLS and without it.

The brokers are those of `odradek.testing`, which says what each client has to be told.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest

from odradek.testing import Broker, factories
from tests.patience import PATIENCE_S

USER, PASSWORD = "alice", "a long secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
COUNT = 20

USERS = {USER: PASSWORD}
plaintext = factories.broker(scope="module", security="sasl_plaintext", users=USERS)
tls = factories.broker(scope="module", security="sasl_ssl", users=USERS)


@pytest.fixture(scope="module", params=["plaintext", "tls"])
def guarded(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker that wants logins, with a user of all mechanisms."""
    broker: Broker = request.getfixturevalue(request.param)
    yield broker
    assert "Traceback" not in broker.log()
    assert PASSWORD not in broker.log()


VALUES = [b"%d" % number for number in range(COUNT)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_confluent(guarded: Broker, topic: str, mechanism: str) -> None:
    options = guarded.config("confluent", USER, mechanism)
    producer = confluent_kafka.Producer(options)
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0
    consumer = confluent_kafka.Consumer({**options, "group.id": topic})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found = consumer.consume(COUNT, PATIENCE_S)
    consumer.close()
    assert [message.value() for message in found] == VALUES


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafka_python(guarded: Broker, topic: str, mechanism: str) -> None:
    options = guarded.config("kafka-python", USER, mechanism)
    producer = kafka.KafkaProducer(**options)
    for value in VALUES:
        producer.send(topic, value, partition=0)
    producer.flush(PATIENCE_S)
    producer.close()
    consumer = kafka.KafkaConsumer(**options, consumer_timeout_ms=PATIENCE_S * 1000)
    place = kafka.TopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    found = [next(consumer).value for _ in range(COUNT)]
    consumer.close()
    assert found == VALUES


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_aiokafka(guarded: Broker, topic: str, mechanism: str) -> None:
    found = asyncio.run(_through_aiokafka(guarded, topic, mechanism))
    assert found == VALUES


async def _through_aiokafka(guarded: Broker, topic: str, mechanism: str) -> list[Any]:
    options = guarded.config("aiokafka", USER, mechanism)
    async with aiokafka.AIOKafkaProducer(**options) as producer:
        for value in VALUES:
            await producer.send_and_wait(topic, value, partition=0)
    async with aiokafka.AIOKafkaConsumer(**options) as consumer:
        place = aiokafka.TopicPartition(topic, 0)
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        async with asyncio.timeout(PATIENCE_S):
            return [(await consumer.getone()).value for _ in range(COUNT)]


def test_a_wrong_password_is_told(guarded: Broker) -> None:
    options = guarded.config("confluent") | {"sasl.password": "wrong"}
    said: list[str] = []
    client = confluent_kafka.Producer(
        {**options, "error_cb": lambda error: said.append(error.str()), "log_level": 0}
    )
    client.poll(PATIENCE_S)
    assert "Invalid username or password" in said[0]
    assert f"login of {USER} from 127.0.0.1" in guarded.log()
