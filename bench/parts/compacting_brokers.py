"""Brokers that clean copies of a partition, while somebody produces or nobody does.

The copies are put into the directories of topics while the broker is down. The first
round of a JVM is slower than those that follow, so there are several, one by one.
"""

import os
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from compacted_logs import SEGMENT_BYTES, copy_segments, warm
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from peers import kafka
from processes import machine_busy_seconds
from producing import producing
from targets import Broker, Target, odradek

TOPIC, OTHER_TOPIC = "compacted", "acknowledged"
TIMEOUT_S = 300
CHECKPOINT = "cleaner-offset-checkpoint"
RATIO = "min.cleanable.dirty.ratio"
AT_ONCE, NEVER = "0.001", "1"
OPTIONS = {"log.cleaner.backoff.ms": "300", "log.cleaner.threads": "1"}
LOG4J = """<Configuration status="ERROR"><Appenders><Console name="c">
<PatternLayout pattern="%p %m%n"/></Console></Appenders><Loggers><Root level="INFO">
<AppenderRef ref="c"/></Root></Loggers></Configuration>"""
# What Kafka's cleaner logs of a round, over several lines.
CLEANED = re.compile(TOPIC + r"-\d+-0 .*?processed in ([\d,.]+) seconds", re.DOTALL)


class KafkaRound(NamedTuple):
    """Seconds as its log says them, CPU seconds of the process meanwhile."""

    wall_s: float
    cpu_s: float


def compacting_kafka(libs: Path, root: Path) -> Target:
    """Apache Kafka that looks for work all the time, and says what it did."""
    log4j = root / "log4j2.xml"
    log4j.write_text(LOG4J)
    target = kafka(libs, options=OPTIONS)
    java = f"java -Dlog4j2.configurationFile={shlex.quote(str(log4j))} "
    return replace(target, command=target.command.replace("java ", java, 1))


def compacting_odradek(durability: str) -> Target:
    target = odradek(durability)
    options = "".join(f" -o {name}={value}" for name, value in OPTIONS.items())
    return replace(target, command=target.command + options)


@contextmanager
def loaded(
    target: Target, root: Path, original: Path, copies: int, ratio: str
) -> Iterator[Broker]:
    """A broker with topics that are copies of a partition, and another one."""
    broker = Broker(target, root)
    try:
        broker.start()
        options = {
            "cleanup.policy": "compact",
            "segment.bytes": str(SEGMENT_BYTES),
            RATIO: ratio,
        }
        admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 2})
        topics = [NewTopic(name, 1, 1, config=options) for name in _names(copies)]
        topics.append(NewTopic(OTHER_TOPIC, 1, 1))
        for made in admin.create_topics(topics, operation_timeout=60).values():
            made.result()
        _write_one(broker, copies)  # a partition may have no directory before
        broker.stop()
        for name in _names(copies):
            directory = broker.data_dir / f"{name}-0"
            copy_segments(original, directory)
            warm(directory)
        broker.start()
        yield broker
    finally:
        broker.remove()


def _names(copies: int) -> list[str]:
    return [f"{TOPIC}-{number}" for number in range(copies)]


def _write_one(broker: Broker, copies: int) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "log_level": 2})
    for name in _names(copies):
        producer.produce(name, b"value", b"key", partition=0)
    assert producer.flush(30) == 0


def clean_with_kafka(
    libs: Path, root: Path, original: Path, copies: int
) -> list[KafkaRound]:
    """A round over each of so many copies."""
    target = compacting_kafka(libs, root)
    with loaded(target, root, original, copies, AT_ONCE) as broker:
        output = broker.data_dir.with_name(f"{broker.data_dir.name}.out")
        rounds: list[KafkaRound] = []
        deadline = time.monotonic() + TIMEOUT_S
        cpu = broker.cpu_seconds()
        while len(rounds) < copies:
            assert time.monotonic() < deadline, output.read_text()[-4000:]
            time.sleep(0.02)
            now = broker.cpu_seconds()
            found = CLEANED.findall(output.read_text())
            for seconds in found[len(rounds) :]:
                wall_s = float(seconds.replace(",", ""))
                rounds.append(KafkaRound(wall_s, now - cpu))
                cpu = now
        return rounds


class Acks(NamedTuple):
    """Seconds of acknowledgements, sorted; and what the rest of the machine did.

    ``others`` is in cores, without the broker, its cleaning and the producer.
    """

    without: list[float]
    during: list[float]
    others: float


def acks_beside_rounds(
    target: Target, root: Path, original: Path, copies: int, quiet_s: float
) -> Acks:
    """In turn so long without a round, and during one, for each of the copies."""
    without: list[float] = []
    during: list[float] = []
    with (
        loaded(target, root, original, copies, NEVER) as broker,
        producing(broker, OTHER_TOPIC) as took,
    ):
        time.sleep(1)
        began, busy = time.perf_counter(), machine_busy_seconds()
        ours = _own_seconds(broker)
        for name in _names(copies):
            _wait(took, quiet_s)
            without += took
            took.clear()
            _clean_at_once(broker, name)
            took.clear()
            deadline = time.monotonic() + TIMEOUT_S
            while not _is_cleaned(broker.data_dir, name):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            during += took
        busy = machine_busy_seconds() - busy - (_own_seconds(broker) - ours)
        others = max(0.0, busy) / (time.perf_counter() - began)
    return Acks(sorted(without), sorted(during), others)


def _wait(took: list[float], seconds: float) -> None:
    """After a pause in which what the last round has left is over."""
    time.sleep(0.3)
    took.clear()
    time.sleep(seconds)


def _own_seconds(broker: Broker) -> float:
    """CPU time of the broker, what it has started, and the producer."""
    return broker.cpu_seconds() + sum(os.times()[:2])


def _clean_at_once(broker: Broker, name: str) -> None:
    entry = ConfigEntry(RATIO, AT_ONCE, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 2})
    admin.incremental_alter_configs([resource])[resource].result()


def _is_cleaned(data_dir: Path, name: str) -> bool:
    """Whether the checkpoint knows it to be clean."""
    path = data_dir / CHECKPOINT
    if not path.exists():
        return False
    lines = [line.split() for line in path.read_text().splitlines()]
    return any(words[0] == name and words[2] != "0" for words in lines if words[2:])
