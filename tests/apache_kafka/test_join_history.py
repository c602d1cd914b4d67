"""Two brokers of odradek and one of Apache Kafka have a copy each, and get in trouble.

Who is killed is away at once; who is stopped for longer than its session thinks that it
still leads when it goes on. Nothing that was acknowledged is lost, none is there twice,
and the order is that in which it was sent.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import TopicPartition

from tests.apache_kafka.node import running_kafka
from tests.apache_kafka.test_join import OPTIONS, US, Joined, create, in_sync
from tests.broker_process import BrokerProcess
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

KAFKA, THIRD = 1, 3
TROUBLES = 20
SESSION_S = 6.0  # of OPTIONS


class Sender:
    """Sends one number after the other from a thread, and knows what was kept."""

    def __init__(self, addresses: str, topic: str) -> None:
        self.acknowledged: list[int] = []
        self.failed: list[int] = []
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": addresses,
                "enable.idempotence": True,
                "linger.ms": 1,
                "message.timeout.ms": 1000 * PATIENCE_S,
            }
        )
        self._topic = topic
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def wait_for_more(self, count: int) -> None:
        """Until so many more are kept."""
        target = len(self.acknowledged) + count
        wait_until(lambda: len(self.acknowledged) >= target, PATIENCE_S)

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0

    def _send(self) -> None:
        number = 0
        while not self._is_over.is_set():
            self._producer.produce(
                self._topic, str(number).encode(), on_delivery=self._took
            )
            number += 1
            self._producer.poll(0.002)
            while len(self._producer) > 200 and not self._is_over.is_set():
                self._producer.poll(0.05)

    def _took(self, error: object, message: confluent_kafka.Message) -> None:
        number = int(message.value() or b"")
        (self.failed if error else self.acknowledged).append(number)


@pytest.fixture(scope="module")
def three(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Joined, BrokerProcess]]:
    root = tmp_path_factory.mktemp("three")
    with running_kafka(root, OPTIONS) as kafka:
        joined = Joined(root, kafka)
        third = joined.broker(root / "third", node_id=str(THIRD))
        joined.ours.start()
        third.start()
        try:
            yield joined, third
        finally:
            joined.ours.kill()
            third.kill()
        for each in (joined.ours, third):
            assert "Traceback" not in each.log()


def kill(broker: BrokerProcess) -> None:
    broker.kill()
    broker.start()


def stop(broker: BrokerProcess) -> None:
    broker.terminate()
    broker.start()


def pause(broker: BrokerProcess) -> None:
    assert broker.process is not None
    os.kill(broker.process.pid, signal.SIGSTOP)
    time.sleep(SESSION_S + 2)
    os.kill(broker.process.pid, signal.SIGCONT)


Trouble = Callable[[BrokerProcess], None]


def history(
    three: tuple[Joined, BrokerProcess],
    name: str,
    leader: int,
    troubles: list[tuple[Trouble, int]],
) -> None:
    """Make trouble while numbers are sent, and see what is there of them."""
    joined, third = three
    brokers = {US: joined.ours, THIRD: third}
    others = [each for each in (US, THIRD, KAFKA) if each != leader]
    create(joined, name, leader, *others, min_insync_replicas="2")
    addresses = ",".join(each.address for each in (joined.kafka, joined.ours, third))
    sender = Sender(addresses, name)
    try:
        for trouble, node_id in troubles:
            sender.wait_for_more(200)
            trouble(brokers[node_id])
            wait_until(
                lambda: in_sync(joined, name)[1] == {KAFKA, US, THIRD}, PATIENCE_S
            )
        sender.wait_for_more(200)
    finally:
        sender.end()
    assert sender.failed == []
    for broker in (joined.kafka, joined.ours, third):
        found = all_of(broker.address, name)
        assert found == sorted(set(found)), "twice, or out of order"
        assert set(sender.acknowledged) <= set(found)
    # The copies have no byte more or less than each other.
    directories = (joined.kafka.data_dir, joined.ours.data_dir, third.data_dir)
    wait_until(lambda: len({data_of(each, name) for each in directories}) == 1)


def all_of(address: str, name: str) -> list[int]:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "checkers",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(name, 0, 0)])
    found: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for each in consumer.consume(1000, timeout=1):
            if each.error() is None:
                found.append(int(each.value() or b""))
            elif each.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                consumer.close()
                return found
    raise AssertionError(f"{len(found)} records, and no end")


def data_of(directory: Path, name: str) -> bytes:
    files = sorted((directory / f"{name}-0").glob("*.log"))
    return b"".join(each.read_bytes() for each in files)


@pytest.mark.long
def test_a_leader_sleeps_longer_than_its_session(
    three: tuple[Joined, BrokerProcess],
) -> None:
    history(three, "history", US, [(pause, US)])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_many_troubles(three: tuple[Joined, BrokerProcess], seed: int) -> None:
    chance = random.Random(seed)
    troubles = [
        (chance.choice((kill, kill, stop, pause)), chance.choice((US, THIRD)))
        for _ in range(TROUBLES)
    ]
    leader = chance.choice((US, THIRD, KAFKA))
    history(three, f"history-{seed}", leader, troubles)
