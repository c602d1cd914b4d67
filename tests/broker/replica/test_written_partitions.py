import asyncio
from pathlib import Path
from typing import Any

from broker.replica.written_partitions import WrittenPartitions
from protocol.errors import KafkaError, KafkaStorageError, UnknownTopicOrPartition
from protocol.topic_partition import TopicPartition


class FakeTopics:
    def __init__(self) -> None:
        self.commits: list[tuple[list[TopicPartition], str]] = []
        self.error: KafkaError | None = None

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
        self.refusal: KafkaError | None = None

    def on_written(self) -> None:
        self.events.append("written")

    def fail(self, error: KafkaError) -> None:
        self.events.append(error)


def fixture() -> tuple[Any, FakeTopics]:
    topics: Any = FakeTopics()
    return WrittenPartitions(topics), topics


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
    partition.refusal = UnknownTopicOrPartition()
    await written.recorded()
    assert (topics.commits, partition.events) == ([], [])


async def test_a_catalogue_that_fails_fails_the_partitions() -> None:
    written, topics = fixture()
    topics.error = KafkaStorageError("the catalogue is full")
    partition = FakePartition(0)
    written.add(partition)
    await written.recorded()
    assert partition.events == [topics.error]
    await written.recorded()
