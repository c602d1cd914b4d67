"""Batches of another cluster, appended and cut; see also the tests of mirrors."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.metadata.topic import NewTopic
from odradek.broker.replica.following import Following
from odradek.protocol.errors import NotLeaderOrFollower, PolicyViolation
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import random_uuid
from odradek.storage.files.files import DiskFull
from odradek.storage.values.log_read import FetchIsolation
from tests.broker.mirror.rig import SourceLog
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas

T0 = TopicPartition("t", 0)


async def followed(broker: Replicas) -> Following:
    services: Any = broker.services
    topic_id = random_uuid()
    await services.mirrored.begin(topic_id, "m")
    await broker.topics.create_topics([NewTopic("t", 1, {}, topic_id)])
    return Following(broker.topics, broker.manager, broker.logs, broker.clock)


async def test_batches_are_seen_when_they_are_durable(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        following, there = await followed(broker), SourceLog()
        partition = await following.copy(T0)
        there.append(batch_of(b"a"), epoch=2)
        there.append(batch_of(b"b"), epoch=2, offset=9)
        info = following.append(partition, there.data)
        assert (info.base_offset, info.last_offset) == (0, 9)
        assert partition.view.high_watermark == 0
        await broker.commit()
        assert partition.view.high_watermark == 10
        assert partition.is_written
        data = partition.view.read(0, 1 << 20, FetchIsolation.HIGH_WATERMARK, True)
        assert bytes(data.records) == there.data
        following.raise_log_start(partition, 5)
        assert partition.view.log_start_offset == 5
        following.raise_log_start(partition, 50)  # no further than what is here
        assert partition.view.log_start_offset == 10


async def test_a_copy_takes_no_other_writes_until_it_is_released(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        following, there = await followed(broker), SourceLog()
        partition = await following.copy(T0)
        there.append(batch_of(b"a"), epoch=2)
        following.append(partition, there.data)
        assert partition.append_usual(batch_of(b"x"), 0) is None
        with pytest.raises(PolicyViolation, match="read-only until it is promoted"):
            partition.leadership.check_writable()
        await broker.services.mirrored.promote(partition.topic_id)
        following.release(partition, 3)
        partition.leadership.check_writable()
        assert broker.log_of(T0).latest_epoch == 3
        with pytest.raises(NotLeaderOrFollower, match="a copy no longer"):
            following.append(partition, there.data)
        with pytest.raises(NotLeaderOrFollower, match="a copy no longer"):
            await following.copy(T0)


async def test_a_cut_is_written_down_before_the_files_change(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        following, there = await followed(broker), SourceLog()
        partition = await following.copy(T0)
        for value in (b"a", b"b", b"c"):
            there.append(batch_of(value))
        following.append(partition, there.data)
        await broker.commit()
        await broker.manager.checkpointer.write()
        await following.cut(
            partition, lambda log, now_ms: log.follow_out_of_range(0, 1, now_ms)
        )
        assert (partition.view.log_end_offset, partition.view.high_watermark) == (1, 1)
        await following.cut(
            partition, lambda log, now_ms: log.follow_out_of_range(7, 9, now_ms)
        )
        assert (partition.view.log_start_offset, partition.view.log_end_offset) == (
            7,
            7,
        )


async def test_without_room_nothing_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path) as broker:
        following, there = await followed(broker), SourceLog()
        partition = await following.copy(T0)
        there.append(batch_of(b"a"))
        free_space: Any = broker.manager.appends.free_space
        monkeypatch.setattr(free_space, "sample_if_due", lambda now_ms: None)
        free_space.low_directories = {LOG_DIR}
        with pytest.raises(DiskFull):
            following.append(partition, there.data)
        assert partition.view.log_end_offset == 0


async def test_a_cut_above_all_that_was_written_down_writes_nothing(
    tmp_path: Path,
) -> None:
    """After an election hundreds of logs may be cut; each would write of all."""
    async with replicas(tmp_path) as broker:
        following, there = await followed(broker), SourceLog()
        partition = await following.copy(T0)
        there.append(batch_of(b"a"))
        following.append(partition, there.data)
        await broker.commit()
        await broker.manager.checkpointer.write()
        for value in (b"b", b"c"):
            there.append(batch_of(value))
            following.append(partition, there.batches[-1])
        await broker.commit()
        written = broker.files.counts["rename"]
        await following.cut(
            partition, lambda log, now_ms: log.follow_out_of_range(0, 2, now_ms)
        )
        assert partition.view.log_end_offset == 2
        assert broker.files.counts["rename"] == written
        job = broker.logs.checkpoint_job()  # it is to say 2, and may be late
        await following.cut(
            partition, lambda log, now_ms: log.follow_out_of_range(0, 1, now_ms)
        )
        job()
        recovery_points = broker.files.content("recovery-point-offset-checkpoint")
        assert recovery_points == b"0\n1\nt 0 1\n"


async def test_a_cut_writes_of_its_own_directory_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk of another one that fails is nothing to this log."""
    async with replicas(tmp_path) as broker:
        following, there = await followed(broker), SourceLog()
        partition = await following.copy(T0)
        there.append(batch_of(b"a"))
        following.append(partition, there.data)
        await broker.commit()
        await broker.manager.checkpointer.write()
        asked: list[Any] = []
        job = broker.logs.checkpoint_job

        def note(only: Any = None) -> Any:
            asked.append(only)
            return job(only)

        monkeypatch.setattr(broker.logs, "checkpoint_job", note)
        await following.cut(
            partition, lambda log, now_ms: log.follow_out_of_range(0, 0, now_ms)
        )
        assert asked == [broker.logs.directories.homes[T0]]
        monkeypatch.undo()
