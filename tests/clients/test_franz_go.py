"""franz-go in groups that the broker assigns (KIP-848) and share groups (KIP-932)."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.topics import NewTopic, create_topic
from tests.broker_process import BrokerProcess, running_broker
from tests.client.share_groups import begin_with_the_first
from tests.clients.questions import committed
from tests.patience import PATIENCE_S

SOURCE = Path(__file__).with_name("franz_go")
# No other version of Go, and no other module than those that are named.
ENVIRONMENT = {
    **os.environ,
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "-mod=readonly -buildvcs=false",
}
COUNT = 40
OPTIONS = (
    *("-o", "group.share.heartbeat.interval.ms=500"),
    *("-o", "group.share.min.heartbeat.interval.ms=500"),
)


def run_go(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["go", *arguments],
        cwd=SOURCE,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built: what was compiled before is not again."""
    if shutil.which("go") is None:
        pytest.skip("needs go")
    fetched = run_go("mod", "download")
    if fetched.returncode:
        pytest.skip(f"needs franz-go: {fetched.stderr.strip()}")
    program = tmp_path_factory.mktemp("franz") / "member"
    built = run_go("build", "-o", program, ".")
    assert not built.returncode, built.stderr
    return program


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("franz-go") / "data"
    with running_broker(data_dir, *OPTIONS) as process:
        yield process
        assert "Traceback" not in process.log()


def fill(broker: BrokerProcess, name: str, values: list[str]) -> None:
    """A topic of two partitions with these records, and a share group of its name."""
    with Cluster([Address("127.0.0.1", broker.port)]) as cluster:
        create_topic(cluster, NewTopic(name, 2))
        begin_with_the_first(cluster, name)
    producer = Producer({"bootstrap.servers": broker.address})
    for number, value in enumerate(values):
        producer.produce(name, value, partition=number % 2)
    assert not producer.flush(PATIENCE_S)


def read(program: Path, kind: str, broker: BrokerProcess, name: str) -> list[str]:
    """What a member prints, in the order of the values."""
    done = subprocess.run(
        [program, kind, broker.address, name, name, str(COUNT)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert not done.returncode, done.stderr
    return sorted(done.stdout.splitlines())


def test_the_broker_assigns_partitions(member: Path, broker: BrokerProcess) -> None:
    values = [f"{number:03}" for number in range(COUNT)]
    fill(broker, "assigned", values)
    assert read(member, "consumer", broker, "assigned") == values
    half = COUNT // 2
    assert committed(broker, "assigned", "assigned") == {0: half, 1: half}


def test_records_are_shared_and_given_back(member: Path, broker: BrokerProcess) -> None:
    values = [f"{number:03}" for number in range(COUNT)]
    values[7] += "!"
    fill(broker, "shared", values)
    values[7] += " 2"
    assert read(member, "share", broker, "shared") == values
