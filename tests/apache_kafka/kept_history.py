"""Producers, transactions and a group in a cluster, and what must be true of all of it.

Numbers are sent with idempotence; workers, a group, copy them in transactions; other
transactions are committed or aborted beside that. Every number that was acknowledged is
there once, in order, and so is its copy; of each transaction there is all or nothing.
"""

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Protocol

import confluent_kafka
from confluent_kafka import TopicPartition

from tests.client.live import wait_until
from tests.crash.exactly_once_worker import (
    END_AFTER_ABORT,
    GROUP,
    SOURCE,
    SOURCE_PARTITIONS,
    TARGET,
    TARGET_PARTITIONS,
    partition_of,
)
from tests.patience import PATIENCE_S

IN_FLIGHT_MAX = 5
KEYS = 24
WHOLE = "whole"
TOPICS = {SOURCE: SOURCE_PARTITIONS, TARGET: TARGET_PARTITIONS, WHOLE: 3}
# Else a client waits for seconds when its broker is long there again.
SOON_AGAIN = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    "retry.backoff.ms": 20,
    "log_level": 0,
}


class Sender:
    """Sends numbers from a thread, one after the other, until it is told to end."""

    def __init__(self, addresses: str) -> None:
        self.count = 0
        self.acknowledged = 0
        self.failed: list[str] = []
        self._producer = confluent_kafka.Producer(
            {
                **SOON_AGAIN,
                "bootstrap.servers": addresses,
                "enable.idempotence": True,
                "max.in.flight.requests.per.connection": IN_FLIGHT_MAX,
                "linger.ms": 1,
                "message.timeout.ms": 1000 * PATIENCE_S,
            }
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0
        assert self.failed == []

    def _send(self) -> None:
        while not self._is_over.is_set():
            key = self.count % KEYS
            self._producer.produce(
                SOURCE,
                b"%d" % self.count,
                b"%d" % key,
                partition_of(key, SOURCE_PARTITIONS),
                on_delivery=self._took,
            )
            self.count += 1
            self._producer.poll(0.005)
            while len(self._producer) > 200 and not self._is_over.is_set():
                self._producer.poll(0.05)

    def _took(self, error: object, _: confluent_kafka.Message) -> None:
        if error:
            self.failed.append(str(error))
        else:
            self.acknowledged += 1


class Transactions:
    """Transactions from a thread: each writes its number to every partition."""

    def __init__(self, addresses: str) -> None:
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        self._addresses = addresses
        self._is_over = threading.Event()
        self._failed: list[BaseException] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()
        if self._failed:
            raise self._failed[0]

    def _run(self) -> None:
        number = 0
        try:
            while not self._is_over.is_set():
                producer = self._producer()
                number = self._until_it_can_do_no_more(producer, number)
        except BaseException as error:
            self._failed.append(error)

    def _producer(self) -> confluent_kafka.Producer:
        producer = confluent_kafka.Producer(
            {
                **SOON_AGAIN,
                "bootstrap.servers": self._addresses,
                "transactional.id": "whole",
                "transaction.timeout.ms": 10_000,
                "message.timeout.ms": 10_000,
            }
        )
        _retried(lambda: producer.init_transactions(5))
        return producer

    def _until_it_can_do_no_more(
        self, producer: confluent_kafka.Producer, number: int
    ) -> int:
        while not self._is_over.is_set():
            number += 1
            wanted = self.aborted if number % 4 == 0 else self.committed
            try:
                producer.begin_transaction()
                for partition in range(TOPICS[WHOLE]):
                    producer.produce(WHOLE, b"%d" % number, partition=partition)
                if wanted is self.aborted:
                    if producer.flush(5):
                        return number  # what waits to be sent again stays out of use
                    _retried(lambda: producer.abort_transaction(5))
                else:
                    _retried(lambda: producer.commit_transaction(5))
                wanted.add(number)
            except confluent_kafka.KafkaException as error:
                # The next producer fences what is left of it. With this one numbers
                # of messages might be used again: see `exactly_once_worker`.
                if error.args[0].txn_requires_abort():
                    with contextlib.suppress(confluent_kafka.KafkaException):
                        _retried(lambda: producer.abort_transaction(5))
                return number
        return number


def _retried(action: object) -> None:
    while True:
        try:
            action()  # type: ignore[operator]
        except confluent_kafka.KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


class Workers:
    """Two processes that copy; one that has ended is started again.

    Whatever it could not go on with: what counts is what is copied in the end.
    """

    def __init__(self, addresses: str) -> None:
        self.ended = 0
        self._addresses = addresses
        self._processes = [self._start(number) for number in range(2)]

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        module = "tests.crash.exactly_once_worker"
        words = [sys.executable, "-m", module, self._addresses, f"worker-{number}"]
        words.append(END_AFTER_ABORT)
        return subprocess.Popen(words)

    def look(self) -> None:
        for number, process in enumerate(self._processes):
            if process.poll() is not None:
                self.ended += 1
                self._processes[number] = self._start(number)

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait(PATIENCE_S)


def copied_count(address: str) -> int:
    """How far the group is, over all partitions."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": address, "group.id": GROUP, "log_level": 0}
    )
    wanted = [TopicPartition(SOURCE, number) for number in range(SOURCE_PARTITIONS)]
    try:
        found = consumer.committed(wanted, timeout=PATIENCE_S)
    except confluent_kafka.KafkaException:
        return 0
    finally:
        consumer.close()
    return sum(max(each.offset, 0) for each in found if each.error is None)


def read(addresses: str, topic: str, partitions: int) -> list[list[int]]:
    """The numbers in each partition, by who reads only what is committed."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": addresses,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(topic, each, 0) for each in range(partitions)])
    found: list[list[int]] = [[] for _ in range(partitions)]
    ended: set[int | None] = set()
    deadline = time.monotonic() + PATIENCE_S
    with contextlib.closing(consumer):
        while len(ended) < partitions:
            assert time.monotonic() < deadline, f"{topic} has no end: {ended}"
            for each in consumer.consume(10_000, 0.05):
                error = each.error()
                if error is None:
                    found[each.partition()].append(int(each.value()))
                elif error.code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    ended.add(each.partition())
    return found


def check_numbers(found: Sequence[Sequence[int]], count: int) -> None:
    """All of them, each key in its order, none twice."""
    by_key: dict[int, list[int]] = {key: [] for key in range(KEYS)}
    for partition, numbers in enumerate(found):
        for number in numbers:
            key = number % KEYS
            assert partition == partition_of(key, len(found))
            by_key[key].append(number)
    for key, numbers in by_key.items():
        wanted = [*range(key, count, KEYS)]
        # By hand: pytest would list both in full, thousands of lines each.
        if numbers != wanted:
            raise AssertionError((len(found), key, *_difference(numbers, wanted)))


def _difference(found: Sequence[int], wanted: Sequence[int]) -> tuple[object, ...]:
    missing = sorted(set(wanted) - set(found))[:5]
    twice = sorted({each for each in found if found.count(each) > 1})[:5]
    return "missing", missing, "twice", twice, "out of order if there is none"


def check_transactions(found: Sequence[Sequence[int]], done: Transactions) -> None:
    first = found[0]
    assert first == sorted(set(first)), "twice, or out of order"
    for numbers in found:
        assert numbers == first, set(first) ^ set(numbers)
    assert done.committed <= set(first), sorted(done.committed - set(first))[:5]
    assert not done.aborted & set(first), sorted(done.aborted & set(first))[:5]


class Brokers(Protocol):
    """Those that this happens in."""

    @property
    def addresses(self) -> str: ...
    def create(self, name: str, partitions: int) -> None: ...
    def is_in_sync(self) -> bool: ...


def history(at: Brokers, troubles: Iterable[object]) -> None:
    """Have all of it happen while there is trouble, and see what is there then."""
    for name, partitions in TOPICS.items():
        at.create(name, partitions)
    sender, done = Sender(at.addresses), Transactions(at.addresses)
    workers = Workers(at.addresses)

    def wait_for_more() -> None:
        sent, whole = sender.acknowledged + 100, len(done.committed) + 2
        wait_until(
            lambda: sender.acknowledged > sent and len(done.committed) > whole,
            PATIENCE_S,
        )
        wait_until(at.is_in_sync, PATIENCE_S)
        workers.look()

    try:
        wait_for_more()
        for each in troubles:
            print(each, sender.count, len(done.committed), workers.ended, flush=True)
            wait_for_more()
        done.end()
        sender.end()
        wait_until_copied(at, sender.count, workers)
    finally:
        workers.close()
        for one in (done, sender):
            with contextlib.suppress(Exception):
                one.end()
    print("over", sender.count, len(done.committed), workers.ended, flush=True)
    for topic in (SOURCE, TARGET):
        check_numbers(read(at.addresses, topic, TOPICS[topic]), sender.count)
    check_transactions(read(at.addresses, WHOLE, TOPICS[WHOLE]), done)


def wait_until_copied(at: Brokers, count: int, workers: Workers) -> None:
    before, deadline = -1, 0.0
    while (copied := copied_count(at.addresses)) < count:
        workers.look()
        if copied > before:
            before, deadline = copied, time.monotonic() + PATIENCE_S
        assert time.monotonic() < deadline, f"stuck at {copied} of {count}"
        time.sleep(0.1)
