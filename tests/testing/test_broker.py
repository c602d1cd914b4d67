"""A broker for tests: started, used, ended, and gone without a trace."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

import odradek.testing
from odradek.testing import Broker, BrokerError, Refused, SharedBroker, Topic
from odradek.testing.launch import has_ended
from tests.broker_process import ended
from tests.client.live import connected, create_topic, wait_until


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def test_a_topic_is_a_name_and_can_be_deleted(broker: Broker) -> None:
    topic = broker.topic("mine", 3, {"retention.ms": 5000})
    assert isinstance(topic, Topic)
    assert topic == "mine"
    with pytest.raises(Refused, match="exists"):
        broker.topic("mine")
    topic.delete()
    with pytest.raises(Refused):
        topic.delete()


def test_it_is_shown_with_its_address(broker: Broker) -> None:
    assert repr(broker) == f"<Broker at {broker.bootstrap}>"


def test_one_that_does_not_run_says_so() -> None:
    broker = Broker()
    try:
        assert repr(broker) == "<Broker not started>"
        with pytest.raises(BrokerError, match="does not run: it does inside of 'with"):
            broker.topic("t")
    finally:
        broker.close()
    with pytest.raises(BrokerError, match="does not run: it does inside of 'with"):
        broker.state()


def test_names_can_be_completed() -> None:
    assert {*odradek.testing.__all__} <= {*dir(odradek.testing)}


def test_clients_connect_to_its_address(broker: Broker) -> None:
    with connected(int(broker.bootstrap.rpartition(":")[2])) as cluster:
        create_topic(cluster, "of-a-client", 1)
    broker.ask("topics.delete", topics=["of-a-client"])


def test_what_others_use_is_not_touched(broker: Broker) -> None:
    broker.is_shared = True
    try:
        for touch in (broker.kill, broker.stop, broker.start, broker.close):
            with pytest.raises(SharedBroker, match="odradek_own"):
                touch()
        with pytest.raises(SharedBroker):
            broker.ask("clock.advance", ms=1)
    finally:
        broker.is_shared = False
    assert broker.pid


async def test_it_can_be_awaited() -> None:
    async with Broker() as broker:
        topic = await broker.aio.topic("t")
        assert topic in broker.topics
        await broker.aio.kill()
        with pytest.raises(BrokerError, match="has ended"):
            await broker.aio.ask("topics.delete", topics=["t"])
        address = broker.bootstrap
        await broker.aio.start()
        assert broker.bootstrap == address
        await broker.aio.ask("topics.delete", topics=["t"])
    assert not broker.directory.exists()


def test_it_leaves_its_directory_when_that_is_to_be_kept() -> None:
    with Broker(keep=True) as broker:
        process_id = broker.pid
    assert process_id
    assert broker.data_dir.is_dir()
    Broker.close(_no_longer_kept(broker))
    assert not broker.directory.exists()


def _no_longer_kept(broker: Broker) -> Broker:
    broker._keep = False
    return broker


SCRIPT = """
import os, sys
from odradek.testing import Broker
broker = Broker().start()
print(broker.pid, broker.directory, flush=True)
sys.stdin.read()
"""


def test_t305_it_ends_with_its_process_however_that_ends() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with ended(process):
        assert process.stdout is not None
        broker_id, directory = process.stdout.readline().split()
    wait_until(lambda: has_ended(int(broker_id)))
    assert not os.path.exists(directory)


def test_a_port_that_somebody_else_has_taken_is_said() -> None:
    """It keeps its port over a kill, which is anybody's meanwhile."""
    with Broker() as broker:
        host, _, port = broker.bootstrap.rpartition(":")
        broker.kill()
        taken = socket.create_server((host, int(port)))
        said = pytest.raises(BrokerError, match=f"{port}.*in use")
        with taken, said:
            broker.start()
        broker.start()
        assert broker.bootstrap == f"{host}:{port}"


def ports(broker: Broker) -> dict[str, int]:
    return {each["name"]: each["port"] for each in broker.ask("addresses")}


def test_all_listeners_keep_their_ports_over_a_kill() -> None:
    listeners = "A://127.0.0.1:0,B://127.0.0.1:0"
    kinds = "A:PLAINTEXT,B:PLAINTEXT"
    given = {"listeners": listeners, "listener.security.protocol.map": kinds}
    with Broker(given) as broker:
        found = ports(broker)
        assert broker.bootstrap == f"127.0.0.1:{found['A']}"
        broker.kill()
        broker.start()
        assert ports(broker) == found
