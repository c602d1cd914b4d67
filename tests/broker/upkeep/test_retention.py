import asyncio
import errno
from pathlib import Path
from typing import Any, cast

import pytest

from odradek.broker.replica.logs.free_space import FreeSpace
from odradek.broker.upkeep.retention import Retention
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.producers.table import PIECE_LENGTH
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas

HOUR_MS = 3_600_000
SMALL = {"internal_segment_bytes": "200"}


def retention(broker: Replicas, free_bytes: int = 1 << 30) -> Retention:
    return Retention(
        broker.clock,
        broker.logs,
        cast("Any", broker.committer),
        broker.threads,
        FreeSpace([LOG_DIR], 1 << 20, lambda _: free_bytes),
        broker.services.bugs,
    )


async def filled(broker: Replicas, name: str = "t", **options: str) -> TopicPartition:
    """Four batches, each in a segment of its own, durable."""
    partition = await broker.create_topic(name, **SMALL, **options)
    for _ in range(4):
        batch = batch_of(bytes(100))
        broker.manager.append_records({partition: batch}, acks=1, timeout_ms=1000)
    await broker.commit()
    return partition


def segment_count(broker: Replicas, partition: TopicPartition) -> int:
    return len(list(broker.log_of(partition).local.segments))


def deleted_files(broker: Replicas) -> list[Path]:
    return [path for path in broker.files.paths() if path.suffix == ".deleted"]


async def test_old_segments_go_and_their_files_when_the_delay_is_over(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        job = retention(broker)
        t0 = await filled(broker, retention_ms=str(HOUR_MS))
        broker.clock.advance(HOUR_MS)
        await job.delete_segments()
        assert segment_count(broker, t0) == 4
        broker.clock.advance(1)
        await job.delete_segments()
        assert segment_count(broker, t0) == 1
        assert broker.manager.partition(t0).view.log_start_offset == 4
        broker.clock.advance(59_999)
        await job.remove_files()
        assert len(deleted_files(broker)) > 4
        broker.clock.advance(1)
        await job.remove_files()
        assert deleted_files(broker) == []


async def test_where_room_is_short_files_go_at_once(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, retention_ms="1")
        broker.clock.advance(HOUR_MS)
        await retention(broker, free_bytes=1000).delete_segments()
        assert deleted_files(broker) == []


async def test_without_a_delay_the_files_go_at_once(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await filled(broker, retention_bytes="0", file_delete_delay_ms="0")
        await retention(broker).delete_segments()
        assert segment_count(broker, t0) == 1
        assert deleted_files(broker) == []


async def test_a_topic_that_is_only_compacted_keeps_everything(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        options = {"retention_ms": "1", "retention_bytes": "0"}
        kept = await filled(broker, "c", cleanup_policy="compact", **options)
        both = await filled(broker, "b", cleanup_policy="compact,delete", **options)
        job = retention(broker)
        broker.clock.advance(HOUR_MS)
        await job.delete_segments()
        assert segment_count(broker, kept) == 4
        assert segment_count(broker, both) == 1


async def test_r9_a_leap_of_the_clock_deletes_and_forgets_nothing(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await filled(broker, retention_ms=str(HOUR_MS))
        batch = batch_of(b"v", producer_id=7, producer_epoch=0, base_sequence=0)
        broker.manager.append_records({t0: batch}, acks=1, timeout_ms=1000)
        job = retention(broker)
        broker.clock.jump_wall(1000 * HOUR_MS)
        await job.delete_segments()
        await job.forget_producers()
        assert broker.manager.partition(t0).view.log_start_offset == 0
        assert broker.log_of(t0).producers.get(7)


async def test_silent_producers_are_forgotten(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        batch = batch_of(b"v", producer_id=7, producer_epoch=0, base_sequence=0)
        broker.manager.append_records({t0: batch}, acks=1, timeout_ms=1000)
        job = retention(broker)
        broker.clock.advance(24 * HOUR_MS - 1)
        await job.forget_producers()
        assert broker.log_of(t0).producers.get(7)
        broker.clock.advance(1)
        await job.forget_producers()
        assert broker.log_of(t0).producers.get(7) is None


async def test_others_have_their_turn_while_many_producers_are_forgotten(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        for producer_id in range(2 * PIECE_LENGTH + 1):
            batch = batch_of(
                b"v", producer_id=producer_id, producer_epoch=0, base_sequence=0
            )
            broker.manager.append_records({t0: batch}, acks=1, timeout_ms=1000)
        producers = broker.log_of(t0).producers
        broker.clock.advance(24 * HOUR_MS)
        job = asyncio.create_task(retention(broker).forget_producers())
        left = []
        while not job.done():
            await asyncio.sleep(0)
            left.append(len(producers))
        assert left == [2 * PIECE_LENGTH, PIECE_LENGTH, 0]


async def test_a_disk_that_fails_takes_no_more_writes(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await filled(broker, retention_bytes="0")
        broker.files.fail("rename")
        await retention(broker).delete_segments()
        assert broker.committer.for_directory(LOG_DIR).failure
        assert broker.log_of(t0).is_failed


async def test_a_full_disk_keeps_one_log_and_not_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, "a", retention_bytes="0")
        other = await filled(broker, "b", retention_bytes="0")
        broker.files.fail("rename", error=errno.ENOSPC)
        broker.files.fail("unlink", error=errno.ENOSPC)
        await retention(broker).delete_segments()
        assert segment_count(broker, other) == 1
        assert "it keeps what is old" in caplog.text


@pytest.mark.parametrize("job_name", ["delete_segments", "forget_producers"])
async def test_what_nobody_expected_of_one_log_keeps_no_other(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    job_name: str,
) -> None:
    async with replicas(tmp_path) as broker:
        bad = await filled(broker, "a", retention_bytes="0")
        good = await filled(broker, "b", retention_bytes="0")
        batch = batch_of(b"v", producer_id=7, producer_epoch=0, base_sequence=0)
        broker.manager.append_records({good: batch}, acks=1, timeout_ms=1000)
        await broker.commit()
        job = retention(broker)
        broker.clock.advance(25 * HOUR_MS)
        log = broker.log_of(bad)
        monkeypatch.setattr(log, "local", None)
        monkeypatch.setattr(log, "producers", None)
        for turn in range(1, 3):
            await getattr(job, job_name)()
            assert broker.services.bugs.count == turn
        assert "a-0" in caplog.text
        if job_name == "delete_segments":
            assert segment_count(broker, good) == 1
        else:
            assert broker.log_of(good).producers.get(7) is None
        broker.bugs.clear()
        monkeypatch.undo()


async def test_a_log_that_is_deleted_meanwhile_is_left_alone(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        partitions = [
            await filled(broker, f"t{number}", retention_bytes="0")
            for number in range(51)
        ]
        running = asyncio.create_task(retention(broker).delete_segments())
        await asyncio.sleep(0)  # as far as the pause after fifty logs
        last = broker.log_of(partitions[-1])
        broker.logs.delete(partitions[-1])
        await running
        assert len(list(last.local.segments)) == 4
