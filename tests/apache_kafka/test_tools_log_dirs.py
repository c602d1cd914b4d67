"""A partition moves to another log directory by Apache Kafka's own tool.

The tool prints what it prints of Apache Kafka. That takes another start of one, which
is only worth it where time does not matter; else two of ours are compared.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from tests.apache_kafka.both_brokers import SERVER, BothBrokers
from tests.apache_kafka.java_client import Broker, JavaClient
from tests.apache_kafka.node import running_kafka
from tests.broker_process import running_broker
from tests.patience import PATIENCE_S

TOOLS = "org.apache.kafka.tools"
THERE = ("--bootstrap-server", SERVER)
TOPIC = "moved"
COUNT = 2000


@pytest.fixture
def two_each(java: JavaClient, tmp_path: Path) -> Iterator[BothBrokers]:
    """Both brokers, or twice ours, with two log directories each."""
    theirs, mine = (
        ",".join(str(tmp_path / name / each) for each in ("one", "two"))
        for name in ("kafka", "ours")
    )
    with contextlib.ExitStack() as brokers:
        kafka: Broker
        if os.environ.get("ODRADEK_LONG"):
            options = {"log.dirs": theirs}
            kafka = brokers.enter_context(running_kafka(tmp_path, options))
        else:
            other = running_broker(tmp_path / "other", "--data-dir", theirs)
            kafka = brokers.enter_context(other)
        started = running_broker(tmp_path / "data", "--data-dir", mine)
        ours = brokers.enter_context(started)
        yield BothBrokers(java, kafka, ours)
        assert "Traceback" not in ours.log()


def test_a_partition_is_moved(two_each: BothBrokers, tmp_path: Path) -> None:
    both = two_each
    topic = ("--topic", TOPIC, "--partitions", "1")
    both.same(f"{TOOLS}.TopicCommand", *THERE, "--create", *topic)
    for broker in (both.kafka, both.ours):
        _produce(broker.address)
    homes = [_homes(broker_lines) for broker_lines in _described(both)]
    assert [len(each) for each in homes] == [1, 1]
    plans = []
    for name, (home,) in zip(("kafka", "ours"), homes, strict=True):
        other = home.with_name("two" if home.name == "one" else "one")
        plans.append((tmp_path / f"{name}.json", home, other))
        plans[-1][0].write_text(json.dumps(_plan(other)))
    printed = [_reassign(both, number, plans, "--execute") for number in (0, 1)]
    assert printed[0] == printed[1], printed
    started = "Successfully started moving log directory to OTHER for replica moved-0"
    assert printed[0][-1] == f"{started} with broker 1"
    done = [_wait_until_done(both, number, plans) for number in (0, 1)]
    assert done[0] == done[1]
    assert any("completed successfully" in line for line in done[0]), done[0]
    found = [_homes(broker_lines) for broker_lines in _described(both)]
    assert found == [[other] for _, _, other in plans]
    sizes = [
        (other / f"{TOPIC}-0" / f"{0:020d}.log").stat().st_size for *_, other in plans
    ]
    assert min(sizes) > COUNT * 10
    for broker in (both.kafka, both.ours):
        assert _read(broker.address) == [b"%d" % each for each in range(COUNT)]
    for path, _, _ in plans:
        path.write_text(json.dumps(_plan(Path("/nowhere"))))
    refused = [_reassign(both, number, plans, "--execute") for number in (0, 1)]
    assert refused[0][-1] == refused[1][-1]
    assert "Failed to alter dir for moved-0-1" in refused[0][-1]


def _plan(directory: Path) -> dict[str, Any]:
    wanted = {
        "topic": TOPIC,
        "partition": 0,
        "replicas": [1],
        "log_dirs": [str(directory)],
    }
    return {"version": 1, "partitions": [wanted]}


def _reassign(
    both: BothBrokers, number: int, plans: list[tuple[Path, Path, Path]], *words: str
) -> list[str]:
    """What the tool prints of one of the brokers, directories by their names."""
    path, home, other = plans[number]
    tool = f"{TOOLS}.reassign.ReassignPartitionsCommand"
    given = (*THERE, "--reassignment-json-file", str(path), *words)
    broker = (both.kafka, both.ours)[number]
    printed = both._run(broker, tool, given, None)
    return [
        line.replace(str(home), "HOME").replace(str(other), "OTHER")
        for line in printed.lines
    ]


def _wait_until_done(
    both: BothBrokers, number: int, plans: list[tuple[Path, Path, Path]]
) -> list[str]:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        lines = _reassign(both, number, plans, "--verify")
        if not any("in progress" in line for line in lines):
            return lines
        assert time.monotonic() < deadline, lines
        time.sleep(0.2)


def _described(both: BothBrokers) -> list[list[str]]:
    tool = f"{TOOLS}.LogDirsCommand"
    ask = (*THERE, "--describe", "--topic-list", TOPIC)
    return [printed.lines for printed in both.run(tool, *ask)]


def _homes(lines: list[str]) -> list[Path]:
    """The directories that have the partition; none of them for a copy."""
    [broker] = json.loads(lines[-1])["brokers"]
    found = [each for each in broker["logDirs"] if each["partitions"]]
    for each in found:
        (partition,) = each["partitions"]
        assert not partition["isFuture"]
        assert partition["offsetLag"] == 0
    return [Path(each["logDir"]) for each in found]


def _produce(address: str) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": address, "linger.ms": 5})
    for number in range(COUNT):
        producer.produce(TOPIC, b"%d" % number)
    assert producer.flush(PATIENCE_S) == 0


def _read(address: str) -> list[bytes | None]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": address, "group.id": "g", "enable.auto.commit": False}
    )
    beginning = confluent_kafka.OFFSET_BEGINNING
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, beginning)])
    try:
        return [each.value() for each in consumer.consume(COUNT, PATIENCE_S)]
    finally:
        consumer.close()
