"""S011: logins end while clients write and read: every record is there, and once.

librdkafka and kafka-python log in again on their connections (KIP-368). aiokafka does
not: it is cut off when its login ends, and connects anew.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import aiokafka
import confluent_kafka
import kafka
import pytest

from tests.clients.consumers import stop_aiokafka
from tests.clients.session_ends import (
    CONSUMING,
    PARTITIONS,
    PRODUCING,
    Counts,
    Sessions,
    short_sessions,
)
from tests.patience import PATIENCE_S

# kafka-python leaves sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("collected"),
]
UNREAD_MAX = 5000
PAYLOAD = b"x" * 200
# Between a thousand records and the next ones.
PAUSE_S = 0 if os.environ.get("ODRADEK_LONG") == "1" else 0.1


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    with short_sessions(tmp_path_factory.mktemp("sessions")) as found:
        yield found


class Load:
    """Records 0, 1, 2, ... over partitions in turn, until ``is_enough``.

    What is read of a partition has to be what was written to it, in this order.
    """

    def __init__(self, is_enough: Callable[[], bool]) -> None:
        self.is_enough = is_enough
        self.has_failed = threading.Event()
        self.written = self.acked = self.read = 0
        self.is_written = False
        self._next = list(range(PARTITIONS))

    def records(self) -> Iterator[tuple[int, bytes]]:
        """The partition and the value of each record."""
        while not self.has_failed.is_set() and not self.is_enough():
            self.has_failed.wait(PAUSE_S)
            for _ in range(1000):
                yield self.written % PARTITIONS, b"%d " % self.written + PAYLOAD
                self.written += 1
        self.is_written = True

    @property
    def is_ahead(self) -> bool:
        """Whether whoever reads is too far behind."""
        return self.written - self.read > UNREAD_MAX and not self.has_failed.is_set()

    def wait_for_reader(self) -> None:
        while self.is_ahead:
            self.has_failed.wait(0.01)

    @property
    def is_over(self) -> bool:
        is_read = self.is_written and self.read >= self.written
        return is_read or self.has_failed.is_set()

    def note_ack(self, error: object) -> None:
        assert error is None, error
        self.acked += 1

    def note(self, partition: int, value: bytes | None) -> None:
        number = int((value or b"").split()[0])
        assert number == self._next[partition], "lost, or twice"
        self._next[partition] += PARTITIONS
        self.read += 1


class Client(Protocol):
    """Writes and reads a load with one library."""

    def write(self, sessions: Sessions, topic: str, load: Load) -> None: ...
    def consume(self, sessions: Sessions, topic: str, load: Load) -> None: ...


READING = {"auto.offset.reset": "earliest", "enable.auto.commit": True}


class Confluent:
    def write(self, sessions: Sessions, topic: str, load: Load) -> None:
        options = sessions.listening.confluent(PRODUCING)
        producer = confluent_kafka.Producer({**options, "enable.idempotence": True})
        for partition, value in load.records():
            producer.produce(
                topic,
                value,
                partition=partition,
                on_delivery=lambda error, _: load.note_ack(error),
            )
            producer.poll(0)
            while load.is_ahead:
                producer.poll(0.01)
        assert producer.flush(PATIENCE_S) == 0

    def consume(self, sessions: Sessions, topic: str, load: Load) -> None:
        options = sessions.listening.confluent(CONSUMING)
        consumer = confluent_kafka.Consumer({**options, **READING, "group.id": topic})
        try:
            consumer.subscribe([topic])
            while not load.is_over:
                for message in consumer.consume(500, 0.1):
                    assert message.error() is None, message.error()
                    load.note(message.partition(), message.value())
        finally:
            consumer.close()


class KafkaPython:
    def write(self, sessions: Sessions, topic: str, load: Load) -> None:
        options = sessions.listening.kafka_python(PRODUCING)
        producer = kafka.KafkaProducer(**options, enable_idempotence=True)
        try:
            for partition, value in load.records():
                sent = producer.send(topic, value, partition=partition)
                sent.add_callback(lambda _: load.note_ack(None))
                load.wait_for_reader()
            producer.flush(PATIENCE_S)
        finally:
            producer.close()

    def consume(self, sessions: Sessions, topic: str, load: Load) -> None:
        consumer = kafka.KafkaConsumer(
            topic,
            **sessions.listening.kafka_python(CONSUMING),
            group_id=topic,
            auto_offset_reset="earliest",
        )
        try:
            while not load.is_over:
                for found in consumer.poll(100).values():
                    for record in found:
                        load.note(record.partition, record.value)
        finally:
            consumer.close()


class Aiokafka:
    def write(self, sessions: Sessions, topic: str, load: Load) -> None:
        asyncio.run(self._write(sessions.listening.aiokafka(PRODUCING), topic, load))

    async def _write(self, options: dict[str, Any], topic: str, load: Load) -> None:
        making = aiokafka.AIOKafkaProducer(**options, enable_idempotence=True)
        async with making as producer:
            for partition, value in load.records():
                sent = await producer.send(topic, value, partition=partition)
                sent.add_done_callback(lambda done: load.note_ack(done.exception()))
                if load.is_ahead:
                    await asyncio.to_thread(load.wait_for_reader)
            await producer.flush()

    def consume(self, sessions: Sessions, topic: str, load: Load) -> None:
        options = sessions.listening.aiokafka(CONSUMING)
        asyncio.run(self._consume(options, topic, load))

    async def _consume(self, options: dict[str, Any], topic: str, load: Load) -> None:
        # With it, and its coordinator lost, as here, stopping would commit for ever.
        more = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        consumer = aiokafka.AIOKafkaConsumer(topic, **options, **more, group_id=topic)
        await consumer.start()
        try:
            while not load.is_over:
                for found in (await consumer.getmany(timeout_ms=100)).values():
                    for record in found:
                        load.note(record.partition, record.value)
        finally:
            await stop_aiokafka(consumer)


def loaded(
    sessions: Sessions,
    client: Client,
    topic: str,
    count: int,
    progress: Callable[[Counts], int],
) -> None:
    """Write and read until there were ``count`` of ``progress`` on both sides."""
    before = {way: progress(sessions.counts(way)) for way in (PRODUCING, CONSUMING)}

    def is_enough() -> bool:
        return all(
            progress(sessions.counts(way)) - before[way] >= count for way in before
        )

    load = Load(is_enough)
    sessions.create(topic)

    def guarded(run: Callable[[Sessions, str, Load], None]) -> None:
        try:
            run(sessions, topic, load)
        except BaseException:
            load.has_failed.set()
            raise

    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(guarded, run) for run in (client.write, client.consume)]
    for each in both:
        each.result()
    assert load.written == load.acked == load.read == sessions.record_count(topic) > 0


COUNTS = pytest.mark.parametrize(
    "count", [3, pytest.param(200, marks=pytest.mark.long)]
)


@COUNTS
def test_librdkafka_logs_in_again(sessions: Sessions, topic: str, count: int) -> None:
    """S011"""
    loaded(sessions, Confluent(), topic, count, lambda counts: counts.again)


@COUNTS
def test_kafka_python_logs_in_again(sessions: Sessions, topic: str, count: int) -> None:
    """S011"""
    loaded(sessions, KafkaPython(), topic, count, lambda counts: counts.again)


@COUNTS
def test_aiokafka_is_cut_off_and_connects_anew(
    sessions: Sessions, topic: str, count: int
) -> None:
    """S011: it never logs in again on a connection, as of 0.14."""
    ended, again = (sessions.counts(CONSUMING)[place] for place in (2, 1))
    loaded(sessions, Aiokafka(), topic, count + 5, lambda counts: counts.accepted)
    after = sessions.counts(CONSUMING)
    assert after.ended - ended >= count
    assert after.again == again
