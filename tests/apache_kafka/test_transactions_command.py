"""Apache Kafka's tool for transactions, on odradek and on Apache Kafka."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.client.transactions import describe_transaction
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.java_client import Broker, JavaClient, JavaFailure
from tests.apache_kafka.node import KafkaNode, running_kafka
from tests.apache_kafka.test_groups import create_topic
from tests.broker_process import running_broker
from tests.client.live import connected
from tests.fakes.transaction_errors import Fatal
from tests.fakes.transactional_client import FIRST, SECOND, TransactionalClient
from tests.patience import PATIENCE_S

TOOL = "org.apache.kafka.tools.TransactionsCommand"
# So that a transaction can be made of which the coordinator never heard.
OPTIONS = {"transaction.partition.verification.enable": "false"}
ZERO, ONE, TWO = (TopicPartition("t", number) for number in range(3))


@pytest.fixture(
    params=["odradek", pytest.param("apache-kafka", marks=pytest.mark.long)]
)
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    if request.param == "apache-kafka":
        with running_kafka(tmp_path, OPTIONS) as kafka:
            yield kafka
    else:
        options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
        with running_broker(tmp_path / "data", *options) as process:
            yield process
            assert "Traceback" not in process.log()


class Tool(NamedTuple):
    """Apache Kafka's tool for transactions, asking a broker."""

    java: JavaClient
    broker: Broker

    def __call__(self, *arguments: str) -> list[dict[str, str]]:
        """The rows of what it prints, by column."""
        where = ("--bootstrap-server", self.broker.address)
        lines = self.java.tool(TOOL, *where, *arguments).splitlines()
        head, *rows = [line.split() for line in lines] or [[]]
        return [dict(zip(head, row, strict=True)) for row in rows]


async def test_what_is_open_is_told_and_ended(broker: Broker, java: JavaClient) -> None:
    tool = Tool(java, broker)
    create_topic(broker, "t")
    open_one = TransactionalClient(broker.address, "open-one", protocol=SECOND)
    done = TransactionalClient(broker.address, "done", protocol=FIRST)
    for producer in (open_one, done):
        await producer.start()
        await producer.send({ZERO: [b"1", b"2"], ONE: [b"3"]})
    await done.commit()
    until_complete(broker, "done")
    assert by_id(tool("list")) == {
        "open-one": ["1", str(open_one.producer_id), "Ongoing"],
        "done": ["1", str(done.producer_id), "CompleteCommit"],
    }
    assert list(by_id(tool("list", "--transactional-id-pattern", "do.*"))) == ["done"]
    assert tool("list", "--duration-filter", "600000") == []
    [described] = tool("describe", "--transactional-id", "open-one")
    assert set(described.pop("TopicPartitions").split(",")) == {"t-0", "t-1"}
    assert int(described.pop("CurrentTransactionStartTimeMs")) > 0
    assert int(described.pop("TransactionDurationMs")) >= 0
    assert described == {
        "CoordinatorId": "1",
        "TransactionalId": "open-one",
        "ProducerId": str(open_one.producer_id),
        "ProducerEpoch": str(open_one.epoch),
        "TransactionState": "Ongoing",
        "TransactionTimeoutMs": "60000",
    }
    with pytest.raises(JavaFailure, match="could not be found"):
        tool("describe", "--transactional-id", "nobody")
    producers = {row["ProducerId"]: row for row in producers_of(tool, ZERO)}
    mine = producers[str(open_one.producer_id)]
    assert int(mine.pop("LastTimestamp")) > 0
    assert mine == {
        "ProducerId": str(open_one.producer_id),
        "ProducerEpoch": str(open_one.epoch),
        "LatestCoordinatorEpoch": "-1",
        "LastSequence": "1",
        "CurrentTransactionStartOffset": "0",
    }
    other = producers[str(done.producer_id)]
    assert other["CurrentTransactionStartOffset"] == "None"
    assert other["LatestCoordinatorEpoch"] == "0"
    tool("forceTerminateTransaction", "--transactionalId", "open-one")
    assert by_id(tool("list"))["open-one"][2] == "Empty"
    with pytest.raises(Fatal):
        await open_one.commit()
    for producer in (open_one, done):
        await producer.close()


async def test_what_hangs_is_found_and_aborted(
    broker: Broker, java: JavaClient
) -> None:
    tool = Tool(java, broker)
    create_topic(broker, "t")
    owned = TransactionalClient(broker.address, "owned")
    await owned.start()
    await owned.send({ONE: [b"not hanging"]})
    lost = TransactionalClient(broker.address, "lost", protocol=FIRST)
    await lost.start()
    lost.added.add(TWO)  # which is not true
    await lost.send({TWO: [b"hanging"]})
    find = ("find-hanging", "--topic", "t", "--max-transaction-timeout", "0")
    [found] = tool(*find)
    assert int(found.pop("LastTimestamp")) > 0
    assert found == {
        "Topic": "t",
        "Partition": "2",
        "ProducerId": str(lost.producer_id),
        "ProducerEpoch": "0",
        "CoordinatorEpoch": "-1",
        "StartOffset": "0",
        "Duration(min)": "0",
    }
    tool("abort", "--topic", "t", "--partition", "2", "--start-offset", "0")
    assert tool(*find) == []
    [ended] = producers_of(tool, TWO)
    assert ended["CurrentTransactionStartOffset"] == "None"
    if not isinstance(broker, KafkaNode):
        with pytest.raises(JavaFailure):  # Apache Kafka would end it all the same
            tool("abort", "--topic", "t", "--partition", "1", "--start-offset", "0")
    await owned.commit()
    for producer in (owned, lost):
        await producer.close()


def until_complete(broker: Broker, transactional_id: str) -> None:
    """Return when its markers are written, which is after the answer to EndTxn."""
    deadline = time.monotonic() + PATIENCE_S
    with connected(broker.port) as cluster:
        while describe_transaction(cluster, transactional_id).state.startswith("Prep"):
            assert time.monotonic() < deadline


def by_id(rows: Sequence[dict[str, str]]) -> dict[str, list[str]]:
    """Of what "list" prints: coordinator, producer id and state."""
    names = ("Coordinator", "ProducerId", "TransactionState")
    return {row["TransactionalId"]: [row[name] for name in names] for row in rows}


def producers_of(tool: Tool, place: TopicPartition) -> list[dict[str, str]]:
    where = ("--topic", place.topic, "--partition", str(place.partition))
    return tool("describe-producers", *where)
