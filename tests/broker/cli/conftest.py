"""A broker, and ``odradek group`` and ``odradek txn`` as their users call them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected
from tests.client.live_transactions import NO_VERIFICATION

# Streams groups are assigned with the heartbeat that changes them.
AT_ONCE = (
    *("-o", "group.streams.initial.rebalance.delay.ms=0"),
    *("-o", "group.streams.assignment.interval.ms=0"),
)


@pytest.fixture(scope="session")
def group_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("groups") / "data"
    with running_broker(data_dir, *AT_ONCE, *NO_VERIFICATION) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.fixture
def cluster(group_broker: BrokerProcess) -> Iterator[Cluster]:
    with connected(group_broker.port) as cluster:
        yield cluster


class Shell:
    """Runs commands, and keeps what they said."""

    def __init__(self, address: str, captured: pytest.CaptureFixture[str]) -> None:
        self._address = address
        self._captured = captured
        self.error = ""

    def group(self, *arguments: str, code: int = 0) -> list[str]:
        """The lines of the output; what went wrong is in ``error``."""
        return self._run("group", *arguments, code=code)

    def txn(self, *arguments: str, code: int = 0) -> list[str]:
        """The same of ``odradek txn``."""
        return self._run("txn", *arguments, code=code)

    def run(self, *arguments: str, code: int = 0) -> list[str]:
        """The same of any command: its name first."""
        return self._run(*arguments, code=code)

    def run_json(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """The objects of any command, one from each line."""
        lines = self._run(*arguments, "--json", code=code)
        return [json.loads(line) for line in lines]

    def _run(self, command: str, *arguments: str, code: int) -> list[str]:
        given = [*arguments, "--bootstrap-server", self._address]
        assert main([command, *given]) == code
        captured = self._captured.readouterr()
        self.error = captured.err
        assert bool(self.error) == bool(code)
        return captured.out.splitlines()

    def json(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """The objects, one from each line."""
        lines = self.group(*arguments, "--json", code=code)
        return [json.loads(line) for line in lines]

    def txn_json(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """The same of ``odradek txn``."""
        lines = self.txn(*arguments, "--json", code=code)
        return [json.loads(line) for line in lines]


@pytest.fixture
def shell(group_broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(group_broker.address, capsys)
