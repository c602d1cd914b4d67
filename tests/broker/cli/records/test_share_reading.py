"""``consume --share``: what is written is accepted, the rest is given back."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.client.cluster import Cluster
from odradek.client.producer import Producer
from odradek.client.topics import NewTopic, create_topic
from odradek.protocol.records import NewRecord
from tests.broker.cli.conftest import Shell
from tests.broker_process import BrokerProcess, ended
from tests.client.live import wait_until
from tests.client.share_groups import begin_with_the_first
from tests.patience import PATIENCE_S


def write(cluster: Cluster, topic: str, count: int) -> None:
    create_topic(cluster, NewTopic(topic, 1))
    with Producer(cluster) as producer:
        for value in range(count):
            producer.send(topic, NewRecord(None, b"%d" % value, 1000), 0)


def test_nobody_else_gets_what_was_written(cluster: Cluster, shell: Shell) -> None:
    write(cluster, "jobs", 10)
    begin_with_the_first(cluster, "workers")
    consume = ("consume", "jobs", "--share", "workers")
    assert shell.run(*consume, "-c", "4") == ["0", "1", "2", "3"]
    assert shell.run(*consume, "-e") == [str(each) for each in range(4, 10)]
    assert shell.run(*consume, "-e") == []


def test_as_json(cluster: Cluster, shell: Shell) -> None:
    write(cluster, "json-jobs", 2)
    begin_with_the_first(cluster, "json-workers")
    found = shell.run_json("consume", "json-jobs", "--share", "json-workers", "-e")
    assert [(each["offset"], each["value"]) for each in found] == [(0, "0"), (1, "1")]


def test_there_is_no_such_topic(shell: Shell) -> None:
    shell.run("consume", "no-such", "--share", "workers", "-e", code=1)
    assert "no-such" in shell.error


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("-g", "other"), "two kinds of groups"),
        (("-o", "end"), "knows itself what is next"),
        (("--until", "5"), "knows itself what is next"),
        (("--uncommitted",), "share.isolation.level"),
        (("--share", ""), "a group has a name"),
    ],
)
def test_what_does_not_go_together(
    capsys: pytest.CaptureFixture[str], shell: Shell, more: tuple[str, ...], why: str
) -> None:
    with pytest.raises(SystemExit):
        shell.run("consume", "jobs", "--share", "workers", *more)
    assert why in capsys.readouterr().err


def test_a_group_hands_out_partitions_itself(
    capsys: pytest.CaptureFixture[str], shell: Shell
) -> None:
    with pytest.raises(SystemExit):
        shell.run("consume", "jobs:0", "--share", "workers")
    assert "a group gives out partitions itself" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_what_was_written_before_a_signal_is_accepted(
    cluster: Cluster,
    shell: Shell,
    group_broker: BrokerProcess,
    tmp_path: Path,
    number: signal.Signals,
    code: int,
) -> None:
    topic = f"signal-{number}"
    write(cluster, topic, 5)
    begin_with_the_first(cluster, topic)
    command = [sys.executable, "-m", "odradek", "consume", topic, "--json"]
    command += ["--share", topic, "--bootstrap-server", group_broker.address]
    output = tmp_path / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file)
    with ended(process):
        wait_until(lambda: output.read_bytes().count(b"\n") == 5)
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == code
    found = [json.loads(line)["offset"] for line in output.read_bytes().splitlines()]
    assert found == list(range(5))
    assert shell.run("consume", topic, "--share", topic, "-e") == []
