"""The worker of `test_exactly_once` does its part of exactly once."""

import asyncio
import contextlib
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from odradek.protocol.api_keys import ApiKey
from tests.broker_process import running_broker
from tests.crash.exactly_once_worker import SOURCE, TARGET, Worker
from tests.fakes.delaying_proxy import DelayingProxy, Fate, Policy, Request
from tests.patience import PATIENCE_S

RECORDS, PLACE = 100, 90
OPTIONS = "-o", "group.min.session.timeout.ms=500"
BACK_S = 1.5  # librdkafka looks up again after half a second


class Watch(Policy):
    """Counts what is asked, and keeps the answers about offsets back until it may."""

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()
        self.keeps = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.commits = asyncio.Event()

    async def decide(self, request: Request) -> Fate:
        self.asked[request.api_key] += 1
        return Fate.PASS

    async def answered(self, request: Request) -> None:
        if request.api_key == ApiKey.LIST_OFFSETS:
            self.keeps.set()
            await self.may_answer.wait()
        elif request.api_key == ApiKey.END_TXN:
            self.commits.set()


@contextlib.asynccontextmanager
async def watched_broker(tmp_path: Path) -> AsyncIterator[tuple[str, Watch]]:
    """A broker that all clients find behind the proxy; some records in its source."""
    watch = Watch()
    proxy = DelayingProxy("127.0.0.1:0", watch)
    async with proxy.running():
        advertised = f"advertised.listeners=PLAINTEXT://{proxy.address}"
        options = *OPTIONS, "-o", advertised
        with running_broker(tmp_path / "data", *options) as broker:
            proxy.port = broker.port
            await asyncio.to_thread(fill, proxy.address)
            yield proxy.address, watch


def fill(address: str) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    wanted = [confluent_kafka.admin.NewTopic(each, 4, 1) for each in (SOURCE, TARGET)]
    for created in admin.create_topics(wanted).values():
        created.result(PATIENCE_S)
    producer = confluent_kafka.Producer({"bootstrap.servers": address})
    for number in range(RECORDS):
        producer.produce(SOURCE, b"%d" % number, b"%d" % number, 0)
    assert producer.flush(PATIENCE_S) == 0


async def test_worker_has_no_place_looked_up(tmp_path: Path) -> None:
    async with watched_broker(tmp_path) as (address, watch):
        watch.may_answer.set()
        module = "tests.crash.exactly_once_worker"
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-m", module, address, "worker"
        )
        try:
            await asyncio.wait_for(watch.commits.wait(), PATIENCE_S)
        finally:
            worker.kill()
            await worker.wait()
    assert watch.asked[ApiKey.OFFSET_FETCH]
    assert not watch.asked[ApiKey.LIST_OFFSETS]


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="librdkafka 2.16: a late answer moves what is assigned anew",
)
async def test_lookup_that_is_answered_late_moves_nothing(tmp_path: Path) -> None:
    """When this passes, `Worker` need not ask for its places itself any more."""
    async with watched_broker(tmp_path) as (address, watch):
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": address, "group.id": "any", "log_level": 0}
        )
        earliest = confluent_kafka.OFFSET_BEGINNING
        consumer.assign([TopicPartition(SOURCE, 0, earliest)])
        await asyncio.wait_for(watch.keeps.wait(), PATIENCE_S)
        consumer.unassign()
        consumer.assign([TopicPartition(SOURCE, 0, PLACE)])
        watch.may_answer.set()
        offsets = await asyncio.to_thread(lambda: list(consumed(consumer)))
        await asyncio.to_thread(consumer.close)
    assert offsets == list(range(PLACE, RECORDS))


def consumed(consumer: confluent_kafka.Consumer) -> Iterator[int]:
    """The offsets of what comes within a while."""
    deadline = time.monotonic() + BACK_S
    while time.monotonic() < deadline:
        for message in consumer.consume(RECORDS, 0.1):
            assert message.error() is None, message.error()
            yield message.offset()


# With fakes


@pytest.fixture
def worker() -> Worker:
    return Worker("127.0.0.1:1", "worker")


class FakeConsumer:
    """Says what it is told to say."""

    def __init__(self) -> None:
        self.answers: list[list[Any]] = []
        self.lot: list[Any] = []
        self.assigned: list[tuple[int, int]] = []

    def consumer_group_metadata(self) -> bytes:
        return b"member"

    def committed(self, partitions: list[Any], wait_s: float) -> list[Any]:
        return self.answers.pop(0)

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned = [(each.partition, each.offset) for each in places]

    def consume(self, count: int, wait_s: float) -> list[Any]:
        return self.lot


def place(partition: int, offset: int, code: int | None = None) -> Any:
    error = None if code is None else KafkaError(code)
    return SimpleNamespace(
        topic=SOURCE, partition=partition, offset=offset, error=error
    )


def message(code: int | None = None) -> Any:
    return SimpleNamespace(error=lambda: None if code is None else KafkaError(code))


def test_worker_begins_where_its_group_is(worker: Worker) -> None:
    worker.consumer = consumer = FakeConsumer()
    consumer.answers = [[place(0, 7), place(1, confluent_kafka.OFFSET_INVALID)]]
    worker.assigned(consumer, [TopicPartition(SOURCE, 0), TopicPartition(SOURCE, 1)])
    assert consumer.assigned == [(0, 7), (1, 0)]


def test_worker_asks_again_for_a_place_in_doubt(worker: Worker) -> None:
    worker.consumer = consumer = FakeConsumer()
    unknown = place(
        0, confluent_kafka.OFFSET_INVALID, KafkaError.UNSTABLE_OFFSET_COMMIT
    )
    consumer.answers = [[unknown], [place(0, 7)]]
    worker.assigned(consumer, [TopicPartition(SOURCE, 0)])
    assert consumer.assigned == [(0, 7)]


def test_worker_copies_nothing_that_was_taken_away(worker: Worker) -> None:
    worker.consumer = consumer = FakeConsumer()
    consumer.lot = [message()]
    consumer.answers = [[place(0, 7)]]
    assert worker.lot() == []
    worker.assigned(consumer, [TopicPartition(SOURCE, 0)])
    assert worker.lot() == consumer.lot
    worker.revoked(consumer, [])
    assert worker.lot() == []


def test_worker_ends_when_its_place_is_not_in_the_log(worker: Worker) -> None:
    worker.consumer = consumer = FakeConsumer()
    consumer.lot = [message(KafkaError._AUTO_OFFSET_RESET)]
    with pytest.raises(KafkaException):
        worker.lot()


class FakeProducer:
    """Refuses to produce, as librdkafka does: the reason is told by the end only."""

    def __init__(self, refusal: int, reason: KafkaError) -> None:
        self._refusal, self._reason = KafkaError(refusal), reason

    def produce(self, *_: object) -> None:
        raise KafkaException(self._refusal)

    def commit_transaction(self, wait_s: float) -> None:
        raise KafkaException(self._reason)


@pytest.mark.parametrize("refusal", [KafkaError._FATAL, KafkaError._STATE])
def test_worker_learns_why_it_may_not_produce(worker: Worker, refusal: int) -> None:
    is_fatal = refusal == KafkaError._FATAL
    reason = KafkaError(
        KafkaError._FENCED, fatal=is_fatal, txn_requires_abort=not is_fatal
    )
    worker.producer = FakeProducer(refusal, reason)
    with pytest.raises(KafkaException) as caught:
        worker.produce(b"1", b"2")
    error = caught.value.args[0]
    assert (error.fatal(), error.txn_requires_abort()) == (is_fatal, not is_fatal)
