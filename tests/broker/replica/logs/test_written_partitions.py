import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.logs.written_partitions import RETRY_MS, WrittenPartitions
from odradek.protocol.errors import (
    KafkaError,
    KafkaStorageError,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import DiskFull
from tests.fakes.clock import FakeClock


class FakeTopics:
    def __init__(self) -> None:
        self.commits: list[tuple[list[TopicPartition], str]] = []
        self.error: KafkaError | None = None
        self.catalog_failure: str | None = None

    async def mark_written(self, partitions: Any, directory: str) -> None:
        self.commits.append((list(partitions), directory))
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error


class FakeCommitter:
    def __init__(self, directory: str) -> None:
        self.directory = Path(directory)


class FakePartition:
    def __init__(self, number: int, directory: str = "/logs") -> None:
        self.topic_partition = TopicPartition("t", number)
        self.committer = FakeCommitter(directory)
        self.events: list[object] = []
        self.leadership = self  # it has no such part
        self.refusal: KafkaError | None = None

    def on_written(self) -> None:
        self.events.append("written")

    def fail(self, error: KafkaError) -> None:
        self.events.append(error)


def fixture(clock: FakeClock | None = None) -> tuple[Any, FakeTopics]:
    topics: Any = FakeTopics()
    return WrittenPartitions(topics, clock or FakeClock()), topics


async def test_those_of_one_turn_share_a_commit() -> None:
    written, topics = fixture()
    partitions = [FakePartition(number) for number in range(3)]
    for partition in partitions:
        written.add(partition)
    assert partitions[0].events == []
    await written.recorded()
    assert len(topics.commits) == 1
    assert all(partition.events == ["written"] for partition in partitions)


async def test_each_directory_has_its_own_commit() -> None:
    written, topics = fixture()
    written.add(FakePartition(0, "/a"))
    written.add(FakePartition(1, "/b"))
    await written.recorded()
    assert [directory for _, directory in topics.commits] == ["/a", "/b"]


async def test_what_comes_meanwhile_goes_into_the_next() -> None:
    written, topics = fixture()
    first, second = FakePartition(0), FakePartition(1)
    written.add(first)
    await asyncio.sleep(0)
    written.add(second)
    await written.recorded()
    assert [partitions for partitions, _ in topics.commits] == [
        [first.topic_partition],
        [second.topic_partition],
    ]
    assert second.events == ["written"]


async def test_a_partition_that_is_deleted_meanwhile_is_left_out() -> None:
    written, topics = fixture()
    partition = FakePartition(0)
    written.add(partition)
    partition.leadership.refusal = UnknownTopicOrPartition()
    await written.recorded()
    assert (topics.commits, partition.events) == ([], [])


async def test_a_catalogue_that_fails_fails_the_partitions() -> None:
    written, topics = fixture()
    topics.error = KafkaStorageError("the catalogue has failed")
    topics.catalog_failure = "disk I/O error"
    partition = FakePartition(0)
    written.add(partition)
    await written.recorded()
    assert partition.events == [topics.error]
    await written.recorded()
    assert len(topics.commits) == 1


async def test_a_catalogue_without_room_is_asked_until_it_has_some() -> None:
    clock = FakeClock()
    written, topics = fixture(clock)
    topics.error = KafkaStorageError("the catalogue is full")
    partition = FakePartition(0)
    written.add(partition)
    await written.recorded()
    for _ in range(3):
        assert written.waiting == [partition.topic_partition]
        with pytest.raises(DiskFull):
            written.check_room()
        clock.advance(RETRY_MS)
        assert written.waiting == [partition.topic_partition]  # while it is asked
        await written.recorded()
    assert partition.events == []
    topics.error = None
    clock.advance(RETRY_MS)
    await written.recorded()
    assert partition.events == ["written"]
    assert (written.waiting, clock.timer_count) == ([], 0)
    written.check_room()


async def test_those_that_come_while_there_is_no_room_wait_for_the_next_try() -> None:
    clock = FakeClock()
    written, topics = fixture(clock)
    topics.error = KafkaStorageError("the catalogue is full")
    first, second = FakePartition(0), FakePartition(1)
    written.add(first)
    await written.recorded()
    topics.error = None
    written.add(second)
    assert len(topics.commits) == 1
    clock.advance(RETRY_MS)
    await written.recorded()
    assert len(topics.commits) == 2
    assert first.events == second.events == ["written"]


async def test_of_two_directories_the_one_that_was_recorded_is_not_again() -> None:
    written, topics = fixture()
    first, second = FakePartition(0, "/a"), FakePartition(1, "/b")

    def lose_room() -> None:
        topics.error = KafkaStorageError("the catalogue is full")

    first.on_written = lose_room  # type: ignore[method-assign]
    written.add(first)
    written.add(second)
    await written.recorded()
    assert written.waiting == [second.topic_partition]
    topics.error = None
    await written.recorded()
    assert [directory for _, directory in topics.commits] == ["/a", "/b", "/b"]
    assert second.events == ["written"]


async def test_who_is_deleted_while_it_waits_is_left_out() -> None:
    written, topics = fixture()
    topics.error = KafkaStorageError("the catalogue is full")
    partition, namesake = FakePartition(0), FakePartition(0)
    written.add(partition)
    await written.recorded()
    partition.leadership.refusal = UnknownTopicOrPartition()
    written.add(namesake)
    topics.error = None
    await written.recorded()
    assert (partition.events, namesake.events) == ([], ["written"])


async def test_one_made_while_its_namesake_is_recorded_is_recorded_too() -> None:
    written, _ = fixture()
    partition, namesake = FakePartition(0), FakePartition(0)
    written.add(partition)
    await asyncio.sleep(0)
    written.add(namesake)
    await written.recorded()
    assert namesake.events == ["written"]


async def test_a_stop_asks_once_more_and_waits_for_no_room() -> None:
    clock = FakeClock()
    written, topics = fixture(clock)
    topics.error = KafkaStorageError("the catalogue is full")
    written.add(FakePartition(0))
    await written.recorded()
    await written.close()
    assert len(topics.commits) == 2
    assert clock.timer_count == 0
