"""The commands of an operator on Apache Kafka."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.main import main
from odradek.client.batch_builder import ProducerIdentity
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.client.producer import DeliveryFailed, Producer
from odradek.client.topics import NewTopic, create_topic
from odradek.client.transaction_steps import (
    CommittedNote,
    TransactionName,
    commit_offsets_in_transaction,
    end_transaction,
    init_producer_id,
    transaction_name,
)
from odradek.client.transactional_producer import TransactionalProducer
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.node import KafkaNode
from tests.broker.cli.records.test_produce import typed
from tests.client.live import connected, produce, settle, wait_until
from tests.client.test_producer import records_in
from tests.sampling import sampled

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def cluster(lone_kafka: KafkaNode) -> Iterator[Cluster]:
    with connected(lone_kafka.port) as cluster:
        yield cluster


class Ours:
    """Runs commands against that broker."""

    def __init__(self, address: str, captured: Captured) -> None:
        self._address = address
        self._captured = captured
        self.error = ""

    def __call__(self, *arguments: str, code: int = 0) -> list[str]:
        assert main([*arguments, "--bootstrap-server", self._address]) == code
        captured = self._captured.readouterr()
        self.error = captured.err
        return captured.out.splitlines()

    def json(self, *arguments: str, code: int = 0) -> list[Any]:
        return [json.loads(line) for line in self(*arguments, "--json", code=code)]


@pytest.fixture
def ours(lone_kafka: KafkaNode, capsys: Captured) -> Ours:
    return Ours(lone_kafka.address, capsys)


def test_topics(ours: Ours, lone_kafka: KafkaNode) -> None:
    def listed() -> set[str]:
        return {each["topic"] for each in ours.json("topic", "list")}

    before = listed()
    (made,) = ours.json("topic", "create", "t", "--partitions", "2")
    assert (made["created"], made["partitions"], made["replicationFactor"]) == (
        *(True, 2),
        1,
    )
    ours("topic", "create", "t", code=1)
    assert "t: TOPIC_ALREADY_EXISTS: " in ours.error
    ours("topic", "create", "u", "--config", "nope=1", code=1)
    assert "u: INVALID_CONFIG: " in ours.error
    ours("topic", "alter", "t", "--partitions", "3", "--config", "retention.ms=9000")
    lone_kafka.settle()
    (found,) = ours.json("topic", "describe", "t")
    assert found["topicId"] == made["topicId"]
    assert found["configs"] == {"retention.ms": "9000"}
    assert len(found["partitions"]) == 3
    assert found["partitions"][0]["inSync"] == [1]
    assert listed() - before == {"t"}
    assert ours("topic", "delete", "t") == ["t: deleted"]
    ours("topic", "delete", "t", code=1)
    assert "UNKNOWN_TOPIC_OR_PARTITION" in ours.error


def test_where_the_log_of_a_partition_ends(ours: Ours, cluster: Cluster) -> None:
    """What it has told for a moment only is no end: nothing is between."""
    create_topic(cluster, NewTopic("ends", 2))
    produce(cluster, "ends", 1, [1, 2, 3])
    (found,) = ours.json("topic", "describe", "ends")
    assert [
        (each["start"], each["end"], each["logEnd"]) for each in found["partitions"]
    ] == [(0, 0, 0), (0, 3, 3)]
    table = ours("topic", "describe", "ends")[-3:]
    assert table[0].split()[-4:] == ["START", "END", "LOG-END", "RECORDS"]
    assert [line.split()[-4:] for line in table[1:]] == [
        ["0", "0", "0", "0"],
        ["0", "3", "3", "3"],
    ]


def test_options(ours: Ours) -> None:
    ours("topic", "create", "c")
    change = ("--set", "retention.ms=5000", "--append", "cleanup.policy=compact")
    ours("config", "alter", "topic", "c", *change, "--dry-run")
    ours("config", "alter", "topic", "c", *change)

    def described() -> dict[str, Any]:
        entries = ours.json("config", "describe", "topic", "c")
        return {each["name"]: each for each in entries}

    # A broker hears of it a moment after the controller has answered.
    wait_until(lambda: "retention.ms" in described())
    found = described()
    assert found["retention.ms"]["value"] == "5000"
    assert found["cleanup.policy"]["value"] == "delete,compact"
    assert found["cleanup.policy"]["source"] == "DYNAMIC_TOPIC_CONFIG"
    ours("config", "alter", "broker", "1", "--set", "log.cleaner.threads=2")
    one = ("config", "describe", "broker", "1", "--option", "log.cleaner.threads")
    wait_until(lambda: ours.json(*one)[0]["value"] == "2")
    assert ours.json(*one)[0]["source"] == "DYNAMIC_BROKER_CONFIG"
    ours("config", "alter", "topic", "c", "--set", "retention.ms=x", code=1)
    assert "INVALID_CONFIG" in ours.error


@pytest.mark.parametrize(
    "codec", sampled(["none", "gzip", "snappy", "lz4", "zstd"], "lz4")
)
def test_records_there_and_back(ours: Ours, tmp_path: Path, codec: str) -> None:
    topic = f"records-{codec}"
    ours("topic", "create", topic, "--partitions", "2")
    lines = b"".join(b"k%d:%d\n" % (number % 10, number) for number in range(1000))
    with typed(tmp_path, lines):
        assert ours("produce", topic, "-K:", "-H", "a=b", "-z", codec) == [
            f"{topic}: 1000 records written"
        ]
    found = ours.json("consume", topic, "-e")
    assert sorted(int(each["value"]) for each in found) == list(range(1000))
    assert all(each["headers"] == [["a", "b"]] for each in found)
    last = ours("consume", f"{topic}:0", "-o", "-2", "-f", r"%p %k %S\n", "-e")
    assert len(last) == 2
    deleted = ours("topic", "delete-records", f"{topic}:0", "--before", "5")
    assert deleted[1].split() == [topic, "0", "5"]


def test_consuming_in_a_group(ours: Ours, cluster: Cluster, tmp_path: Path) -> None:
    ours("topic", "create", "grouped", "--partitions", "3")
    lines = b"".join(b"k%d:%d\n" % (number, number) for number in range(100))
    with typed(tmp_path, lines):
        ours("produce", "grouped", "-K:")
    consume = ("consume", "grouped", "--group", "reading")
    first = ours(*consume, "-c", "30")
    rest = ours(*consume, "-e")
    assert sorted(map(int, first + rest)) == list(range(100))
    assert len(first) == 30
    found = committed_offsets(cluster, "reading")
    assert sum(each.offset for each in found.values()) == 100
    (described,) = ours.json("group", "describe", "reading", "--state")
    assert described["state"] == "Empty"


def test_a_topic_is_made_when_it_is_named(ours: Ours, tmp_path: Path) -> None:
    with typed(tmp_path, b"hello\n"):
        ours("produce", "never-named")
    assert ours("consume", "never-named", "-e") == ["hello"]


def test_a_transaction_from_the_command_line(
    ours: Ours, cluster: Cluster, tmp_path: Path
) -> None:
    ours("topic", "create", "tx")
    given = ("produce", "tx", "--transaction", "tx-1", "--json-lines")
    with typed(tmp_path, b'{"value": "1"}\n{"bad": 1}\n'):
        ours(*given, code=1)
    with typed(tmp_path, b'{"value": "2"}\n{"value": "3"}\n'):
        ours(*given)
    settle(cluster, "tx")
    assert ours("consume", "tx", "-e") == ["2", "3"]


def test_throughput_and_health(ours: Ours) -> None:
    produced, consumed = ours.json("bench", "--records", "5000", "--size", "100")
    assert produced["records"] == consumed["records"] >= 5000
    *lines, verdict = ours("doctor")
    assert verdict == "all is well"
    assert all(line.startswith("ok") for line in lines)
    assert "Produce 0-" in lines[2]


def test_the_protocol_of_transactions_is_the_one_agreed_on(cluster: Cluster) -> None:
    assert transaction_name(cluster, "x").is_implicit


@pytest.mark.parametrize("is_implicit", [True, False], ids=["implicit", "explicit"])
def test_steps_of_a_transaction(cluster: Cluster, is_implicit: bool) -> None:
    """As the loader shares them out between a driver and its tasks."""
    topic, group = f"steps-{is_implicit}", f"group-{is_implicit}"
    create_topic(cluster, NewTopic(topic, 2))
    place = TopicPartition(topic, 0)
    name = TransactionName(topic, is_implicit)

    def write(identity: ProducerIdentity, value: bytes) -> None:
        with Producer(cluster, transaction=name, identity=identity) as producer:
            for number in 0, 1:
                producer.send(topic, NewRecord(None, value, 0), number)

    first = init_producer_id(cluster, name)
    write(first, b"one")
    note = {place: CommittedNote(1, "note")}
    commit_offsets_in_transaction(cluster, name, first, group, note)
    following = end_transaction(cluster, name, first, commit=True)
    assert (following != first) == is_implicit
    following = init_producer_id(cluster, name, known=following)
    write(following, b"late")
    aborted = init_producer_id(cluster, name, known=following)
    with pytest.raises(DeliveryFailed):
        write(following, b"too late")
    write(aborted, b"two")
    end_transaction(cluster, name, aborted, commit=True)
    settle(cluster, topic)
    found = [each.value for each in records_in(cluster, topic, 0)]
    assert found == [b"one", b"two"]
    wait_until(lambda: place in committed_offsets(cluster, group))
    assert committed_offsets(cluster, group)[place][::2] == (1, "note")


@pytest.mark.parametrize("level", [1, 2])
def test_a_transactional_producer(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, level: int
) -> None:
    monkeypatch.setattr(Cluster, "features", lambda _: {"transaction.version": level})
    topic = f"turns-{level}"
    create_topic(cluster, NewTopic(topic))
    with TransactionalProducer(cluster, topic) as producer:
        for turn in range(6):
            producer.begin()
            for number in range(10):
                value = b"%d-%d" % (turn, number)
                producer.send(topic, NewRecord(None, value, 0))
            if turn % 2:
                producer.abort()
            else:
                producer.commit()
    settle(cluster, topic)
    expected = [b"%d-%d" % (turn, n) for turn in (0, 2, 4) for n in range(10)]
    assert [each.value for each in records_in(cluster, topic, 0)] == expected
