"""Brokers that are forked, and what becomes of them; they are real ones."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from odradek.testing import Broker, BrokerError
from odradek.testing.forks import ForkedProcess, _Forks
from tests.broker_process import ended
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(os, "pidfd_open"),
    reason="brokers are forked on Linux alone",
)
# Two brokers, one of them forked, for a process that is about to be killed.
OWNER = """
import sys
from odradek.testing import Broker, forks
brokers = [Broker().start() for _ in range(2)]
print(*(broker.pid for broker in brokers), forks._forks._server.pid)
print(*(broker.directory for broker in brokers), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Forks]:
    """As at the beginning of a run: nobody has started a broker."""
    forks = _Forks()
    monkeypatch.setattr("odradek.testing.forks._forks", forks)
    yield forks
    forks.close()


@pytest.fixture
def first(forks: _Forks) -> Iterator[Broker]:
    """The first broker of a run."""
    with Broker() as broker:
        yield broker


def parent(process_id: int | None) -> int:
    status = Path(f"/proc/{process_id}/stat").read_text()
    return int(status.rpartition(")")[2].split()[1])


def test_brokers_after_the_first_are_forked(first: Broker, forks: _Forks) -> None:
    assert parent(first.pid) == os.getpid()
    assert forks._server is None  # who needs one broker has one process
    with Broker() as second, Broker() as third:
        assert forks._server is not None
        for each in (second, third):
            assert parent(each.pid) == forks._server.pid
            assert each.topic("t").broker is each
        assert second.bootstrap != third.bootstrap
        second.topic("u").delete()
        assert "topic u is deleted" in second.log()
        process_id = second.pid
    assert not Path(f"/proc/{process_id}").exists()


def test_a_forked_broker_is_killed_and_is_there_again(first: Broker) -> None:
    with Broker() as broker:
        broker.topic("t")
        address, process_id = broker.bootstrap, broker.pid
        broker.kill()
        assert broker.pid is None
        broker.start()
        assert broker.bootstrap == address
        assert broker.pid != process_id
        with pytest.raises(BrokerError, match="already exists"):
            broker.topic("t")


def test_a_forked_broker_that_does_not_start_says_why(first: Broker) -> None:
    broker = Broker({"num.partitions": 0})
    try:
        with pytest.raises(BrokerError, match=r"num\.partitions"):
            broker.start()
        assert broker.pid is None
    finally:
        broker.close()


def test_brokers_outlive_who_forks_them_and_the_next_is_started(
    first: Broker, forks: _Forks
) -> None:
    with Broker() as second:
        assert forks._server is not None
        os.kill(forks._server.pid, signal.SIGKILL)
        with Broker() as third:
            assert parent(third.pid) == os.getpid()
        second.topic("t")


def test_where_nothing_can_be_forked_brokers_are_started(
    first: Broker, forks: _Forks
) -> None:
    forks._is_possible = False
    with Broker() as second:
        assert parent(second.pid) == os.getpid()


def test_who_cannot_start_a_server_starts_brokers(
    first: Broker, forks: _Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.testing.forks.FORKS", "--no-such-flag")
    with Broker() as second:
        assert parent(second.pid) == os.getpid()


def test_all_are_gone_when_their_owner_was_killed() -> None:
    command = [sys.executable, "-c", OWNER]
    pipe = subprocess.PIPE
    owner = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    with ended(owner):
        assert owner.stdout is not None
        process_ids = [int(word) for word in owner.stdout.readline().split()]
        assert len(process_ids) == 3
        directories = owner.stdout.readline().split()
        with open(os.devnull) as output:
            processes = [
                ForkedProcess(each, os.pidfd_open(each), output) for each in process_ids
            ]
            owner.kill()
            for process in processes:
                assert process.wait(PATIENCE_S) == 0
        for directory in directories:
            shutil.rmtree(directory, ignore_errors=True)


def test_patched_sockets_are_not_in_the_way(
    first: Broker, forks: _Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pytest-socket does it."""

    class Refusing(socket.socket):
        def __new__(cls, *_: object, **__: object) -> Self:
            raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(socket, "socket", Refusing)
        broker = Broker().start()
    try:
        assert forks._server is not None
        assert parent(broker.pid) == forks._server.pid
    finally:
        broker.close()


def test_a_child_of_the_test_knows_no_server(forks: _Forks) -> None:
    class Server:
        is_forgotten = False

        def forget(self) -> None:
            self.is_forgotten = True

    server = Server()
    forks._server, forks._count = server, 7  # type: ignore[assignment]
    forks.forget()
    assert server.is_forgotten
    assert (forks._server, forks._count) == (None, 0)


def test_a_process_is_waited_for_and_told() -> None:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    with ended(child), open(os.devnull) as output:
        process = ForkedProcess(child.pid, os.pidfd_open(child.pid), output)
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        assert process.poll() == 0
        assert child.wait() == -signal.SIGTERM
        process.kill()  # nobody: not who has its id by now
        assert process.wait() == 0
        # One that had ended before it could be named.
        assert ForkedProcess(child.pid, None, output).poll() == 0
