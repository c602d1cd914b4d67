"""``odradek compact`` as its users call it, on a broker of its own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.admin.compact import _text
from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected, produce


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("compact") / "data"
    # Nothing is cleaned unless it is asked for.
    keep = ("-o", "log.retention.ms=-1", "-o", "log.cleaner.enable=false")
    with running_broker(data_dir, *keep) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.fixture
def cluster(broker: BrokerProcess) -> Iterator[Cluster]:
    with connected(broker.port) as cluster:
        yield cluster


class Shell:
    """Runs the command, and keeps what it said."""

    def __init__(self, data_dir: Path, captured: pytest.CaptureFixture[str]) -> None:
        self._data_dir = data_dir
        self._captured = captured
        self.error = ""

    def compact(self, *arguments: str, code: int = 0) -> list[str]:
        given = ["compact", *arguments, "--data-dir", str(self._data_dir)]
        assert main(given) == code
        captured = self._captured.readouterr()
        self.error = captured.err
        return captured.out.splitlines()

    def json(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        return [
            json.loads(line) for line in self.compact(*arguments, "--json", code=code)
        ]


@pytest.fixture
def shell(broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(broker.data_dir, capsys)


def create_topic(
    cluster: Cluster, name: str, partitions: int = 1, policy: str = "compact"
) -> None:
    config = CreatableTopicConfig(name="cleanup.policy", value=policy)
    topic = CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, configs=[config]
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=20_000)
    answer = cluster.request(request, CreateTopicsResponse)
    assert answer.topics[0].error_code == 0, answer


def test_a_topic_is_compacted(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "orders", 2)
    for _ in range(3):
        produce(cluster, "orders", 1, [1000, 2000])
    empty, done = shell.compact("orders")
    assert empty == "orders-0: nothing to clean: it holds no records"
    assert done.startswith("orders-1: 6 -> 1 records, ")
    assert " bytes, clean up to offset 6, " in done
    assert done.endswith((" ms", " s"))
    assert shell.compact("orders", "--partition", "1") == [
        "orders-1: nothing to clean: it was cleaned before"
    ]


def test_json(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "prices")
    produce(cluster, "prices", 0, [1000, 2000])
    (done,) = shell.json("prices", "--partition", "0")
    assert done.pop("bytesBefore") > done.pop("bytesAfter")
    assert done.pop("elapsedMs") > 0
    assert done == {
        "topic": "prices",
        "partition": 0,
        "outcome": "cleaned",
        "reason": None,
        "recordsBefore": 2,
        "recordsAfter": 1,
        "nextDirtyOffset": 2,
    }


def test_a_topic_that_is_not_compacted(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "events", policy="delete")
    produce(cluster, "events", 0, [1000, 2000])
    assert shell.compact("events", code=1) == [
        "events-0: not compacted: its cleanup.policy is delete"
    ]
    assert shell.error == ""


def test_a_topic_that_there_is_not(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "payments")
    assert shell.compact("paymenst", code=1) == []
    assert shell.error == (
        "odradek compact: there is no topic paymenst; did you mean payments?\n"
    )
    assert shell.compact("payments", "--partition", "3", code=1) == []
    assert shell.error == (
        "odradek compact: no partition 3 in payments: it has only 0\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: TOPIC"),
        (["t", "--partitoin", "1"], "did you mean --partition?"),
        (["t", "--partition", "-1"], "'-1' is not a whole number, 0 or more"),
        (["t", "--partition", "x"], "'x' is not a whole number, 0 or more"),
        (["t", "u"], "unknown argument u"),
    ],
)
def test_wrong_use(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compact", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_without_a_broker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", "t", "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"odradek compact: no broker is running on {tmp_path}; "
        f"odradek serve --data-dir {tmp_path} starts one\n"
    )


def test_times_and_reasons_for_people() -> None:
    done = {
        "topic": "t",
        "partition": 0,
        "outcome": "no-room",
        "reason": "no space left",
        "recordsBefore": 9,
        "recordsAfter": 5,
        "bytesBefore": 90,
        "bytesAfter": 50,
        "nextDirtyOffset": 9,
        "elapsedMs": 61_040,
    }
    assert _text(done) == (
        "t-0: 9 -> 5 records, 90 -> 50 bytes, clean up to offset 9, 61.0 s "
        "(then no room: no space left)"
    )
