"""What our coordinator wrote, in the hands of Apache Kafka: dumped, and completed."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Set
from pathlib import Path
from typing import NamedTuple

import confluent_kafka
import pytest

from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.client.group_offsets import committed_offsets
from odradek.protocol.record_batch import scan
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.java_client import Broker, JavaClient
from tests.apache_kafka.node import KafkaNode, running_kafka
from tests.apache_kafka.test_groups import create_topic
from tests.apache_kafka.test_kafka_reads_our_files import COMPLAINTS, DUMP_TOOL
from tests.apache_kafka.test_transactions_command import until_complete
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected
from tests.fakes.transactional_client import FIRST, SECOND, TransactionalClient
from tests.patience import PATIENCE_S
from tests.sampling import sampled

OPTIONS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}
# So that a transaction that takes too long is soon aborted.
SOON = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}
DECODERS = {
    "__transaction_state-0": ["--transaction-log-decoder"],
    "__consumer_offsets-0": ["--offsets-decoder"],
}
PLACES = [TopicPartition("t", number) for number in range(4)]


class State(NamedTuple):
    """A record of a transactional id."""

    transactional_id: str
    name: str
    epoch: int
    version: int
    partitions: Set[str]


@pytest.fixture(
    params=["odradek", pytest.param("apache-kafka", marks=pytest.mark.long)]
)
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    if request.param == "apache-kafka":
        with running_kafka(tmp_path) as kafka:
            yield kafka
    else:
        options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
        with running_broker(tmp_path / "kafka-data", *options) as process:
            yield process
            assert "Traceback" not in process.log()


@pytest.mark.parametrize("protocol", sampled([FIRST, SECOND], SECOND))
async def test_the_dump_tool_tells_the_story(
    broker: Broker, java: JavaClient, tmp_path: Path, protocol: int
) -> None:
    create_topic(broker, "t")
    client = TransactionalClient(broker.address, "one", protocol=protocol)
    await client.start()
    await client.send({PLACES[0]: [b"1", b"2"], PLACES[1]: [b"3"]})
    await client.send_offsets("g", {PLACES[0]: 5})
    await client.commit()
    until_complete(broker, "one")
    await client.send({PLACES[0]: [b"4"]})
    await client.abort()
    until_complete(broker, "one")
    await client.start()
    await client.send({PLACES[2]: [b"open"]})
    await client.close()
    dumped = dump(java, tmp_path / "kafka-data")
    bump, version = (1, 2) if protocol == SECOND else (0, 0)
    both, all_three = {"t-0", "t-1"}, {"t-0", "t-1", "__consumer_offsets-0"}
    assert states(dumped) == [
        State("one", "EMPTY", 0, 0, set()),
        State("one", "ONGOING", 0, version, both),
        State("one", "ONGOING", 0, version, all_three),
        State("one", "PREPARE_COMMIT", bump, version, all_three),
        State("one", "COMPLETE_COMMIT", bump, version, set()),
        State("one", "ONGOING", bump, version, {"t-0"}),
        State("one", "PREPARE_ABORT", 2 * bump, version, {"t-0"}),
        State("one", "COMPLETE_ABORT", 2 * bump, version, set()),
        State("one", "EMPTY", 2 * bump + 1, version, set()),
        State("one", "ONGOING", 2 * bump + 1, version, {"t-2"}),
    ]
    markers = re.findall(r"endTxnMarker: (\w+) coordinatorEpoch: 0", dumped)
    assert sorted(markers) == ["ABORT", "COMMIT", "COMMIT", "COMMIT"]
    assert re.findall(r"firstOffset: (\d+) lastOffset: (\d+) ", dumped) == [("3", "4")]


@pytest.mark.long
async def test_apache_kafka_ends_what_we_left(tmp_path: Path, java: JavaClient) -> None:
    """Killed with transactions that are open, and one that has to be committed."""
    node = KafkaNode(tmp_path, SOON)
    node.start()
    try:
        create_topic(node, "t")
        await transact(node, "seed", FIRST, PLACES[0])
        node.stop()
        patience = [f"-o{name}=3600000" for name in SOON]
        adopt(node.data_dir)
        with running_broker(node.data_dir, *patience) as ours:
            await leave_transactions(ours)
            ours.kill()
        forget_the_end(node.data_dir)
        last = {
            state.transactional_id: state.name
            for state in states(dump(java, node.data_dir))
        }
        assert [last[name] for name in ("open-1", "open-2")] == ["ONGOING", "ONGOING"]
        assert last["prepared"] == "PREPARE_COMMIT"
        start = len(node.log())
        node.start()
        for name in last:
            until_complete(node, name)
        until_stable(node)
        assert read(node)[0] == [
            [b"seed", b"kept-1", b"kept-2", b"prepared"],
            [],
            [],
            [b"prepared"],
        ]
        names = ("kept-1", "kept-2", "prepared", "dropped-1", "open-2")
        offsets = [offset_of_group(node, f"g-{name}") for name in names]
        assert offsets == [7, 7, 7, None, None]
        for name in ("open-1", "open-2", "prepared"):
            await transact(node, name, SECOND, PLACES[2])
        until_stable(node)
        assert read(node)[0][2] == [b"open-1", b"open-2", b"prepared"]
        assert not errors_about_logs(node.log()[start:])
    finally:
        node.kill()


def errors_about_logs(text: str) -> list[str]:
    """What logs and coordinators complain of. Others do, too, on a busy machine: a
    heartbeat of the broker to its own controller is late.
    """
    complaint = re.compile(r" ERROR .*\((\S+[.](log|storage|coordinator)[.]\S+)\)$")
    return [line for line in text.splitlines() if complaint.search(line)]


def test_complaints_about_logs_are_told_from_others() -> None:
    log = "org.apache.kafka.storage.internals.log.LogManager"
    ours = f"[2026-01-01 00:00:00,000] ERROR cannot read t-0 ({log})"
    other = "[2026-01-01 00:00:00,000] ERROR late (kafka.server.BrokerLifecycleManager)"
    info = f"[2026-01-01 00:00:00,000] INFO loaded t-0 ({log})"
    assert errors_about_logs(f"{ours}\n{other}\n{info}\n\tat x") == [ours]


def adopt(directory: Path) -> None:
    command = [sys.executable, "-m", "odradek", "adopt", str(directory)]
    subprocess.run(command, check=True, capture_output=True)


async def leave_transactions(broker: BrokerProcess) -> None:
    """Of both protocols: kept, dropped and open ones; the last one is kept."""
    for protocol in (FIRST, SECOND):
        await transact(broker, f"kept-{protocol}", protocol, PLACES[0])
        client = TransactionalClient(
            broker.address, f"dropped-{protocol}", protocol=protocol
        )
        await client.start()
        await client.send({PLACES[1]: [b"dropped"]})
        await client.send_offsets(f"g-{client.transactional_id}", {PLACES[0]: 8})
        await client.abort()
        await client.close()
        until_complete(broker, client.transactional_id)
        client = TransactionalClient(
            broker.address,
            f"open-{protocol}",
            protocol=protocol,
            transaction_timeout_ms=1000,
        )
        await client.start()
        await client.send({place: [b"open"] for place in PLACES[:2]})
        await client.send_offsets(f"g-{client.transactional_id}", {PLACES[0]: 9})
        await client.close()
    await transact(broker, "prepared", SECOND, PLACES[0], PLACES[3])


def forget_the_end(directory: Path) -> None:
    """The last transaction is as it is before its markers: it has to be committed."""
    for name in ("__transaction_state-0", "__consumer_offsets-0", "t-0", "t-3"):
        [path] = (directory / name).glob("*.log")
        last, _ = list(scan(path.read_bytes()))[-1]
        with path.open("r+b") as file:
            file.truncate(last)


async def transact(
    broker: Broker, name: str, protocol: int, *places: TopicPartition
) -> None:
    """Commit a transaction of this name, with the offset of its group."""
    client = TransactionalClient(broker.address, name, protocol=protocol)
    await client.start()
    await client.send({place: [name.encode()] for place in places})
    await client.send_offsets(f"g-{name}", {PLACES[0]: 7})
    await client.commit()
    until_complete(broker, name)
    await client.close()


def until_stable(broker: Broker) -> None:
    """Return when no transaction is open in any partition."""
    deadline = time.monotonic() + PATIENCE_S
    while read(broker)[1] != read(broker, committed=False)[1]:
        assert time.monotonic() < deadline


def read(
    broker: Broker, *, committed: bool = True
) -> tuple[list[list[bytes | None]], list[int]]:
    """All that can be read now, by partition, and the offsets at which that ends."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
    )
    found: list[list[bytes | None]] = [[] for _ in PLACES]
    ends: dict[int, int] = {}
    try:
        consumer.assign([confluent_kafka.TopicPartition(*each, 0) for each in PLACES])
        while len(ends) < len(PLACES):
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            error, offset, number = (
                message.error(),
                message.offset(),
                message.partition(),
            )
            assert offset is not None
            assert number is not None
            if error is None:
                found[number].append(message.value())
            else:
                assert error.code() == confluent_kafka.KafkaError._PARTITION_EOF
                ends[number] = offset
        return found, [ends[place.partition] for place in PLACES]
    finally:
        consumer.close()


def offset_of_group(broker: Broker, group_id: str) -> int | None:
    """What it has committed of partition 0, if anything."""
    with connected(broker.port) as cluster:
        found = committed_offsets(cluster, group_id).get(PLACES[0])
        return None if found is None else found.offset


def dump(java: JavaClient, directory: Path) -> str:
    """What the tool prints of all logs and their side files, without a complaint."""
    printed = ""
    for partition in sorted(directory.glob("*-[0-9]")):
        if partition.name == "__cluster_metadata-0":
            continue
        how = DECODERS.get(partition.name, [])
        for kind in ("log", "txnindex", "snapshot"):
            if paths := [str(path) for path in sorted(partition.glob(f"*.{kind}"))]:
                files = ("--deep-iteration", "--files", ",".join(paths))
                printed += java.tool(DUMP_TOOL, *how, *files)
            how = []
    lines = printed.splitlines()
    assert "isvalid: false" not in printed
    assert not [line for line in lines if any(word in line for word in COMPLAINTS)]
    return printed


def states(dumped: str) -> list[State]:
    """The records of ``__transaction_state``."""
    found = []
    for line in dumped.splitlines():
        if '"transactionalId"' in line:
            value = json.loads(line.partition("payload: ")[2])["data"]
            found.append(
                State(
                    re.findall(r'"transactionalId":"([^"]*)"', line)[0],
                    TransactionState(value["transactionStatus"]).name,
                    value["producerEpoch"],
                    value.get("clientTransactionVersion", 0),
                    set(
                        f"{each['topic']}-{number}"
                        for each in value["transactionPartitions"] or ()
                        for number in each["partitionIds"]
                    ),
                )
            )
    return found
