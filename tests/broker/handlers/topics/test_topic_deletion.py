import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.handlers.topics.topic_deletion import (
    delete_topics,
    finish_deletions,
    finish_interrupted,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.checkpoints import DirectoryFailure
from odradek.storage.files.files import DiskFull, StorageFailure
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas
from tests.fakes.topics import FakeLogManager, topic_broker
from tests.patience import PATIENCE_S

A0, A1, A2 = (TopicPartition("a", number) for number in range(3))


async def test_a_deletion_goes_all_the_way(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 3)
        broker.log_manager.names |= {A0, A2}
        await delete_topics(broker.services, [topic.topic_id])
        assert broker.log_manager.renamed == [A0, A2]
        assert broker.log_manager.checkpoint_count == 1
        assert broker.replica_manager.stopped == [A0, A1, A2]
        assert list(broker.topics.deletions) == [topic.topic_id]
        broker.log_manager.removal_job(0)()
        await finish_deletions(broker.services)
        assert broker.topics.deletions == {}


async def test_on_a_full_disk_what_is_deleted_makes_the_room(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 1)
        broker.log_manager.names.add(A0)
        broker.log_manager.errors = [DiskFull("no room for checkpoints")]
        await delete_topics(broker.services, [topic.topic_id])
        assert broker.log_manager.removal_count == 1
        assert broker.log_manager.checkpoint_count == 1
        assert not broker.topics.is_reserved("a")


async def test_a_topic_is_forgotten_when_its_files_are_removed(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 1)
        broker.log_manager.names.add(A0)
        await delete_topics(broker.services, [topic.topic_id])
        await finish_deletions(broker.services)
        assert broker.topics.deletions
        broker.log_manager.removal_job(0)()
        await finish_deletions(broker.services)
        assert not broker.topics.deletions


async def test_a_topic_is_not_forgotten_while_a_log_directory_is_missing(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 1)
        await delete_topics(broker.services, [topic.topic_id])
        broker.log_manager.directories.all_usable = False
        await finish_deletions(broker.services)
        assert broker.topics.deletions


async def test_a_deletion_that_had_no_room_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with topic_broker(tmp_path) as broker:
        topics = [await broker.topics.create_topic(name, 1) for name in "ab"]
        broker.log_manager.names |= {A0, TopicPartition("b", 0)}
        broker.log_manager.errors = [DiskFull("no room")] * 2
        with pytest.raises(DiskFull):
            await delete_topics(broker.services, [each.topic_id for each in topics])
        assert [broker.topics.is_reserved(name) for name in "ab"] == [True, True]
        broker.log_manager.errors = [StorageFailure("no way")]
        await finish_deletions(broker.services)
        assert "topics are not deleted yet: no way" in caplog.text
        await finish_deletions(broker.services)
        assert [broker.topics.is_reserved(name) for name in "ab"] == [False, False]
        assert broker.log_manager.checkpoint_count == 1


async def test_a_directory_that_cannot_be_renamed_keeps_no_other_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with topic_broker(tmp_path) as broker:
        topics = [await broker.topics.create_topic(name, 1) for name in "ab"]
        broker.log_manager.names |= {A0, TopicPartition("b", 0)}
        delete = broker.log_manager.delete

        def fail_first(partition: TopicPartition, removal_ms: int = 0) -> None:
            if partition == A0:
                raise StorageFailure("no way")
            delete(partition, removal_ms)

        monkeypatch.setattr(broker.log_manager, "delete", fail_first)
        with pytest.raises(StorageFailure):
            await delete_topics(broker.services, [each.topic_id for each in topics])
        assert [broker.topics.is_reserved(name) for name in "ab"] == [True, False]
        assert broker.topics.interrupted_deletions == {topics[0].topic_id}
        assert broker.log_manager.checkpoint_count == 1


async def test_topics_that_go_together_share_the_checkpoints(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topics = [await broker.topics.create_topic(name, 1) for name in "ab"]
        broker.log_manager.names |= {A0, TopicPartition("b", 0)}
        await delete_topics(broker.services, [each.topic_id for each in topics])
        assert broker.log_manager.checkpoint_count == 1


async def test_a_kill_after_the_row_is_finished_by_the_next_start(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 3)
        await broker.topics.begin_deletions([topic.topic_id])
    async with topic_broker(tmp_path) as broker:
        broker.log_manager.names |= {A0, A1}
        finish_interrupted(broker.topics, broker.services.log_manager)
        assert broker.log_manager.renamed == [A0, A1]
        assert broker.log_manager.checkpoint_count == 1
        assert not broker.topics.is_reserved("a")
        broker.log_manager.removal_job(0)()
        await finish_deletions(broker.services)
    async with topic_broker(tmp_path) as broker:
        assert broker.topics.deletions == {}


async def test_a_kill_in_the_middle_of_the_renaming(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 3)
        await broker.topics.begin_deletions([topic.topic_id])
    async with topic_broker(tmp_path) as broker:
        broker.log_manager.names |= {A1}  # A0 had been renamed
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
        broker.log_manager.names |= {A0}
        finish_interrupted(broker.topics, broker.services.log_manager)
        assert broker.log_manager.renamed == []
        assert broker.topics.get("a") is not None
        await finish_deletions(broker.services)
        assert broker.topics.deletions == {}


async def test_what_is_not_renamed_is_not_forgotten(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 1)
        await broker.topics.begin_deletions([topic.topic_id])
        await finish_deletions(broker.services)
        assert list(broker.topics.deletions) == [topic.topic_id]


def test_the_fake_renames_what_it_has() -> None:
    manager = FakeLogManager(A0)
    manager.delete(A0)
    assert not manager.has_directory(A0)


async def write(broker: Replicas, topic_partition: TopicPartition) -> Any:
    """The result of a batch that is acknowledged by acks=all."""
    entries = {topic_partition: batch_of(b"v")}
    future = broker.manager.append_records(entries, acks=-1, timeout_ms=30_000)
    await broker.commit()
    return (await future)[topic_partition]


def names(files: FakeFiles) -> list[str]:
    return sorted(
        path.name
        for path in (each.parent for each in files.paths())
        if path.name.startswith("a-0")
    )


async def load_groups(broker: Replicas) -> None:
    """A deleted topic is forgotten with its offsets: they must be known."""
    broker.services.groups.load_all()
    await broker.services.groups.runtime.loaded()


def remove_all(broker: Replicas) -> None:
    job = broker.logs.removal_job(broker.clock.now_ms())
    if job is not None:
        job()


async def test_the_files_go_after_the_delay_of_the_topic(tmp_path: Path) -> None:
    files = disk()
    async with replicas(tmp_path, files) as broker:
        await load_groups(broker)
        await broker.create_topic("a", file_delete_delay_ms="5000")
        await write(broker, A0)
        await delete_topics(broker.services, [broker.topics.known("a").topic_id])
        broker.clock.advance(4999)
        remove_all(broker)
        await finish_deletions(broker.services)
        assert names(files)
        assert broker.topics.deletions
        broker.clock.advance(1)
        remove_all(broker)
        await finish_deletions(broker.services)
        assert not names(files)
        assert not broker.topics.deletions


async def test_a_directory_that_cannot_be_renamed_fails_and_keeps_the_name(
    tmp_path: Path,
) -> None:
    files = disk()
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        await load_groups(broker)
        await broker.create_topic("a")
        await write(broker, A0)
        files.fail("rename")
        with pytest.raises(DirectoryFailure):
            await delete_topics(broker.services, [broker.topics.known("a").topic_id])
        assert broker.topics.is_reserved("a")
        assert not broker.logs.directories.all_usable
        await finish_deletions(broker.services)
        assert broker.topics.is_reserved("a")
    async with replicas(tmp_path, files) as broker:
        await load_groups(broker)
        finish_interrupted(broker.topics, broker.logs)
        assert not broker.topics.is_reserved("a")
        assert not broker.logs.has_directory(A0)
        remove_all(broker)
        await finish_deletions(broker.services)
        assert not names(files)
        assert not broker.topics.deletions


def disk() -> FakeFiles:
    """A disk whose data directory a power cut leaves there."""
    files = FakeFiles()
    files.mkdir(LOG_DIR)
    files.sync_directory(LOG_DIR.parent)
    return files


async def test_a_new_topic_of_the_same_name_starts_empty(tmp_path: Path) -> None:
    files = disk()
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        await load_groups(broker)
        await broker.create_topic("a")
        for _ in range(3):
            assert (await write(broker, A0)).error_code == 0
        old = broker.topics.known("a")
        await delete_topics(broker.services, [old.topic_id])
        await broker.create_topic("a")
        new = broker.topics.known("a")
        assert (await write(broker, A0)).base_offset == 0
    files.power_cut()
    async with replicas(tmp_path, files) as broker:
        await load_groups(broker)
        finish_interrupted(broker.topics, broker.logs)
        await broker.manager.open([A0])
        assert broker.topics.known("a").topic_id == new.topic_id
        assert broker.logs.topic_id_of(A0) == new.topic_id
        assert broker.log_of(A0).log_end_offset == 1
        remove_all(broker)
        await finish_deletions(broker.services)
        assert set(names(files)) == {"a-0"}
        assert broker.topics.deletions == {}


async def test_whoever_waits_for_a_deleted_topic_is_told(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("a")
        entries = {A0: batch_of(b"v")}
        future = broker.manager.append_records(entries, acks=-1, timeout_ms=30_000)
        await delete_topics(broker.services, [broker.topics.known("a").topic_id])
        (result,) = (await future).values()
        assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_kill_before_the_renaming_leaves_nothing_of_the_topic(
    tmp_path: Path,
) -> None:
    files = disk()
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        await load_groups(broker)
        await broker.create_topic("a")
        await write(broker, A0)
        await broker.topics.begin_deletions([broker.topics.known("a").topic_id])
    files.power_cut()
    async with replicas(tmp_path, files) as broker:
        await load_groups(broker)
        finish_interrupted(broker.topics, broker.logs)
        assert not broker.logs.has_directory(A0)
    async with replicas(tmp_path, files) as broker:
        await load_groups(broker)
        finish_interrupted(broker.topics, broker.logs)
        await broker.create_topic("a")
        assert (await write(broker, A0)).base_offset == 0
        remove_all(broker)
        await finish_deletions(broker.services)
        assert broker.topics.deletions == {}


async def begun_by_a_share_group(broker: Replicas, name: str) -> ShareKey:
    """A share group has begun with a topic."""
    key = ShareKey("g", broker.topics.known(name).topic_id, 0)
    begun = broker.services.share_states.initialise({key: 0}, 1, dict)
    assert isinstance(begun, Parked)
    async with asyncio.timeout(PATIENCE_S):
        while not begun.done():
            await broker.commit()
            await asyncio.sleep(0)
    assert begun.result() == {key: None}
    return key


async def test_what_share_groups_did_with_a_topic_goes_with_it(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await load_groups(broker)
        await broker.create_topic("a")
        key = await begun_by_a_share_group(broker, "a")
        states = broker.services.share_states
        assert states.read(key, -1).start == 0
        await delete_topics(broker.services, [key.topic_id])
        assert not any(shard.state.states for shard in states.runtime.shards())
        remove_all(broker)
        await finish_deletions(broker.services)
        assert not broker.topics.deletions
        await states.close()


async def test_share_groups_know_nothing_without_their_own_topic(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await load_groups(broker)
        await broker.create_topic("a")
        key = await begun_by_a_share_group(broker, "a")
        await broker.commit()
        states = broker.services.share_states
        topic = broker.topics.known("__share_group_state")
        await delete_topics(broker.services, [topic.topic_id])
        assert not states.has_topic
        assert not list(states.runtime.shards())
        assert await begun_by_a_share_group(broker, "a") == key
        assert states.read(key, -1).start == 0
        await states.close()
