"""``consume --group``: alone, beside a stock consumer, and when it is ended."""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from odradek.broker.cli.records.group_reading import GroupReading
from odradek.broker.cli.records.read_range import Edge
from odradek.client.cluster import Cluster
from odradek.client.fetcher import FetchLimits
from odradek.client.group_offsets import commit_offsets, committed_offsets
from odradek.client.groups import describe_group
from odradek.client.producer import Producer
from odradek.client.records_deletion import delete_records
from odradek.client.topics import NewTopic, create_topic
from odradek.protocol.errors import GroupIdNotFound
from odradek.protocol.messages.groups import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.broker_process import BrokerProcess, ended
from tests.client.live import wait_until
from tests.patience import PATIENCE_S


def write(cluster: Cluster, topic: str, values: Sequence[int], partitions: int) -> None:
    with Producer(cluster) as producer:
        for value in values:
            record = NewRecord(None, b"%d" % value, 1000)
            producer.send(topic, record, value % partitions)


def committed(cluster: Cluster, group: str) -> dict[str, int]:
    return {
        str(place): each.offset
        for place, each in committed_offsets(cluster, group).items()
    }


def test_a_group_goes_on_where_it_was(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, NewTopic("goes-on", 2))
    create_topic(cluster, NewTopic("goes-on-too", 1))
    write(cluster, "goes-on", range(10), 2)
    write(cluster, "goes-on-too", range(10, 15), 1)
    consume = ("consume", "goes-on", "goes-on-too", "-g", "going")
    assert sorted(map(int, shell.run(*consume, "-e"))) == list(range(15))
    assert shell.run(*consume, "-e") == []
    write(cluster, "goes-on", range(20, 26), 2)
    first = shell.run(*consume, "-c", "4")
    assert sum(committed(cluster, "going").values()) == 15 + 4
    rest = shell.run(*consume, "-e")
    assert sorted(map(int, first + rest)) == list(range(20, 26))
    assert describe_group(cluster, "going").state == "Empty"


def test_where_a_group_without_offsets_begins_and_ends(
    cluster: Cluster, shell: Shell
) -> None:
    create_topic(cluster, NewTopic("begun", 1))
    write(cluster, "begun", range(10), 1)
    consume = ("consume", "begun", "-g", "begun")
    assert shell.run(*consume, "-o", "end", "-e") == []
    assert committed(cluster, "begun") == {"begun-0": 10}
    write(cluster, "begun", range(10, 15), 1)
    found = shell.run(*consume, "-o", "beginning", "--until", "13")
    assert found == ["10", "11", "12"]
    assert committed(cluster, "begun") == {"begun-0": 13}
    assert shell.run(*consume, "-c", "0") == []
    assert shell.run("consume", "begun", "-g", "other", "-o", "-2", "-e") == [
        *("13", "14")
    ]


def test_an_offset_that_the_log_has_no_more(
    cluster: Cluster, group_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    create_topic(cluster, NewTopic("shortened", 1))
    write(cluster, "shortened", range(6), 1)
    place = TopicPartition("shortened", 0)
    commit_offsets(cluster, "shortened", {place: 1})
    delete_records(cluster, {place: 4})
    assert consumed(group_broker, "shortened", "-g", "shortened", "-e") == 0
    captured = capsys.readouterr()
    assert captured.out.split() == ["4", "5"]
    assert captured.err == (
        "odradek consume: shortened-0 no longer has offset 1; it begins at 4\n"
    )
    assert committed(cluster, "shortened") == {"shortened-0": 6}


def test_an_offset_that_the_log_never_had(
    cluster: Cluster, group_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    create_topic(cluster, NewTopic("ahead", 1))
    write(cluster, "ahead", range(3), 1)
    commit_offsets(cluster, "ahead", {TopicPartition("ahead", 0): 99})
    assert consumed(group_broker, "ahead", "-g", "ahead", "-e") == 0
    captured = capsys.readouterr()
    assert captured.out.split() == ["0", "1", "2"]
    assert captured.err == (
        "odradek consume: ahead-0 has no offset 99, where the group is; it ends"
        " before 3\n"
    )
    given = ("ahead", "-g", "new", "-o", "5", "--until", "9")
    assert consumed(group_broker, *given) == 1
    assert capsys.readouterr().err == (
        "odradek consume: ahead: OFFSET_OUT_OF_RANGE: there is no offset 5: ahead-0"
        " has 0 to 2\n"
    )
    assert committed(cluster, "new") == {}


def consumed(broker: BrokerProcess, *arguments: str) -> int:
    from odradek.broker.cli.main import main

    return main(["consume", *arguments, "--bootstrap-server", broker.address])


def test_a_member_that_was_removed_begins_where_the_group_is(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    create_topic(cluster, NewTopic("removed", 1))
    write(cluster, "removed", range(8), 1)
    options = argparse.Namespace(
        **{"group": "removed", "topic": [("removed", None)], "offset": Edge()},
        **{"until": None, "exit": True, "uncommitted": False},
    )
    found: list[bytes | None] = []
    with GroupReading(cluster, options, FetchLimits(max_wait_ms=10)) as reading:
        for pieces in reading.answers():
            if not found:  # what was read now is not committed any more
                remove(cluster, "removed")
            found += [record.value for _, record in pieces]
    assert "the group has gone on without this member" in capsys.readouterr().err
    assert found == [b"%d" % number for number in range(8)]
    assert committed(cluster, "removed") == {}
    assert consumed_again(cluster, options) == found
    assert committed(cluster, "removed") == {"removed-0": 8}


def remove(cluster: Cluster, group: str) -> None:
    """What an administrator can do with a member."""
    described = describe_group(cluster, group)
    (member,) = described.members
    request = LeaveGroupRequest(
        group_id=group, members=[MemberIdentity(member_id=member.member_id)]
    )
    answer = cluster.request(request, LeaveGroupResponse, described.coordinator.node_id)
    assert answer.members[0].error_code == 0


def consumed_again(cluster: Cluster, options: argparse.Namespace) -> list[bytes | None]:
    with GroupReading(cluster, options, FetchLimits(max_wait_ms=10)) as reading:
        return [record.value for each in reading.answers() for _, record in each]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["t:0", "-g", "g"], "a group gives out partitions itself; write only t"),
        (["t", "-g", ""], "a group has a name"),
        (["t", "--gruop", "g"], "did you mean --group?"),
    ],
)
def test_mistakes(
    given: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from odradek.broker.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main(["consume", *given])
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


class Stock:
    """librdkafka's consumer, in a thread of its own."""

    def __init__(self, address: str, group: str, topic: str, assignor: str) -> None:
        self.values: list[int] = []
        self._is_over = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 100,
                "partition.assignment.strategy": assignor,
            }
        )
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._is_over.is_set():
            message = self._consumer.poll(0.05)
            if message is not None and message.error() is None:
                self.values.append(int(message.value() or b""))
        self._consumer.close()

    def close(self) -> None:
        self._is_over.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


class Ours:
    """``odradek consume --json`` as a process."""

    def __init__(self, address: str, group: str, topic: str, output: Path) -> None:
        self._output = output
        command = [sys.executable, "-m", "odradek", "consume", topic, "--json"]
        command += ["--group", group, "--bootstrap-server", address]
        with output.open("wb") as file:
            self.process = subprocess.Popen(command, stdout=file)

    @property
    def values(self) -> list[int]:
        lines = self._output.read_bytes().splitlines(keepends=True)
        return [int(json.loads(line)["value"]) for line in lines if line[-1:] == b"\n"]

    def end(self, number: signal.Signals) -> int:
        with ended(self.process):
            self.process.send_signal(number)
            return self.process.wait(PATIENCE_S)


WAYS = [
    ("range", signal.SIGINT, 130),
    ("cooperative-sticky", signal.SIGTERM, 128 + signal.SIGTERM),
]


@pytest.mark.parametrize(
    ("assignor", "ended_by", "code"),
    WAYS if os.environ.get("ODRADEK_LONG") else WAYS[:1],
)
def test_beside_a_stock_consumer(
    cluster: Cluster,
    group_broker: BrokerProcess,
    tmp_path: Path,
    assignor: str,
    ended_by: signal.Signals,
    code: int,
) -> None:
    """Records come all the time: none is lost when members come and go."""
    topic = group = f"stock-{assignor}"
    create_topic(cluster, NewTopic(topic, 4))
    written = 0

    def write_some() -> None:
        nonlocal written
        write(cluster, topic, range(written, written + 40), 4)
        written += 40

    def share() -> list[int]:
        try:
            members = describe_group(cluster, group).members
        except GroupIdNotFound:
            return []
        return sorted(len(each.assignment or ()) for each in members)

    def is_shared(*shares: int) -> bool:
        write_some()
        return share() == sorted(shares)

    stock = Stock(group_broker.address, group, topic, assignor)
    try:
        wait_until(lambda: is_shared(4))
        ours = Ours(group_broker.address, group, topic, tmp_path / "first")
        wait_until(lambda: is_shared(2, 2))
        write_some()
        wait_until(lambda: set(ours.values) | set(stock.values) == set(range(written)))
        assert ours.end(ended_by) == code
        wait_until(lambda: is_shared(4))
        again = Ours(group_broker.address, group, topic, tmp_path / "second")
        wait_until(lambda: is_shared(2, 2))
    finally:
        stock.close()
    write_some()
    found = set(ours.values) | set(stock.values)
    wait_until(lambda: found | set(again.values) == set(range(written)))
    assert share() == [4]
    again.end(signal.SIGTERM)
    assert describe_group(cluster, group).state == "Empty"
    assert sum(committed(cluster, group).values()) == written
    together = ours.values + again.values
    assert len(set(together)) == len(together)
