"""``odradek trace`` as its users call it, on a broker of its own."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.admin.trace import _text
from odradek.broker.cli.main import main
from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch
from tests.broker_process import BrokerProcess, running_broker
from tests.patience import PATIENCE_S

TOPIC, GROUP = "orders", "billing"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("trace") / "data"
    with running_broker(data_dir) as process:
        yield process
        assert "Traceback" not in process.log()


class Client:
    """Asks again and again, until what watches it has ended."""

    def __init__(self, port: int) -> None:
        self._link = Connection("127.0.0.1", port, client_id="asker")
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.failures: list[BaseException] = []

    def keep(self, ask: Callable[["Client"], object]) -> None:
        self._thread = threading.Thread(target=self._ask, args=(ask,))
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_S)
        self._link.close()
        assert self.failures == []

    def _ask(self, ask: Callable[["Client"], object]) -> None:
        try:
            while not self._ended.wait(0.01):
                ask(self)
        except Exception as error:
            self.failures.append(error)

    def produce(self) -> None:
        batch = bytes(build_batch([NewRecord(value=b"v", timestamp=1)]))
        data = PartitionProduceData(index=0, records=batch)
        topic = TopicProduceData(name=TOPIC, partition_data=[data])
        request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])
        self._link.request(request, ProduceResponse, 12)

    def fetch(self) -> None:
        partition = FetchPartition(
            partition=0, fetch_offset=0, partition_max_bytes=1 << 20
        )
        topics = [FetchTopic(topic=TOPIC, partitions=[partition])]
        request = FetchRequest(max_wait_ms=10, min_bytes=1, topics=topics)
        self._link.request(request, FetchResponse, 12)

    def commit(self) -> int:
        offset = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
        topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[offset])]
        request = OffsetCommitRequest(group_id=GROUP, topics=topics)
        answer = self._link.request(request, OffsetCommitResponse, 9)
        return int(answer.topics[0].partitions[0].error_code)

    def prepare(self) -> None:
        """Return when topic and group can be used."""
        wait = threading.Event()
        topics = [MetadataRequestTopic(name=TOPIC)]
        asked = MetadataRequest(topics=topics, allow_auto_topic_creation=True)
        found = FindCoordinatorRequest(key=GROUP, key_type=0, coordinator_keys=[GROUP])
        for _ in range(int(PATIENCE_S / 0.05)):
            known = self._link.request(asked, MetadataResponse).topics[0]
            self._link.request(found, FindCoordinatorResponse)
            if not known.error_code and self.commit() == ErrorCode.NONE:
                return
            wait.wait(0.05)
        raise TimeoutError("the broker does not become ready")


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[Client]:
    client = Client(broker.port)
    client.prepare()
    yield client
    client.close()


def seen(
    broker: BrokerProcess, capsys: pytest.CaptureFixture[str], *arguments: str
) -> list[dict[str, Any]]:
    given = ["trace", *arguments, "--json", "--data-dir", str(broker.data_dir)]
    assert main(given) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def in_order(item: dict[str, Any], *functions: str) -> None:
    """See that it has passed these, in that order, with nothing before its time."""
    names = [step["function"] for step in item["steps"]]
    assert [name for name in names if name in functions] == list(functions)
    times = [step["atUs"] for step in item["steps"]]
    assert times == sorted(times)
    root = Path(__file__).parents[4]
    assert all((root / step["file"]).is_file() for step in item["steps"])


def test_a_produce(
    broker: BrokerProcess, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.keep(Client.produce)
    items = seen(broker, capsys, "produce", "--topic", TOPIC, "--count", "3")
    assert len({item["correlationId"] for item in items}) == 3
    last = items[-1]
    assert (last["way"], last["outcome"], last["error"]) == ("short", "answered", None)
    in_order(
        last,
        "Connection.buffer_updated",
        "Appends.append_one",
        "Partition.append_usual",
        "LogSegment.append_usual",
        "OsFile.append",
        "DirectoryCommitter.mark_dirty",
        "AwaitingAppends.add",
        "ResponseQueue.park",
        "DirectoryCommitter._draw_tickets",
        "DirectoryCommitter._on_synced",
        "ReplicaManager.check_all_waiting",
        "ResponseQueue._answered",
        "ResponseQueue._drain",
    )
    texts = [step["text"] for step in last["steps"]]
    assert "its answer may leave: woken by the end of a sync" in texts


def test_a_fetch(
    broker: BrokerProcess, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.produce()
    client.keep(Client.fetch)
    (item,) = seen(broker, capsys, "fetch", "--client-id", "asker")
    in_order(item, "LogTail.read", "read_partition", "ResponseQueue.add_ready")


def test_a_commit(
    broker: BrokerProcess, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.keep(Client.commit)
    (item,) = seen(broker, capsys, "commit", "--group", GROUP)
    assert item["way"] == "short"
    in_order(
        item,
        "commit",
        "Shard.write_usual",
        "OsFile.append",
        "GroupShard.replay_usual",
        "DirectoryCommitter._draw_tickets",
        "DirectoryCommitter._on_synced",
        "ResponseQueue._drain",
    )


def test_for_people(
    broker: BrokerProcess, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.keep(Client.produce)
    given = ["trace", "produce", "--data-dir", str(broker.data_dir)]
    assert main(given) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Produce v12 from 127.0.0.1:")
    assert lines[1].split() == ["at", "µs", "+", "µs"]
    assert "the whole frame is there: " in lines[2]
    assert lines[3].split() == [
        "broker/network/connection.py",
        "Connection.buffer_updated",
    ]
    assert lines[-1] == "answered"


def test_none_comes(broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["trace", "produce", "--topic", "none", "--timeout", "1"]
    assert main([*given, "--data-dir", str(broker.data_dir)]) == 1
    assert capsys.readouterr().err == ("odradek trace: no such produce came in 1 s\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: what"),
        (["join"], "join"),
        (["produce", "--count", "0"], "'0' is not a whole number, 1 or more"),
        (["produce", "--tpoic", "t"], "did you mean --topic?"),
    ],
)
def test_wrong_use(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["trace", *arguments])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_without_a_broker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "fetch", "--data-dir", str(tmp_path)]) == 1
    assert "no broker is running on" in capsys.readouterr().err


def test_an_error_and_what_is_unprintable() -> None:
    item = {
        "api": 8,
        "version": 9,
        "correlationId": 3,
        "clientId": "a\x1b[2J",
        "peer": "127.0.0.1:9",
        "way": "long",
        "outcome": "answered",
        "error": "NOT_COORDINATOR",
        "steps": [
            {"text": "begins", "file": "a.py", "function": "f", "atUs": 0},
            {"text": "ends", "file": "b.py", "function": "g", "atUs": 12.34},
        ],
    }
    text = _text(item)
    assert "\x1b" not in text
    assert text.splitlines()[1:] == [
        "     at µs      + µs",
        "       0.0       0.0  begins",
        "                      a.py  f",
        "      12.3      12.3  ends",
        "                      b.py  g",
        "answered; error NOT_COORDINATOR",
    ]
