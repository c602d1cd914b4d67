"""A whole broker on a disk in memory, asked for one thing after the other.

The client notes what it was told. Requests that are refused are no matter; a request
without an answer, and an error that nobody expected, are.
"""

import asyncio
import copy
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import pytest

from odradek.broker.metadata.catalog.recovery import CATALOG
from odradek.broker.node.server import Server
from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
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
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord, build_batch, iterate
from tests.broker.node.test_server import config, fetch_request, with_client
from tests.fakes.broker import until
from tests.fakes.clock import FakeClock
from tests.fakes.files import FakeFiles
from tests.patience import PATIENCE_S

P = ParamSpec("P")
Answer = TypeVar("Answer")

TIMEOUT_MS = 20_000
EARLIEST = -2
SMALL_SEGMENTS = {
    "internal.segment.bytes": "300",
    "retention.bytes": "500",
    "file.delete.delay.ms": "0",
}


class Memory:
    """What the client sent to topic ``t`` and was told of it."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.acknowledged: dict[int, bytes] = {}
        self.deleted_below = 0
        self.deleting_below = 0
        self.gone: set[str] = set()

    def check(self, found: dict[int, bytes | None], log_start: int) -> None:
        """Everything promised is there, nothing twice, nothing but what was sent."""
        assert log_start >= self.deleted_below
        assert {
            offset: value
            for offset, value in self.acknowledged.items()
            if offset >= log_start
        }.items() <= found.items()
        values = list(found.values())
        assert len(set(values)) == len(values)
        # In the order in which they were sent; what was not acknowledged may lack.
        assert [each for each in self.sent if each in set(values)] == values


class BrokerLife:
    """Starts, serves and stops; the catalogue is in ``directory``."""

    def __init__(self, directory: Path, files: FakeFiles) -> None:
        self.directory = directory
        self.files = files
        self.memory = Memory()
        self.clock = FakeClock()
        self.server = Server(config(directory), files=files, clock=self.clock)

    async def start(self) -> None:
        if (self.directory / CATALOG).exists():
            # The catalogue is on the real disk; the broker looks whether it is there.
            self.files.put(self.directory / CATALOG, b"")
        await self.server.start()

    async def live(self) -> None:
        """All that a broker does with files, in some order."""
        await self.ask(create_topic, "t", SMALL_SEGMENTS)
        for _ in range(3):
            await self.produce()
        await self.checkpoint()
        for _ in range(3):
            await self.produce()
        await self.delete_records(2)
        await self.ask(create_topic, "u", {})
        await self.produce("u")
        await self.retain()
        await self.produce()
        await self.checkpoint()
        if await self.ask(delete_topic, "u") == ErrorCode.NONE:
            self.memory.gone.add("u")
        await self.ask(fetch, 0)
        await self.retain()
        await self.produce()

    async def ask(
        self,
        question: Callable[Concatenate[Connection, P], Answer],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Answer:
        async with asyncio.timeout(PATIENCE_S):
            return await with_client(
                self.server, lambda connection: question(connection, *args, **kwargs)
            )

    async def produce(self, topic: str = "t") -> bool:
        """Send a record; whether it was acknowledged."""
        value = b"value %d" % len(self.memory.sent)
        if topic == "t":
            self.memory.sent.append(value)
        offset = await self.ask(produce, topic, value)
        if topic == "t" and offset is not None:
            assert offset not in self.memory.acknowledged
            self.memory.acknowledged[offset] = value
        return offset is not None

    async def delete_records(self, offset: int) -> None:
        self.memory.deleting_below = offset
        if await self.ask(delete_records, offset) == ErrorCode.NONE:
            self.memory.deleted_below = offset

    async def checkpoint(self) -> None:
        await self.server.services.replica_manager.checkpointer.write()

    async def retain(self) -> None:
        """What the periodic jobs do, one after the other."""
        self.clock.advance(301_000)
        await self.rest()

    async def rest(self) -> None:
        """Until no thread has anything to do."""
        services, catalog = self.server.services, self.server._catalog
        assert catalog is not None
        for _ in range(3):
            await until(
                lambda: not (services.disk_threads._unfinished or catalog._is_busy)
            )
            for _ in range(20):
                await asyncio.sleep(0)

    async def is_up(self) -> None:
        await self.ask(topic_names)

    async def stop(self) -> None:
        stopping = asyncio.ensure_future(self.server.stop())
        while not stopping.done():
            await self.clock.tick(1)
        await stopping
        assert self.server.bugs.count == 0

    async def keep_crashed(self, aside: Path) -> FakeFiles:
        """The disk as it is after a power cut now, its catalogue put ``aside``."""
        await self.rest()
        shutil.copytree(
            self.directory, aside, ignore=shutil.ignore_patterns("admin.sock")
        )
        files = copy.deepcopy(self.files)
        files.power_cut()
        files.heal()
        return files

    def next_life(self, files: FakeFiles, catalog: Path | None = None) -> "BrokerLife":
        """The broker after this one; with the catalogue that was put aside."""
        if catalog is not None:
            shutil.rmtree(self.directory)
            shutil.copytree(catalog, self.directory)
        following = BrokerLife(self.directory, files)
        following.memory = copy.deepcopy(self.memory)
        return following

    async def check_after_restart(self) -> None:
        """A healthy broker on what is there now keeps all that was promised."""
        await self.start()
        try:
            topics = await self.ask(topic_names)
            assert not self.memory.gone & topics
            if "t" in topics:
                found, log_start = await self.ask(read_all)
                self.memory.check(found, log_start)
                assert await self.produce()
            else:
                assert not self.memory.acknowledged
        finally:
            await self.stop()


def no_system_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the committer sync the fake files, not the file system below the test."""
    monkeypatch.setattr(
        "odradek.broker.durability.committer.file_system_sync", lambda directory: None
    )


def create_topic(
    connection: Connection, name: str, options: dict[str, str]
) -> ErrorCode:
    configs = [CreatableTopicConfig(name=key, value=options[key]) for key in options]
    topic = CreatableTopic(
        name=name, num_partitions=1, replication_factor=1, configs=configs
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
    (created,) = connection.request(request, CreateTopicsResponse, 5).topics
    return ErrorCode(created.error_code)


def delete_topic(connection: Connection, name: str) -> ErrorCode:
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS)
    (deleted,) = connection.request(request, DeleteTopicsResponse, 5).responses
    return ErrorCode(deleted.error_code)


def produce(connection: Connection, topic: str, value: bytes) -> int | None:
    batch = bytes(build_batch([NewRecord(b"k", value, 1_700_000_000_000)]))
    data = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        acks=-1,
        timeout_ms=TIMEOUT_MS,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
    response = connection.request(request, ProduceResponse, 9)
    (partition,) = response.responses[0].partition_responses
    return None if partition.error_code else partition.base_offset


def delete_records(connection: Connection, offset: int) -> ErrorCode:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="t", partitions=[partition])],
        timeout_ms=TIMEOUT_MS,
    )
    response = connection.request(request, DeleteRecordsResponse, 2)
    return ErrorCode(response.topics[0].partitions[0].error_code)


def fetch(
    connection: Connection, offset: int
) -> tuple[ErrorCode, list[tuple[int, bytes | None]]]:
    """The error, and what there is from ``offset`` on."""
    response = connection.request(fetch_request(offset), FetchResponse, 12)
    (partition,) = response.responses[0].partitions
    records = memoryview(partition.records or b"")
    found = [
        (each.offset, each.value)
        for position, header in scan(records)
        for each in iterate(records[position : position + header.size])
        if each.offset >= offset
    ]
    return ErrorCode(partition.error_code), found


def log_start_of(connection: Connection) -> int:
    partition = ListOffsetsPartition(partition_index=0, timestamp=EARLIEST)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[partition])]
    )
    response = connection.request(request, ListOffsetsResponse, 7)
    (found,) = response.topics[0].partitions
    assert not found.error_code
    return found.offset


def read_all(connection: Connection) -> tuple[dict[int, bytes | None], int]:
    """All of topic ``t``, and its log start."""
    log_start = offset = log_start_of(connection)
    found: dict[int, bytes | None] = {}
    while True:
        error, records = fetch(connection, offset)
        assert error == ErrorCode.NONE
        if not records:
            return found, log_start
        found |= dict(records)
        offset = records[-1][0] + 1


def topic_names(connection: Connection) -> set[str]:
    response = connection.request(MetadataRequest(topics=None), MetadataResponse, 9)
    return {topic.name for topic in response.topics if topic.name}
