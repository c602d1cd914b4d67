import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from odradek.broker.cluster.directories.told_directories import (
    LOST,
    UNASSIGNED,
    ToldDirectories,
)
from odradek.broker.quorum.image.image import (
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from odradek.broker.runtime.bugs import Bugs
from odradek.protocol.errors import KafkaStorageError
from odradek.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from tests.broker.cluster.directories.test_assignments import answer, told
from tests.fakes.clock import FakeClock
from tests.fakes.files import FakeFiles
from tests.storage.directory.test_log_directory import NoLock

US, OTHER = 1, 2
ID = b"t" * 16
T0 = TopicPartition("t", 0)
ROOTS = Path("/first"), Path("/second")


class FakeController:
    """It agrees, after so many failures; heartbeats are answered when the test says."""

    node_id, broker_epoch = US, 100

    def __init__(self) -> None:
        self.membership = self
        self.failures: list[Exception] = []
        self.asked: list[AssignReplicasToDirsRequest] = []
        self.was_asked = asyncio.Event()
        self.lost: list[bytes] = []
        self.told: set[bytes] = set()
        self.reasons: list[str] = []

    async def ask_controller(
        self, request: Any, _: Any
    ) -> AssignReplicasToDirsResponse:
        if self.failures:
            raise self.failures.pop()
        self.asked.append(request)
        self.was_asked.set()
        return answer(told(request))

    def lose_directory(self, directory_id: bytes) -> None:
        self.lost.append(directory_id)

    def has_told(self, directory_id: bytes) -> bool:
        return directory_id in self.told

    def fail(self, reason: str) -> None:
        self.reasons.append(reason)


class ShortClock(FakeClock):
    """By which waits are over in the next turn."""

    async def sleep(self, delay_ms: float) -> None:
        await asyncio.sleep(0)


class World:
    def __init__(self) -> None:
        files = FakeFiles()
        self.directories = LogDirectories([LogDirectory(files, x) for x in ROOTS])
        self.directories.open("c", US, NoLock, lambda _: None)
        self.first, self.second = self.directories
        self.topics: Any = SimpleNamespace(offline=set(), strangers=set())
        self.source = SimpleNamespace(image=MetadataImage())
        self.controller, self.clock, self.bugs = FakeController(), ShortClock(), Bugs()
        log_manager: Any = SimpleNamespace(directories=self.directories)
        self.told = ToldDirectories(
            log_manager,
            self.topics,
            self.source,
            self.controller,
            self.clock,
            self.bugs,
            30_000,
        )

    def know(self, directory_id: bytes | None, *replicas: int) -> None:
        """The metadata say that our replica is there."""
        everyone = replicas or (OTHER, US)
        places = tuple(
            (directory_id or bytes(16)) if each == US else b"x" * 16
            for each in everyone
        )
        partition = PartitionImage(
            everyone, everyone, everyone[0], 3, 5, directories=places
        )
        topic = TopicImage("t", ID, {0: partition})
        self.source.image = MetadataImage(topics={ID: topic}, topic_ids={"t": ID})

    async def asked(self) -> list[bytes]:
        """What was told, once there is nothing left to tell."""
        running = asyncio.get_running_loop().create_task(self.told.asked.run())
        for _ in range(20):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        asked, self.controller.asked = self.controller.asked, []
        return [each for request in asked for each in told(request).values()]


async def test_a_log_that_is_made_or_moves_is_told() -> None:
    world = World()
    world.know(UNASSIGNED)
    world.told.look([T0])
    assert await world.asked() == [], "it is nowhere yet"
    world.directories.settle(T0, world.first)
    assert await world.asked() == [world.first.directory_id]
    world.know(world.first.directory_id)
    world.told.look([T0])
    assert await world.asked() == [], "they know"
    world.directories.settle(T0, world.second)
    assert await world.asked() == [world.second.directory_id]


async def test_what_is_not_ours_or_not_known_is_not_told() -> None:
    world = World()
    world.directories.settle(T0, world.first)
    world.know(None, OTHER)
    world.told.look([T0, TopicPartition("t", 1)])
    world.know(UNASSIGNED)
    world.topics.strangers.add(T0)  # another one of this name
    world.told.look([T0])
    assert await world.asked() == []


async def test_what_cannot_be_used_is_lost_and_may_come_back() -> None:
    world = World()
    world.know(world.first.directory_id)
    world.told.look_at_offline()
    assert await world.asked() == []
    world.topics.offline.add(T0)
    world.told.look_at_offline()
    assert await world.asked() == [LOST]
    world.topics.offline.clear()
    world.know(LOST)
    world.directories.settle(T0, world.second)
    assert await world.asked() == [world.second.directory_id]


async def test_what_has_no_log_yet_is_not_left_in_a_directory_that_fails() -> None:
    world = World()
    world.know(world.first.directory_id)
    world.directories.fail(world.first.path, KafkaStorageError("EIO"))
    world.told.look([T0])
    assert await world.asked() == [world.second.directory_id]


async def test_a_log_in_a_directory_that_has_failed_is_told_all_the_same() -> None:
    """The controllers then have others lead it, also if they did not know where."""
    world = World()
    world.know(UNASSIGNED)
    world.directories.settle(T0, world.first)
    world.directories.fail(world.first.path, KafkaStorageError("EIO"))
    assert await world.asked() == [world.first.directory_id]


async def test_it_is_told_until_somebody_hears() -> None:
    world = World()
    world.know(UNASSIGNED)
    world.controller.failures = [AssertionError("a bug"), ConnectionResetError()]
    world.directories.settle(T0, world.first)
    assert await world.asked() == [world.first.directory_id]
    assert world.bugs.count == 1


async def test_a_directory_that_fails_is_named_in_heartbeats() -> None:
    world = World()
    world.directories.fail(world.first.path, KafkaStorageError("EIO"))
    world.directories.fail(world.first.path, KafkaStorageError("again"))
    assert world.first.directory_id is not None
    assert world.controller.lost == [world.first.directory_id]
    world.controller.told.add(world.first.directory_id)
    world.clock.advance(30_000)
    assert world.controller.reasons == []


async def test_who_cannot_tell_that_a_directory_has_failed_stops() -> None:
    world = World()
    world.directories.fail(world.first.path, KafkaStorageError("EIO"))
    world.clock.advance(29_999)
    assert world.controller.reasons == []
    world.clock.advance(1)
    (reason,) = world.controller.reasons
    assert "/first has failed" in reason
    assert "30000 ms" in reason


async def test_who_has_no_directory_left_stops() -> None:
    world = World()
    world.directories.fail(world.first.path, KafkaStorageError("EIO"))
    world.directories.fail(world.second.path, KafkaStorageError("EIO"))
    assert world.controller.reasons == ["no log directory is left: EIO"]
