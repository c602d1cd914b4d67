import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.catalog.catalog import Catalog, Change
from odradek.broker.metadata.catalog.store import CatalogStore
from odradek.broker.metadata.topics import NewTopic, PartitionInfo, Topic, Topics
from odradek.protocol.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidTopic,
    KafkaError,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition


class CountingCatalog(Catalog):
    changes = 0

    def change(self, decide: Callable[[], Change]) -> asyncio.Future[Any]:
        self.changes += 1
        return super().change(decide)


def size_of(directory: Path) -> int:
    return sum(each.stat().st_size for each in directory.iterdir())


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[Topics]:
    catalog = Catalog.open(directory)
    try:
        yield Topics(catalog)
    finally:
        await catalog.close()


async def test_a_topic_is_there_when_it_is_committed(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        made = asyncio.ensure_future(topics.create_topic("a", 2, {"retention.ms": "1"}))
        await asyncio.sleep(0)
        assert topics.get("a") is None
        topic = await made
        assert topics.get("a") is topic
        assert topics.by_id(topic.topic_id) is topic
        assert topic.partitions == [PartitionInfo(0, 0), PartitionInfo(1, 0)]
    async with opened(tmp_path) as topics:
        again = topics.known("a")
        assert again.topic_id == topic.topic_id
        assert again.options == {"retention.ms": "1"}
        assert again.partitions == topic.partitions


async def test_two_creations_of_one_topic_cannot_race(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        results = await asyncio.gather(
            topics.create_topic("a", 1),
            topics.create_topic("a", 1),
            topics.create_topic("a", 1),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [
            Topic,
            TopicAlreadyExists,
            TopicAlreadyExists,
        ]
        assert len(topics) == 1


async def test_names_that_are_too_alike_collide(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        made = await topics.create_topics(
            [NewTopic(name, 1, {}) for name in ("a.b", "a_b", "c")]
        )
        assert [type(result) for result in made] == [Topic, InvalidTopic, Topic]
        with pytest.raises(InvalidTopic, match=r"collides with existing topic: a\.b"):
            await topics.create_topic("a_b", 1)


async def test_many_partitions_are_cheap(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        await topics.create_topic("wide", 10_000)
    assert size_of(tmp_path) < 200_000
    async with opened(tmp_path) as topics:
        assert len(topics.known("wide").partitions) == 10_000


async def test_partitions_are_added_and_never_taken_away(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        await topics.create_topic("a", 2)
        await topics.create_topic("b", 2)
        wanted = {"a": 3, "b": 1, "c": 2}
        results = await topics.create_partitions(wanted)
        assert [type(results[name]) for name in "abc"] == [
            type(None),
            InvalidPartitions,
            UnknownTopicOrPartition,
        ]
    async with opened(tmp_path) as topics:
        assert len(topics.known("a").partitions) == 3
        assert len(topics.known("b").partitions) == 2


async def test_options_change_and_whoever_watches_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        await topics.create_topic("a", 1, {"x": "1"})
        told: list[tuple[str, dict[str, str]]] = []
        topics.watch_options(lambda topic: told.append((topic.name, topic.options)))
        await topics.alter_options("a", lambda options: {**options, "y": "2"})
        assert told == [("a", {"x": "1", "y": "2"})]
        await topics.alter_options("a", dict)
        assert len(told) == 1
    async with opened(tmp_path) as topics:
        assert topics.known("a").options == {"x": "1", "y": "2"}


async def test_a_refused_change_of_options_changes_nothing(tmp_path: Path) -> None:
    def refuse(options: Mapping[str, str]) -> dict[str, str]:
        raise InvalidConfig("no")

    async with opened(tmp_path) as topics:
        await topics.create_topic("a", 1)
        with pytest.raises(InvalidConfig):
            await topics.alter_options("a", refuse)
        with pytest.raises(UnknownTopicOrPartition):
            await topics.alter_options("b", dict)
        assert topics.known("a").options == {}


async def test_a_deleted_topic_is_forgotten_step_by_step(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        topic = await topics.create_topic("a", 2)
        (deletion,) = await topics.begin_deletions([topic.topic_id, b"nobody"])
        assert topics.get("a") is None
        assert topics.by_id(topic.topic_id) is None
        with pytest.raises(TopicAlreadyExists, match="is being deleted"):
            await topics.create_topic("a", 1)
        topics.release_name(deletion)
        new = await topics.create_topic("a", 1)
        assert new.topic_id != topic.topic_id
    async with opened(tmp_path) as topics:
        # The files were never removed: the row is still there for it.
        assert topics.deletions == {topic.topic_id: deletion}
        assert topics.known("a").topic_id == new.topic_id
        assert not topics.is_reserved("a")
        await topics.finish_deletions([deletion])
        assert topics.deletions == {}
    async with opened(tmp_path) as topics:
        assert topics.deletions == {}
        assert len(topics) == 1


async def test_a_deletion_that_was_cut_short_keeps_its_name(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        topic = await topics.create_topic("a", 2)
        await topics.begin_deletions([topic.topic_id])
    async with opened(tmp_path) as topics:
        assert topics.get("a") is None
        assert topics.is_reserved("a")


async def test_written_partitions_are_remembered(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        await topics.create_topic("a", 3)
        asked = [TopicPartition("a", 1), TopicPartition("a", 9), TopicPartition("b", 0)]
        await topics.mark_written(asked, "/data")
        assert topics.partition(asked[0]) == PartitionInfo(1, 0, "/data", True)
        assert topics.partition(asked[1]) is None
        await topics.mark_written(asked, "/data")
    async with opened(tmp_path) as topics:
        assert [info.written for info in topics.known("a").partitions] == [
            False,
            True,
            False,
        ]


async def test_marks_that_come_one_after_the_other_are_all_committed(
    tmp_path: Path,
) -> None:
    """Also when the catalogue is idle, and decides in the same breath."""
    async with opened(tmp_path) as topics:
        await topics.create_topic("a", 4)
    async with opened(tmp_path) as topics:
        for number in range(4):
            await topics.mark_written([TopicPartition("a", number)], "d")
            assert topics.known("a").partitions[number].written
    async with opened(tmp_path) as topics:
        assert len(list(topics.written_partitions())) == 4


async def test_marks_that_come_together_share_a_commit(tmp_path: Path) -> None:
    catalog = CountingCatalog.open(tmp_path)
    assert isinstance(catalog, CountingCatalog)
    topics = Topics(catalog)
    await topics.create_topic("a", 100)
    before = catalog.changes
    await asyncio.gather(
        *(topics.mark_written([TopicPartition("a", n)], "d") for n in range(100))
    )
    assert catalog.changes - before <= 2
    assert all(info.written for info in topics.known("a").partitions)
    await catalog.close()


async def test_one_who_stops_waiting_for_a_mark_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as topics:
        await topics.create_topic("a", 2)
        first, second = (
            asyncio.ensure_future(topics.mark_written([TopicPartition("a", n)], "d"))
            for n in range(2)
        )
        await asyncio.sleep(0)
        first.cancel()
        await second
        assert all(info.written for info in topics.known("a").partitions)


async def test_leader_epochs_rise_and_never_fall(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        await topics.create_topic("a", 2)
        await topics.set_leader_epochs({TopicPartition("a", 1): 5})
        await topics.set_leader_epochs({TopicPartition("a", 1): 3})
        await topics.bump_leader_epochs()
        assert [info.leader_epoch for info in topics.known("a").partitions] == [1, 6]
        await topics.create_partitions({"a": 3})
    async with opened(tmp_path) as topics:
        assert [info.leader_epoch for info in topics.known("a").partitions] == [1, 6, 1]


async def test_a_topic_that_goes_while_its_partition_is_marked(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        topic = await topics.create_topic("a", 1)
        deleted = asyncio.ensure_future(topics.begin_deletions([topic.topic_id]))
        marked = asyncio.ensure_future(
            topics.mark_written([TopicPartition("a", 0)], "d")
        )
        await asyncio.gather(deleted, marked)
        assert topics.get("a") is None


async def test_creation_of_nothing_is_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        assert await topics.create_topics([]) == []
        assert len(topics.cluster_id) == 22


async def test_producer_ids_come_in_blocks(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        assert await topics.allocate_producer_id_block() == range(1000)


async def test_an_error_of_one_topic_is_no_error_of_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        await topics.create_topic("a", 1)
        made = await topics.create_topics([NewTopic("a", 1, {}), NewTopic("b", 1, {})])
        assert isinstance(made[0], KafkaError)
        assert topics.get("b") is made[1]


async def test_a_copy_is_what_the_topics_are_when_it_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as topics:
        for number in range(3):
            await topics.create_topic(f"t{number}", 1, {})
        copying = asyncio.ensure_future(
            topics.copy_to(tmp_path / "copy", lambda: [each.name for each in topics])
        )
        later = asyncio.ensure_future(topics.create_topic("later", 1, {}))
        told = await copying
        await later
    store = CatalogStore(tmp_path / "copy")
    assert sorted(each.name for each in store.topics()) == sorted(told)
    assert "later" not in told
    store.close()


async def test_who_watches_the_index_is_told_when_it_has_changed(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as topics:
        names: list[list[str]] = []
        topics.watch_index(lambda: names.append([each.name for each in topics]))
        topic = await topics.create_topic("a", 1)
        await topics.create_partitions({"a": 2, "b": 2})
        await topics.alter_options("a", lambda options: {"retention.ms": "1"})
        with pytest.raises(TopicAlreadyExists):
            await topics.create_topic("a", 1)
        await topics.begin_deletions([topic.topic_id])
        assert names == [["a"], ["a"], []]
