"""Three stock clients behind one face, so that each test says once what must hold.

Consumers are assigned, not subscribed: groups have tests of their own.
"""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import aiokafka
import aiokafka.admin
import confluent_kafka
import confluent_kafka.admin
import kafka

from tests.clients import dropped_sockets as dropped_sockets
from tests.patience import PATIENCE_S

Headers = tuple[tuple[str, bytes | None], ...]
UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"


class Message(NamedTuple):
    """What is sent, and what must come back."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int = 1_700_000_000_000
    partition: int = 0


class Read(NamedTuple):
    """A message with the place where it was found."""

    offset: int
    message: Message


class Options(NamedTuple):
    """What a producer is asked for."""

    acks: int = -1
    idempotent: bool = True
    codec: str = "none"


# librdkafka waits half a second for a producer id.
QUICKLY = Options(idempotent=False)


class Client(Protocol):
    """What every adapter can do, on one broker."""

    name: str

    def create_topic(self, address: str, topic: str, partitions: int) -> None: ...

    def produce(
        self, address: str, topic: str, messages: Iterable[Message], options: Options
    ) -> None: ...

    def consume(
        self,
        address: str,
        topic: str,
        partition: int,
        count: int,
        isolation: str = UNCOMMITTED,
    ) -> list[Read]: ...


class Confluent:
    """confluent-kafka, that is librdkafka."""

    name = "confluent-kafka"

    def create_topic(self, address: str, topic: str, partitions: int) -> None:
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
        wanted = confluent_kafka.admin.NewTopic(topic, partitions, 1)
        admin.create_topics([wanted])[topic].result(PATIENCE_S)

    def produce(
        self, address: str, topic: str, messages: Iterable[Message], options: Options
    ) -> None:
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "acks": options.acks,
                "enable.idempotence": options.idempotent,
                "compression.type": options.codec,
                "queue.buffering.max.messages": 1_000_000,
                "queue.buffering.max.kbytes": 1_000_000,
            }
        )
        failed: list[Any] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(error)

        for message in messages:
            producer.produce(
                topic,
                key=message.key,
                value=message.value,
                headers=list(message.headers),
                timestamp=message.timestamp_ms,
                partition=message.partition,
                on_delivery=delivered,
            )
            producer.poll(0)
        assert producer.flush(60) == 0
        assert not failed, failed[:3]

    def consume(
        self,
        address: str,
        topic: str,
        partition: int,
        count: int,
        isolation: str = UNCOMMITTED,
    ) -> list[Read]:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": address,
                "group.id": "assigned",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "check.crcs": True,
                "isolation.level": isolation,
            }
        )
        consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0)])
        found: list[Read] = []
        try:
            while len(found) < count:
                messages = consumer.consume(min(10_000, count - len(found)), 30)
                assert messages, f"{len(found)} of {count} after 30 s"
                found += map(_from_confluent, messages)
        finally:
            consumer.close()
        return found


def _from_confluent(message: Any) -> Read:
    assert message.error() is None, message.error()
    content = Message(
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
        message.timestamp()[1],
        message.partition(),
    )
    return Read(message.offset(), content)


class KafkaPython:
    """kafka-python."""

    name = "kafka-python"

    def create_topic(self, address: str, topic: str, partitions: int) -> None:
        admin = kafka.KafkaAdminClient(bootstrap_servers=address)
        try:
            admin.create_topics(
                {topic: {"num_partitions": partitions, "replication_factor": 1}}
            )
        finally:
            admin.close()

    def produce(
        self, address: str, topic: str, messages: Iterable[Message], options: Options
    ) -> None:
        producer = kafka.KafkaProducer(
            bootstrap_servers=address,
            acks=options.acks if options.acks >= 0 else "all",
            enable_idempotence=options.idempotent,
            compression_type=None if options.codec == "none" else options.codec,
            linger_ms=5,
            batch_size=100_000,
        )
        sent = [
            producer.send(
                topic,
                key=message.key,
                value=message.value,
                headers=list(message.headers),
                timestamp_ms=message.timestamp_ms,
                partition=message.partition,
            )
            for message in messages
        ]
        producer.flush(60)
        if options.acks:
            for future in sent:
                future.get(60)
        producer.close()

    def consume(
        self,
        address: str,
        topic: str,
        partition: int,
        count: int,
        isolation: str = UNCOMMITTED,
    ) -> list[Read]:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=address,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            consumer_timeout_ms=PATIENCE_S * 1000,
            isolation_level=isolation,
        )
        place = kafka.TopicPartition(topic, partition)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        found: list[Read] = []
        try:
            for record in consumer:
                found.append(_from_record(record))
                if len(found) == count:
                    break
        finally:
            consumer.close()
        return found


def _from_record(record: Any) -> Read:
    content = Message(
        record.key,
        record.value,
        tuple((key, value) for key, value in record.headers),
        record.timestamp,
        record.partition,
    )
    return Read(record.offset, content)


class AioKafka:
    """aiokafka, on a loop of its own for each call."""

    name = "aiokafka"

    def create_topic(self, address: str, topic: str, partitions: int) -> None:
        asyncio.run(self._create_topic(address, topic, partitions))

    async def _create_topic(self, address: str, topic: str, partitions: int) -> None:
        admin = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=address)
        await admin.start()
        try:
            wanted = aiokafka.admin.NewTopic(topic, partitions, 1)
            answer = await admin.create_topics([wanted])
            assert answer.topic_errors[0][1] == 0, answer
        finally:
            await admin.close()

    def produce(
        self, address: str, topic: str, messages: Iterable[Message], options: Options
    ) -> None:
        asyncio.run(self._produce(address, topic, messages, options))

    async def _produce(
        self, address: str, topic: str, messages: Iterable[Message], options: Options
    ) -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=address,
            acks=options.acks if options.acks >= 0 else "all",
            enable_idempotence=options.idempotent,
            compression_type=None if options.codec == "none" else options.codec,
            max_batch_size=100_000,
            linger_ms=5,
        )
        await producer.start()
        try:
            sent = [
                await producer.send(
                    topic,
                    key=message.key,
                    value=message.value,
                    headers=list(message.headers),
                    timestamp_ms=message.timestamp_ms,
                    partition=message.partition,
                )
                for message in messages
            ]
            await asyncio.gather(*sent)
        finally:
            await producer.stop()

    def consume(
        self,
        address: str,
        topic: str,
        partition: int,
        count: int,
        isolation: str = UNCOMMITTED,
    ) -> list[Read]:
        return asyncio.run(self._consume(address, topic, partition, count, isolation))

    async def _consume(
        self,
        address: str,
        topic: str,
        partition: int,
        count: int,
        isolation: str = UNCOMMITTED,
    ) -> list[Read]:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=address,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level=isolation,
        )
        await consumer.start()
        place = aiokafka.TopicPartition(topic, partition)
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        found: list[Read] = []
        try:
            while len(found) < count:
                batches = await asyncio.wait_for(
                    consumer.getmany(timeout_ms=1000), PATIENCE_S
                )
                for records in batches.values():
                    found += map(_from_record, records)
        finally:
            await consumer.stop()
        return found


CLIENTS: tuple[Client, ...] = (Confluent(), KafkaPython(), AioKafka())


def by_name(client: Client) -> str:
    return client.name


def numbered(messages: Iterable[Message]) -> Iterator[Read]:
    """What a reader of one partition must find: the same, from offset 0 on."""
    for offset, message in enumerate(messages):
        yield Read(offset, message)
