"""S001: stock clients by every way in: a transaction, a group, an offset.

A few of all pairs in each run, each client and each way in one of them at least; all of
them in the long one.
"""

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiokafka
import confluent_kafka
import kafka
import pytest

from tests.clients.logins import WAYS, Listening, Way, listening_broker
from tests.patience import PATIENCE_S

# kafka-python leaves sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("collected"),
]
VALUES = [b"%d" % number for number in range(20)]
# The marker of the transaction has an offset, and not all clients step over it.
COMMITTED = {len(VALUES), len(VALUES) + 1}


class Seen(NamedTuple):
    """What a group read, and the offset that it has committed."""

    values: list[bytes | None]
    offset: int


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    with listening_broker(tmp_path_factory.mktemp("ways")) as found:
        yield found


def confluent(listening: Listening, way: Way, topic: str) -> Seen:
    options = listening.confluent(way)
    producer = confluent_kafka.Producer({**options, "transactional.id": topic})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    producer.commit_transaction(PATIENCE_S)
    reading = {"group.id": topic, "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(
        {**options, **reading, "enable.auto.commit": False}
    )
    try:
        consumer.subscribe([topic])
        found = consumer.consume(len(VALUES), PATIENCE_S)
        (done,) = consumer.commit(asynchronous=False)
        return Seen([message.value() for message in found], done.offset)
    finally:
        consumer.close()


def kafka_python(listening: Listening, way: Way, topic: str) -> Seen:
    options = listening.kafka_python(way)
    producer = kafka.KafkaProducer(
        **options, transactional_id=topic, max_block_ms=PATIENCE_S * 1000
    )
    try:
        producer.init_transactions()
        producer.begin_transaction()
        for value in VALUES:
            producer.send(topic, value, partition=0)
        producer.commit_transaction()
    finally:
        producer.close()
    consumer = kafka.KafkaConsumer(
        topic,
        **options,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        consumer_timeout_ms=PATIENCE_S * 1000,
    )
    try:
        found = [next(consumer).value for _ in VALUES]
        consumer.commit()
        return Seen(found, consumer.committed(kafka.TopicPartition(topic, 0)))
    finally:
        consumer.close()


def through_aiokafka(listening: Listening, way: Way, topic: str) -> Seen:
    return asyncio.run(_through_aiokafka(listening.aiokafka(way), topic))


async def _through_aiokafka(options: dict[str, Any], topic: str) -> Seen:
    producing = aiokafka.AIOKafkaProducer(**options, transactional_id=topic)
    async with producing as producer, producer.transaction():
        for value in VALUES:
            await producer.send_and_wait(topic, value, partition=0)
    consuming = aiokafka.AIOKafkaConsumer(
        topic,
        **options,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
    )
    async with consuming as consumer, asyncio.timeout(PATIENCE_S):
        found = [(await consumer.getone()).value for _ in VALUES]
        await consumer.commit()
        place = aiokafka.TopicPartition(topic, 0)
        return Seen(found, await consumer.committed(place))


Client = Callable[[Listening, Way, str], Seen]
CLIENTS: tuple[Client, ...] = (confluent, kafka_python, through_aiokafka)
PAIRS = [(client, way) for client in CLIENTS for way in WAYS]
# Three steps further for each client: every way is there once.
OFTEN = {(CLIENTS[number % 3], way) for number, way in enumerate(WAYS)}


@pytest.mark.parametrize(
    ("client", "way"),
    [
        pytest.param(
            *pair,
            id=f"{pair[0].__name__}-{pair[1]}",
            marks=[] if pair in OFTEN else [pytest.mark.long],
        )
        for pair in PAIRS
    ],
)
def test_a_client(listening: Listening, topic: str, client: Client, way: Way) -> None:
    seen = client(listening, way, topic)
    assert seen.values == VALUES
    assert seen.offset in COMMITTED
    assert _maker(listening, topic) == way.principal


def _maker(listening: Listening, topic: str) -> str:
    """Who made the topic, by the audit; who shows nothing is told by its client."""
    (line,) = [
        each
        for each in listening.broker.log().splitlines()
        if "AutoCreateTopics by" in each and f"(name {topic}," in each
    ]
    who = line.partition("AutoCreateTopics by ")[2].partition(" ")[0]
    return who if who.startswith("User:") else "User:ANONYMOUS"


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")
@pytest.mark.parametrize(
    "way", [way for way in WAYS if way.mechanism != "OAUTHBEARER"], ids=str
)
def test_kcat(listening: Listening, topic: str, tmp_path: Path, way: Way) -> None:
    config = tmp_path / "kcat.conf"
    lines = [f"{name}={value}" for name, value in listening.confluent(way).items()]
    config.write_text("\n".join(lines) + "\n")

    def kcat(*words: str, typed: str = "") -> str:
        done = subprocess.run(
            ["kcat", "-F", str(config), *words],
            input=typed,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        if "invalid credentials with SASL mechanism SCRAM" in done.stderr:
            assert "update librdkafka" in listening.broker.log()
            pytest.skip("its librdkafka is too old for SCRAM")
        assert done.returncode == 0, done.stderr
        return done.stdout

    kcat("-P", "-t", topic, "-p", "0", typed="one\ntwo\n")
    assert kcat("-C", "-t", topic, "-p", "0", "-e", "-q") == "one\ntwo\n"
    assert f'topic "{topic}"' in kcat("-L", "-t", topic)
