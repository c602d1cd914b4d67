"""A broker that has topics, and one that copies them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected

OPTIONS = ("-o", "offsets.topic.num.partitions=1", "-o", "log.min.free.bytes=0")


class Pair:
    """Both brokers; ``run`` asks the one that copies."""

    def __init__(self, source: BrokerProcess, ours: BrokerProcess) -> None:
        self.source, self.ours = source, ours
        self._captured: pytest.CaptureFixture[str] | None = None

    def use(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def run(self, *arguments: str, code: int = 0) -> str:
        """What ``odradek mirror`` prints, wherever."""
        assert self._captured is not None
        given = ["mirror", *arguments, "--data-dir", str(self.ours.data_dir)]
        assert main(given) == code, self._captured.readouterr()
        out, err = self._captured.readouterr()
        return out + err

    def items(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        lines = self.run(*arguments, "--json", code=code).splitlines()
        return [json.loads(line) for line in lines]

    def lag(self, name: str) -> int | None:
        """Of all partitions together; None before it has looked."""
        given = ["mirror", "status", name, "--json"]
        main([*given, "--data-dir", str(self.ours.data_dir)])
        assert self._captured is not None
        lines = self._captured.readouterr().out.splitlines()
        mirror, *partitions = map(json.loads, lines)
        if not mirror["isKnown"] or not partitions:
            return None
        ends = [
            each["sourceEnd"] for each in partitions if each["partition"] is not None
        ]
        return None if -1 in ends else int(mirror["lag"])


@pytest.fixture(scope="package")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    root = tmp_path_factory.mktemp("mirror")
    with (
        running_broker(root / "source", *OPTIONS) as source,
        running_broker(root / "ours", *OPTIONS) as ours,
    ):
        yield Pair(source, ours)
        assert "Traceback" not in source.log() + ours.log()


@pytest.fixture
def pair(brokers: Pair, capsys: pytest.CaptureFixture[str]) -> Pair:
    brokers.use(capsys)
    return brokers


@pytest.fixture
def there(brokers: Pair) -> Iterator[Cluster]:
    with connected(brokers.source.port) as cluster:
        yield cluster


@pytest.fixture
def here(brokers: Pair) -> Iterator[Cluster]:
    with connected(brokers.ours.port) as cluster:
        yield cluster


def log_of(broker: BrokerProcess, topic: str) -> bytes:
    """The batches of its partition 0, as they are on the disk."""
    files = sorted(Path(broker.data_dir, f"{topic}-0").glob("*.log"))
    return b"".join(each.read_bytes() for each in files).rstrip(b"\0")
