"""Records are copied from topic to topic exactly once, whoever is killed meanwhile.

Workers are a consumer group of processes (`exactly_once_worker`); they and the broker
are killed, and workers are frozen until others have their partitions. What must hold,
by who reads only what is committed: every record is there once, those of a key are in
order, and in the end no transaction is open anywhere.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin

from tests.broker_process import BrokerProcess, running_broker
from tests.clients.questions import committed, ends
from tests.crash.exactly_once_worker import (
    GROUP,
    OVER,
    SOURCE,
    SOURCE_PARTITIONS,
    TARGET,
    TARGET_PARTITIONS,
    TRANSACTION_MS,
    partition_of,
)
from tests.patience import PATIENCE_S

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
RECORDS = 100_000 if IS_LONG else 4_000
KILLS = 20 if IS_LONG else 2  # of the broker, and as many of workers
FREEZES = 5 if IS_LONG else 1
WORKERS = 3
KEYS = 120
SEED = int(os.environ.get("ODRADEK_SEED", "1"))
OPTIONS = (
    *("-o", "group.min.session.timeout.ms=500"),
    *("-o", "transaction.abort.timed.out.transaction.cleanup.interval.ms=200"),
)


class Workers:
    """The processes, and what is done to them."""

    def __init__(self, broker: BrokerProcess, chance: random.Random) -> None:
        self.fenced = 0
        self._broker = broker
        self._chance = chance
        self._names = [f"worker-{number}" for number in range(WORKERS)]
        self._processes = [self._start(name) for name in self._names]

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        module = "tests.crash.exactly_once_worker"
        command = [sys.executable, "-m", module, self._broker.address, name]
        return subprocess.Popen(command)

    def kill(self) -> None:
        """Kill one. The next has its name, and fences it, or has to wait for it."""
        number = self._chance.randrange(WORKERS)
        process = self._processes[number]
        process.kill()
        process.wait(PATIENCE_S)
        if self._chance.random() < 0.5:
            self._names[number] += "'"
        self._processes[number] = self._start(self._names[number])

    def freeze(self) -> None:
        """Let one be taken for dead by all, its transaction ended, and wake up."""
        process = self._chance.choice(self._processes)
        process.send_signal(signal.SIGSTOP)
        time.sleep((TRANSACTION_MS + 500) / 1000)
        process.send_signal(signal.SIGCONT)

    def replace_fenced(self) -> None:
        """Who finds itself fenced ends, and is started again, as users do."""
        for number, process in enumerate(self._processes):
            if process.poll() is not None:
                assert process.returncode == OVER, process.returncode
                self.fenced += 1
                self._processes[number] = self._start(self._names[number])

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait(PATIENCE_S)


def create_topics(address: str) -> None:
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": address})
    partitions = {SOURCE: SOURCE_PARTITIONS, TARGET: TARGET_PARTITIONS}
    wanted = [
        confluent_kafka.admin.NewTopic(name, count, 1)
        for name, count in partitions.items()
    ]
    for created in admin.create_topics(wanted).values():
        created.result(PATIENCE_S)


def fill(address: str) -> None:
    """Numbers, in the order of which each key has its own."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "enable.idempotence": True}
    )
    for number in range(RECORDS):
        key = number % KEYS
        partition = partition_of(key, SOURCE_PARTITIONS)
        producer.produce(SOURCE, b"%d" % number, b"%d" % key, partition)
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0


def torture(broker: BrokerProcess, workers: Workers, chance: random.Random) -> None:
    """Do every harm, spread over the whole of the work."""

    def restart() -> None:
        broker.kill()
        broker.start()

    harms = [restart, workers.kill] * KILLS + [workers.freeze] * FREEZES
    chance.shuffle(harms)
    for number, harm in enumerate(harms):
        wait_until_copied(broker, workers, RECORDS * number // len(harms))
        time.sleep(chance.random() / 20)
        harm()
    wait_until_copied(broker, workers, RECORDS)


def wait_until_copied(broker: BrokerProcess, workers: Workers, count: int) -> None:
    before, deadline = -1, 0.0
    while (done := sum(committed(broker, GROUP, SOURCE).values())) < count:
        workers.replace_fenced()
        if done > before:
            before, deadline = done, time.monotonic() + PATIENCE_S
        assert time.monotonic() < deadline, f"stuck at {done} of {count}"
        time.sleep(0.02)


def wait_until_decided(broker: BrokerProcess) -> None:
    """Until no partition of any topic has a transaction open."""
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.address})
    topics = admin.list_topics(timeout=PATIENCE_S).topics
    assert {SOURCE, TARGET, "__consumer_offsets"} <= topics.keys()
    deadline = time.monotonic() + PATIENCE_S
    for topic, described in topics.items():
        for partition in described.partitions:
            while len({*(both := ends(broker, topic, partition))}) > 1:
                assert time.monotonic() < deadline, (topic, partition, both)
                time.sleep(0.05)


def read(address: str, isolation: str) -> Iterator[confluent_kafka.Message]:
    """All of the target, each partition in its order."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    partitions = range(TARGET_PARTITIONS)
    consumer.assign(
        [confluent_kafka.TopicPartition(TARGET, each, 0) for each in partitions]
    )
    ended: set[int | None] = set()
    with contextlib.closing(consumer):
        while len(ended) < TARGET_PARTITIONS:
            for message in consumer.consume(10_000, 0.05):
                if message.error() is None:
                    yield message
                else:
                    end = confluent_kafka.KafkaError._PARTITION_EOF
                    assert message.error().code() == end, message.error()
                    ended.add(message.partition())


def test_every_record_is_copied_exactly_once(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    begun = time.monotonic()
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        create_topics(broker.address)
        fill(broker.address)
        workers = Workers(broker, chance)
        try:
            torture(broker, workers, chance)
        finally:
            workers.close()
        copied = time.monotonic()
        wait_until_decided(broker)
        decided = time.monotonic()
        numbers: dict[int, list[int]] = {key: [] for key in range(KEYS)}
        for message in read(broker.address, "read_committed"):
            key = int(message.key())
            assert message.partition() == partition_of(key, TARGET_PARTITIONS)
            numbers[key].append(int(message.value()))
        for key, found in numbers.items():
            assert found == list(range(key, RECORDS, KEYS)), key
        written = Counter(
            message.value() for message in read(broker.address, "read_uncommitted")
        )
        print(
            f"copied in {copied - begun:.1f} s, decided {decided - copied:.1f} s later,"
            f" {written.total() - RECORDS} records aborted, {workers.fenced} fenced"
        )
        assert "Traceback" not in broker.log()
