"""A broker killed while topics are made and deleted, while it starts or recovers.

The oracle is this process: which topics it was told are there, which are gone, and
what was acknowledged in them.
"""

import os
import random
import threading
import time
from pathlib import Path

import pytest

from odradek.client.connection import Connection
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord, build_batch, iterate
from odradek.storage.directory.log_directory import DirectoryKind, parse_directory_name
from tests.broker_process import BrokerProcess, running_broker
from tests.patience import PATIENCE_S

KILLS = 100 if os.environ.get("ODRADEK_LONG") else 2
NAMES = [f"topic-{number}" for number in range(6)]
TIMEOUT_MS = 20_000


class Clients:
    """Makes, fills and deletes topics, and knows what it was told of each.

    ``values`` are the acknowledged values of the topics that are there; ``unsure``
    are the names whose last change was not answered.
    """

    def __init__(self, seed: int) -> None:
        self.values: dict[str, list[bytes]] = {}
        self.unsure: set[str] = set()
        self._chance = random.Random(seed)
        self._count = 0

    def work(self, port: int) -> None:
        """Until the broker is gone."""
        try:
            with Connection("127.0.0.1", port, timeout_s=PATIENCE_S) as connection:
                while True:
                    self._change(connection, self._chance.choice(NAMES))
        except OSError:
            return

    def _change(self, connection: Connection, name: str) -> None:
        if name in self.unsure:
            return
        self.unsure.add(name)
        if name not in self.values:
            create(connection, name)
            self.values[name] = []
        elif self._chance.random() < 0.3:
            delete(connection, name)
            del self.values[name]
        else:
            self._count += 1
            value = b"%d" % self._count
            # What is not answered may be there or not, once.
            self.values[name].append(value)
            produce(connection, name, value)
        self.unsure.discard(name)

    def check(self, connection: Connection) -> None:
        there = topics(connection)
        sure = set(NAMES) - self.unsure
        assert there & sure == self.values.keys() & sure
        for name in there:
            found = fetch(connection, name)
            expected = self.values.get(name, [])
            if name in self.unsure:
                # The last one, or a deletion or creation, was under way.
                assert found in (expected, expected[:-1], [])
            else:
                assert found == expected
            self.values[name] = found
        for name in self.unsure - there:
            self.values.pop(name, None)
        self.unsure.clear()


def create(connection: Connection, name: str) -> None:
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=2, replication_factor=1)],
        timeout_ms=TIMEOUT_MS,
    )
    (topic,) = connection.request(request, CreateTopicsResponse, 5).topics
    assert topic.error_code == 0, topic


def delete(connection: Connection, name: str) -> None:
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS)
    (topic,) = connection.request(request, DeleteTopicsResponse, 5).responses
    assert topic.error_code == 0, topic


def produce(connection: Connection, name: str, value: bytes) -> None:
    batch = bytes(build_batch([NewRecord(timestamp=0, key=b"k", value=value)]))
    data = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        acks=-1,
        timeout_ms=TIMEOUT_MS,
        topic_data=[TopicProduceData(name=name, partition_data=[data])],
    )
    response = connection.request(request, ProduceResponse, 9)
    (partition,) = response.responses[0].partition_responses
    assert partition.error_code == 0, partition


def topics(connection: Connection) -> set[str]:
    response = connection.request(MetadataRequest(topics=None), MetadataResponse, 9)
    for topic in response.topics:
        assert {each.leader_id for each in topic.partitions} == {1}
    return {topic.name for topic in response.topics if topic.name}


def fetch(connection: Connection, name: str) -> list[bytes]:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic=name, partitions=[partition])],
    )
    response = connection.request(request, FetchResponse, 12)
    (data,) = response.responses[0].partitions
    assert data.error_code == 0, data
    records = memoryview(data.records or b"")
    return [
        record.value or b""
        for position, header in scan(records)
        for record in iterate(records[position : position + header.size])
    ]


def strangers(broker: BrokerProcess, names: set[str]) -> list[Path]:
    """Directories of partitions that belong to no topic."""
    found = []
    for path in broker.data_dir.iterdir():
        parsed = parse_directory_name(path.name)
        if parsed is not None and (
            parsed.kind is not DirectoryKind.LOG
            or parsed.topic_partition.topic not in names
        ):
            found.append(path)
    return found


def until_no_strangers(broker: BrokerProcess, names: set[str]) -> None:
    """Removal runs a moment after the start."""
    deadline = time.monotonic() + PATIENCE_S
    while strangers(broker, names):
        assert time.monotonic() < deadline, strangers(broker, names)
        time.sleep(0.02)


def kill_while_starting(broker: BrokerProcess, after_s: float) -> None:
    broker.launch()
    time.sleep(after_s)
    broker.kill()


def test_kills_leave_every_topic_that_was_made_and_none_that_was_deleted(
    tmp_path: Path,
) -> None:
    chance = random.Random(KILLS)
    clients = Clients(KILLS)
    with running_broker(tmp_path / "data") as broker:
        for _ in range(KILLS):
            worker = threading.Thread(target=clients.work, args=[broker.port])
            worker.start()
            time.sleep(chance.random() * 0.3)
            broker.kill()
            worker.join()
            if chance.random() < 0.5:
                kill_while_starting(broker, chance.random() * 0.3)
            broker.start()
            with Connection(
                "127.0.0.1", broker.port, timeout_s=PATIENCE_S
            ) as connection:
                clients.check(connection)
                until_no_strangers(broker, topics(connection))
        assert "Traceback" not in broker.log()
        assert "belongs to no topic" not in broker.log()


@pytest.mark.parametrize("is_clean", [True, False], ids=["clean", "killed"])
def test_a_stop_while_logs_are_opened_says_clean_only_when_it_is(
    tmp_path: Path, is_clean: bool
) -> None:
    """T067: what was not recovered yet is recovered by the next start."""
    names = [f"many-{number}" for number in range(60)]
    with running_broker(tmp_path / "data") as broker:
        with Connection("127.0.0.1", broker.port, timeout_s=PATIENCE_S) as connection:
            for name in names:
                create(connection, name)
                produce(connection, name, name.encode())
        broker.terminate() if is_clean else broker.kill()
        for after_s in (0, 0.02, 0.1):
            broker.start()
            time.sleep(after_s)
            broker.terminate()
            has_marker = (broker.data_dir / ".kafka_cleanshutdown").exists()
            left_over = "were not recovered yet" in broker.log()
            assert has_marker or left_over
            if is_clean:
                assert has_marker
                assert not left_over
        broker.start()
        with Connection("127.0.0.1", broker.port, timeout_s=PATIENCE_S) as connection:
            for name in names:
                assert fetch(connection, name) == [name.encode()]
        assert "Traceback" not in broker.log()
