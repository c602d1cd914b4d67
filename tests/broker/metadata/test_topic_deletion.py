from pathlib import Path

from broker.metadata.topic_deletion import (
    delete_topics,
    finish_interrupted,
    remove_deleted,
)
from protocol.topic_partition import TopicPartition
from tests.fakes.topics import FakeLogManager, topic_broker

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))


async def test_a_deletion_goes_all_the_way(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 3)
        broker.log_manager.directories |= {A0, A2}
        await delete_topics(broker.services, [topic.topic_id])
        assert broker.log_manager.renamed == [A0, A2]
        assert broker.log_manager.checkpoint_count == 1
        assert broker.replica_manager.stopped == [A0, A1, A2]
        assert list(broker.topics.deletions) == [topic.topic_id]
        await remove_deleted(broker.services)
        assert broker.log_manager.renamed == []
        assert broker.topics.deletions == {}
        await remove_deleted(broker.services)
        assert broker.log_manager.removal_count == 1


async def test_a_kill_after_the_row_is_finished_by_the_next_start(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 3)
        await broker.topics.begin_deletions([topic.topic_id])
    async with topic_broker(tmp_path) as broker:
        broker.log_manager.directories |= {A0, A1}
        finish_interrupted(broker.topics, broker.services.log_manager)
        assert broker.log_manager.renamed == [A0, A1]
        assert broker.log_manager.checkpoint_count == 1
        assert not broker.topics.is_reserved("a")
        await remove_deleted(broker.services)
    async with topic_broker(tmp_path) as broker:
        assert broker.topics.deletions == {}


async def test_a_kill_in_the_middle_of_the_renaming(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 3)
        await broker.topics.begin_deletions([topic.topic_id])
    async with topic_broker(tmp_path) as broker:
        broker.log_manager.directories |= {A1}  # A0 had been renamed
        finish_interrupted(broker.topics, broker.services.log_manager)
        assert broker.log_manager.renamed == [A1]


async def test_the_directories_of_a_new_topic_of_that_name_are_left_alone(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 1)
        await delete_topics(broker.services, [topic.topic_id])
        await broker.topics.create_topic("a", 1)
    async with topic_broker(tmp_path) as broker:
        broker.log_manager.directories |= {A0}
        finish_interrupted(broker.topics, broker.services.log_manager)
        assert broker.log_manager.renamed == []
        assert broker.topics.get("a") is not None
        await remove_deleted(broker.services)
        assert broker.topics.deletions == {}


async def test_what_is_not_renamed_is_not_forgotten(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 1)
        await broker.topics.begin_deletions([topic.topic_id])
        await remove_deleted(broker.services)
        assert broker.log_manager.removal_count == 0
        assert list(broker.topics.deletions) == [topic.topic_id]


def test_the_fake_renames_what_it_has() -> None:
    manager = FakeLogManager(A0)
    manager.delete(A0)
    assert not manager.has_directory(A0)
