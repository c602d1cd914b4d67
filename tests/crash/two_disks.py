"""A broker on two log directories, the first of which can break."""

import errno
from pathlib import Path

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener
from odradek.broker.node.server import Server
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
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.files.files import Buffer, File, OsFile, OsFiles, StorageFailure
from tests.broker.node.test_server import with_client

PARTITIONS = 6
OFFLINE = 56
ABSENT = -1
SMALL_SEGMENTS = CreatableTopicConfig(name="internal.segment.bytes", value="300")


class BadDiskFiles(OsFiles):
    """The real files; from ``break_at`` on one kind of call fails below ``root``."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.broken: str | None = None
        self.failure_count = 0

    def open(self, path: Path, *, create: bool = False) -> File:
        if create:
            self.check("open", path)
            super().open(path, create=True).close()
        return BadDiskFile(self, path, self.size(path))

    def rename(self, source: Path, target: Path) -> None:
        self.check("rename", source)
        super().rename(source, target)

    def sync_directory(self, path: Path) -> None:
        self.check("sync", path)
        super().sync_directory(path)

    def listdir(self, path: Path) -> list[str]:
        self.check("listdir", path)
        return super().listdir(path)

    def check(self, operation: str, path: Path) -> None:
        if self.broken in (operation, "any") and path.is_relative_to(self.root):
            self.failure_count += 1
            raise StorageFailure(f"{path}: it broke") from OSError(errno.EIO, "EIO")


class BadDiskFile(OsFile):
    def __init__(self, files: BadDiskFiles, path: Path, size: int) -> None:
        super().__init__(files, path, size)
        self._owner = files

    def append(self, data: Buffer) -> None:
        self._owner.check("append", self.path)
        super().append(data)

    def read_at(self, position: int, size: int, may_block: bool = True) -> memoryview:
        self._owner.check("read", self.path)
        return super().read_at(position, size, may_block)

    def sync(self) -> None:
        self._owner.check("sync", self.path)
        super().sync()


class Disks:
    """Two log directories, a catalogue beside them, and a broker on them."""

    def __init__(self, root: Path) -> None:
        self.bad, self.good = root / "bad", root / "good"
        self.config = BrokerConfig(
            log_dirs=(self.bad, self.good),
            metadata_log_dir=root / "catalogue",
            listeners=(Listener("PLAINTEXT", "127.0.0.1", 0),),
            log_min_free_bytes=0,
        )
        self.files = BadDiskFiles(self.bad)
        self.server = Server(self.config)

    async def start(self) -> None:
        self.files = BadDiskFiles(self.bad)
        self.server = Server(self.config, files=self.files)
        await self.server.start()

    async def stop(self) -> None:
        await self.server.stop()
        assert self.server.bugs.count == 0

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def create(self, name: str) -> None:
        def talk(connection: Connection) -> None:
            wanted = CreatableTopic(
                name=name,
                num_partitions=PARTITIONS,
                replication_factor=1,
                configs=[SMALL_SEGMENTS],
            )
            request = CreateTopicsRequest(topics=[wanted], timeout_ms=20_000)
            (made,) = connection.request(request, CreateTopicsResponse, 5).topics
            assert made.error_code == 0

        await with_client(self.server, talk)

    async def delete(self, name: str) -> int:
        def talk(connection: Connection) -> int:
            request = DeleteTopicsRequest(topic_names=[name], timeout_ms=20_000)
            response = connection.request(request, DeleteTopicsResponse, 5)
            return int(response.responses[0].error_code)

        return await with_client(self.server, talk)

    async def produce(self, name: str = "t") -> list[int]:
        """The error of each partition, after one record to all of them."""
        batch = bytes(build_batch([NewRecord(b"k", bytes(100), 0)]))
        data = [PartitionProduceData(index=n, records=batch) for n in range(PARTITIONS)]
        request = ProduceRequest(
            acks=-1,
            timeout_ms=20_000,
            topic_data=[TopicProduceData(name=name, partition_data=data)],
        )

        def talk(connection: Connection) -> list[int]:
            response = connection.request(request, ProduceResponse, 9)
            answers = response.responses[0].partition_responses
            return [each.error_code for each in sorted(answers, key=_index)]

        return await with_client(self.server, talk)

    async def counts(self, name: str = "t") -> list[int]:
        """How many batches each partition has; ``ABSENT`` when it is offline."""
        return await with_client(
            self.server,
            lambda connection: [_count(connection, name, n) for n in range(PARTITIONS)],
        )

    async def leaders(self, name: str = "t") -> list[int]:
        def talk(connection: Connection) -> list[int]:
            request = MetadataRequest(topics=None)
            response = connection.request(request, MetadataResponse, 9)
            (topic,) = [each for each in response.topics if each.name == name]
            partitions = sorted(topic.partitions, key=lambda each: each.partition_index)
            return [each.leader_id for each in partitions]

        return await with_client(self.server, talk)

    def on_bad(self, name: str = "t") -> list[bool]:
        return [(self.bad / f"{name}-{n}").exists() for n in range(PARTITIONS)]


def _count(connection: Connection, name: str, partition: int) -> int:
    """Every segment is read, and answered by itself."""
    count = high_watermark = 0
    while count == 0 or count < high_watermark:
        wanted = FetchPartition(
            partition=partition, fetch_offset=count, partition_max_bytes=1 << 20
        )
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 24,
            topics=[FetchTopic(topic=name, partitions=[wanted])],
        )
        response = connection.request(request, FetchResponse, 12)
        (found,) = response.responses[0].partitions
        if found.error_code == OFFLINE:
            return ABSENT
        assert found.error_code == 0
        offsets = [
            each.base_offset for _, each in scan(memoryview(found.records or b""))
        ]
        assert offsets == list(range(count, count + len(offsets)))
        count, high_watermark = count + len(offsets), found.high_watermark
    assert count == high_watermark
    return count


def _index(answer: object) -> int:
    return int(answer.index)  # type: ignore[attr-defined]
