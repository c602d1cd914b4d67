"""A broker on two log directories, and what clients ask it about topic t."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener
from odradek.broker.node.server import Server
from odradek.broker.replica.partition.partition import Partition
from odradek.broker.upkeep.moving import Moving
from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.node.test_server import with_client
from tests.crash.broker_life import create_topic, produce, read_all
from tests.fakes.broker import until

T = TopicPartition("t", 0)
SMALL_SEGMENTS = {"internal.segment.bytes": "20000"}


class TwoDirectories:
    """A broker on two log directories, and what clients ask it."""

    def __init__(self, root: Path, **options: object) -> None:
        self.paths = [root / "one", root / "two"]
        self.config = BrokerConfig(
            log_dirs=tuple(self.paths),
            metadata_log_dir=root / "catalogue",
            listeners=(Listener("PLAINTEXT", "127.0.0.1", 0),),
            log_min_free_bytes=0,
            offsets_topic_num_partitions=1,
            **options,  # type: ignore[arg-type]
        )
        self.server = Server(self.config)

    async def restart(self) -> None:
        await self.server.stop()
        assert self.server.bugs.count == 0
        self.server = Server(self.config)
        await self.server.start()

    async def fill(self, count: int = 40, size: int = 500) -> None:
        await with_client(
            self.server, lambda client: create_topic(client, "t", SMALL_SEGMENTS)
        )
        await self.produce(count, size)

    async def produce(self, count: int, size: int = 500) -> None:
        def talk(client: Connection) -> None:
            for _ in range(count):
                assert produce(client, "t", bytes(size)) is not None

        await with_client(self.server, talk)

    async def ask(self, path: Path | str, *topics: str) -> list[ErrorCode]:
        """Ask that partition 0 of these be in ``path``; the error of each."""
        wanted = [AlterReplicaLogDirTopic(name=each, partitions=[0]) for each in topics]
        request = AlterReplicaLogDirsRequest(
            dirs=[AlterReplicaLogDir(path=str(path), topics=wanted)]
        )

        def talk(client: Connection) -> list[ErrorCode]:
            answer = client.request(request, AlterReplicaLogDirsResponse, 2)
            assert [each.topic_name for each in answer.results] == list(topics)
            return [ErrorCode(each.partitions[0].error_code) for each in answer.results]

        return await with_client(self.server, talk)

    async def begin(self, path: Path) -> None:
        assert await self.ask(path, "t") == [ErrorCode.NONE]

    async def move(self, path: Path) -> None:
        await self.begin(path)
        await self.moved()

    async def moved(self) -> None:
        await until(lambda: not self.moving._tasks)

    async def described(self) -> dict[Path, DescribeLogDirsPartition]:
        """Partition 0 of topic t, in each directory that has it."""
        request = DescribeLogDirsRequest(topics=None)
        answer = await with_client(
            self.server,
            lambda client: client.request(request, DescribeLogDirsResponse, 4),
        )
        return {
            Path(result.log_dir): partition
            for result in answer.results
            for topic in result.topics
            for partition in topic.partitions
            if topic.name == "t"
        }

    async def records(self) -> dict[int, bytes | None]:
        found, _ = await with_client(self.server, read_all)
        return found

    @property
    def moving(self) -> Moving:
        return self.server.services.moving

    @property
    def partition(self) -> Partition:
        return self.server.services.replica_manager.partition(T)

    @property
    def home(self) -> Path:
        assert self.partition.log is not None
        return self.partition.log.directory.parent

    @property
    def other(self) -> Path:
        return next(each for each in self.paths if each != self.home)

    @property
    def known_home(self) -> Path:
        """Where the catalogue has it."""
        info = self.server.services.metadata.partition(T)
        assert info is not None
        return Path(str(info.log_dir))

    def names(self, path: Path) -> list[str]:
        """What there is of topic t, but for what is only to be removed."""
        found = [each.name for each in path.iterdir() if each.name.startswith("t-0")]
        return [each for each in found if not each.endswith("-delete")]


@contextlib.asynccontextmanager
async def two_directories(
    root: Path, **options: object
) -> AsyncIterator[TwoDirectories]:
    disks = TwoDirectories(root, **options)
    await disks.server.start()
    try:
        yield disks
    finally:
        await disks.server.stop()
        assert disks.server.bugs.count == 0
