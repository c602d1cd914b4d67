"""Deletion of records, from the request to the durable log start."""

import asyncio
import copy
import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.broker.replica.waiting.delayed_delete_records import DeleteRecordsResult
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.protocol.errors import (
    ErrorCode,
    KafkaStorageError,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.broker import until
from tests.fakes.cluster import FakeCluster, led_by
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, marker_of, replicas

T0 = TopicPartition("t", 0)
CHECKPOINT = "log-start-offset-checkpoint"
CRASHES = 400 if os.environ.get("ODRADEK_LONG") else 25


async def filled(broker: Replicas, count: int = 5, **options: str) -> None:
    await broker.create_topic("t", 1, **options)
    append(broker, count)
    await broker.commit()


def append(broker: Replicas, count: int = 1, **options: Any) -> None:
    for _ in range(count):
        results = broker.manager.append_records(
            {T0: batch_of(b"value", **options)},
            acks=1,
            timeout_ms=1000,
            terms=OF_A_COORDINATOR,
        )
        assert results[T0].error_code == ErrorCode.NONE


def delete(broker: Replicas, offset: int, timeout_ms: int = 30_000, **more: Any) -> Any:
    partition = more.get("topic_partition", T0)
    return broker.manager.delete_records({partition: offset}, timeout_ms)


async def deleted(broker: Replicas, offset: int, **more: Any) -> DeleteRecordsResult:
    answer = delete(broker, offset, **more)
    results = answer if isinstance(answer, dict) else await answer
    (result,) = results.values()
    assert isinstance(result, DeleteRecordsResult)
    return result


def result(low_watermark: int, error_code: int = ErrorCode.NONE) -> DeleteRecordsResult:
    return DeleteRecordsResult(error_code, low_watermark)


def refused(error_code: int) -> DeleteRecordsResult:
    return DeleteRecordsResult(error_code, -1)


async def test_t136_delete_records_waits_low_watermark(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        answer = delete(broker, 2)
        partition = broker.manager.partition(T0)
        assert partition.view.log_start_offset == 2, "nobody reads it any more"
        assert (partition.low_watermark, answer.done()) == (0, False)
        assert await answer == {T0: result(2)}
        assert b"t 0 2" in broker.files.content(CHECKPOINT)


async def test_t136_it_waits_for_every_living_replica(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        cluster = broker.manager.cluster = FakeCluster()
        partition = broker.manager.partition(T0)
        partition.make_leader(led_by(1, 1, 2))
        assert partition.replication is not None
        cluster.dead.add(3)
        follower = partition.replication.follower(2, has_epoch=False)
        answer = delete(broker, 3)
        await until(lambda: partition.durable_log_start.offset == 3)
        partition.replication.note_fetch(follower, OffsetMetadata(5), 2)
        assert not answer.done()
        partition.replication.note_fetch(follower, OffsetMetadata(5), 3)
        assert await answer == {T0: result(3)}


async def test_t136_policy_44(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, cleanup_policy="compact")
        assert await deleted(broker, 2) == refused(ErrorCode.POLICY_VIOLATION)
        await broker.topics.alter_options("t", lambda _: {})
        assert await deleted(broker, 2) == result(2)


async def test_t136_minus_one_means_the_high_watermark(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        append(broker)
        assert await deleted(broker, -1) == result(5)
        await broker.commit()
        assert await deleted(broker, -1) == result(6)


async def test_offsets_that_are_refused(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        append(broker)
        out_of_range = refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        assert await deleted(broker, 6) == out_of_range, "above the high watermark"
        assert await deleted(broker, -2) == out_of_range
        assert broker.manager.partition(T0).view.log_start_offset == 0


async def test_below_the_log_start_it_answers_where_the_log_begins(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        await deleted(broker, 3)
        assert delete(broker, 1) == {T0: result(3)}, "at once"


async def test_partitions_that_are_refused(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        unknown = TopicPartition("nope", 0)
        internal = TopicPartition("__consumer_offsets", 0)
        results = broker.manager.delete_records({unknown: 0, internal: 0, T0: 0}, 1000)
        assert results == {
            unknown: refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            internal: refused(ErrorCode.INVALID_TOPIC_EXCEPTION),
            T0: result(0),
        }


async def test_a_partition_that_was_never_written(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        assert delete(broker, -1) == {T0: result(0)}
        assert delete(broker, 1) == {T0: refused(ErrorCode.OFFSET_OUT_OF_RANGE)}
        assert not broker.logs.logs()


async def test_who_no_longer_leads_answers_6(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        answer = delete(broker, 2)
        broker.manager.partition(T0).make_follower(led_by(2, leader_epoch=1))
        assert await answer == {T0: refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)}
        assert await deleted(broker, 3) == refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)


@pytest.mark.parametrize("reason", [UnknownTopicOrPartition(), KafkaStorageError()])
async def test_a_partition_that_goes_is_answered(tmp_path: Path, reason: Any) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        answer = delete(broker, 2)
        broker.manager.partition(T0).refuse(reason)
        assert await answer == {T0: refused(reason.code)}


async def test_a_disk_that_fails_takes_its_directory_with_it(tmp_path: Path) -> None:
    async with replicas(tmp_path, stops_cleanly=False) as broker:
        await filled(broker)
        broker.files.fail("sync")
        assert await deleted(broker, 2) == refused(ErrorCode.KAFKA_STORAGE_ERROR)
        assert broker.committer.directories[LOG_DIR].failure is not None
        assert await deleted(broker, 3) == refused(ErrorCode.KAFKA_STORAGE_ERROR)


async def test_time_is_over_for_slow_replicas(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        broker.manager.cluster = FakeCluster()
        broker.manager.partition(T0).make_leader(led_by(1, 1, 2))
        answer = delete(broker, 2, timeout_ms=8000)
        broker.clock.advance(7000)
        assert not answer.done()
        broker.clock.advance(1200)
        assert await answer == {T0: result(-1, ErrorCode.REQUEST_TIMED_OUT)}


async def test_a_client_without_patience_waits_for_our_disk(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        assert await deleted(broker, 2, timeout_ms=0) == result(2)


# A disk without room


def fill_up(files: FakeFiles, times: int = 1) -> None:
    for nth in range(1, times + 1):
        files.fail("append", nth=nth, error=errno.ENOSPC)


async def test_a_full_disk_is_given_the_room_of_what_is_deleted(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, count=40, internal_segment_bytes="200")
        first = LOG_DIR / "t-0" / "00000000000000000000.log"
        assert broker.files.exists(first)
        fill_up(broker.files, 2)  # nor where room is kept
        assert await deleted(broker, 30) == result(30)
        deleted_files = [p for p in broker.files.paths() if p.suffix == ".deleted"]
        assert not broker.files.exists(first)
        assert deleted_files == [], "at once, without file.delete.delay.ms"


async def test_on_a_full_disk_the_room_that_was_kept_is_taken(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        await broker.manager.checkpointer.write()
        fill_up(broker.files)
        assert await deleted(broker, 2) == result(2), "nothing of the log could go"


async def test_a_disk_that_stays_full_is_told_and_tried_again(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        fill_up(broker.files, 3)
        assert await deleted(broker, 2) == refused(ErrorCode.KAFKA_STORAGE_ERROR)
        assert not broker.committer.directories[LOG_DIR].failure
        assert await deleted(broker, 2) == result(2), "there is room again"


# What clients see, and what a transaction sees


async def test_t053_delete_records_past_open_txn_start(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, count=1)
        append(
            broker,
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        append(broker, 3)
        await broker.commit()
        partition = broker.manager.partition(T0)
        assert partition.view.last_stable_offset == 1
        assert await deleted(broker, 3) == result(3)
        assert partition.view.offsets() == (5, 3, 3)
        committed = FetchIsolation.TXN_COMMITTED
        assert partition.view.read(3, 1000, committed, min_one=True).records == b""
        broker.manager.append_records(
            {T0: marker_of(7, commits=False)},
            acks=1,
            timeout_ms=1000,
            terms=OF_A_COORDINATOR,
        )
        await broker.commit()
        assert partition.view.offsets() == (6, 6, 3)


# Crashes


class CrashingFiles(FakeFiles):
    """Keeps what a crash before the ``nth`` call from now on leaves behind."""

    def __init__(self, of: FakeFiles, nth: int, on_crash: Callable[[], None]) -> None:
        super().__init__()
        self._root = of._root
        self.left: FakeFiles | None = None
        self._countdown = nth
        self._on_crash = on_crash

    def called(self, operation: str, path: Path) -> None:
        self._countdown -= 1
        if self._countdown == 0:
            self.crash()
        super().called(operation, path)

    def crash(self) -> None:
        self.left = FakeFiles()
        self.left._root = copy.deepcopy(self._root)
        self._on_crash()


class LoopThreads(DiskThreads):
    """Runs jobs in no thread, but in some turn of the loop, in any order."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    async def run(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        for _ in range(self._chance.randrange(4)):
            await asyncio.sleep(0)
        return function(*args, **kwargs)


class Story:
    """Deletions among everything else, with crashes; what was promised must hold."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.files = FakeFiles()
        self.directory = directory
        self.chance = random.Random(seed)
        self.promised = self.end = 0
        self.at_crash = (0, 0)

    async def begin(self) -> None:
        async with replicas(self.directory, self.files) as broker:
            await filled(broker, internal_segment_bytes="200")
            self.end = 5

    async def live(self) -> None:
        """One life of a broker, up to its crash; the next begins with what is left."""
        files = CrashingFiles(self.files, self.chance.randrange(1, 100), self.note)
        threads = LoopThreads(self.chance)
        async with replicas(
            self.directory, files, threads=threads, stops_cleanly=False
        ) as broker:
            await broker.manager.open([T0])
            partition = broker.manager.partition(T0)
            assert self.promised <= partition.view.log_start_offset, "it came back"
            assert partition.view.high_watermark >= self.end, (
                "an acknowledged one is lost"
            )
            self.end = partition.view.high_watermark
            for _ in range(30):
                if files.left is None:
                    await self.step(broker)
            if files.left is None:
                files.crash()
        assert files.left is not None
        self.files = files.left
        if self.chance.random() < 0.5:
            self.files.power_cut()
        self.promised, self.end = self.at_crash

    def note(self) -> None:
        self.at_crash = self.promised, self.end

    async def step(self, broker: Replicas) -> None:
        what = self.chance.randrange(6)
        if what == 0:
            append(broker, self.chance.randrange(1, 6))
            await broker.commit()
            self.end = broker.manager.partition(T0).view.high_watermark
        elif what < 3:
            await self.delete(broker)
        elif what == 3:
            await broker.manager.checkpointer.write()
        else:
            now_ms = broker.clock.now_ms()
            broker.logs.delete_old_segments(broker.log_of(T0), now_ms)
            job = broker.logs.removal_job(now_ms + 100_000)
            if job is not None and self.chance.random() < 0.5:
                job()

    async def delete(self, broker: Replicas) -> None:
        """Delete twice, perhaps with a round of checkpoints between, all at once."""

        def promise(results: Any) -> None:
            assert results[T0].error_code == ErrorCode.NONE
            self.promised = max(self.promised, results[T0].low_watermark)

        partition = broker.manager.partition(T0)
        waiting: list[Any] = []
        for offset in (self.chance.randrange(partition.view.high_watermark + 1), -1):
            if self.chance.random() < 0.3:
                round_of_all = broker.manager.checkpointer.write()
                waiting.append(asyncio.ensure_future(round_of_all))
                for _ in range(self.chance.randrange(5)):
                    await asyncio.sleep(0)
            waiting.append(broker.manager.delete_records({T0: offset}, 1000, promise))
            if self.chance.random() < 0.5:
                break
        for answer in waiting:
            if answer is not None:
                await answer


@pytest.mark.parametrize("seed", range(CRASHES))
async def test_no_crash_brings_deleted_records_back(tmp_path: Path, seed: int) -> None:
    story = Story(tmp_path, seed)
    await story.begin()
    for _ in range(8):
        await story.live()
