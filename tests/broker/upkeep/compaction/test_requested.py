"""Somebody asks for a partition to be compacted now."""

import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.broker.upkeep.compaction.cleaning import Cleaning
from odradek.broker.upkeep.compaction.cleaning_limits import CleaningLimits
from odradek.broker.upkeep.compaction.requested import Compacted, Compaction
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.upkeep.compaction.test_cleaning import (
    LIMITS,
    append,
    cleaning_of,
    compacted,
    slow_cleaning_of,
    values,
)
from tests.fakes.broker import until
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, marker_of, replicas


def compaction_with(broker: Replicas, cleaning: Cleaning) -> Compaction:
    committer: Any = broker.committer
    return Compaction(broker.manager, committer, broker.clock, cleaning)


def compaction_of(broker: Replicas, limits: CleaningLimits = LIMITS) -> Compaction:
    return compaction_with(broker, cleaning_of(broker, limits))


async def test_what_is_in_the_active_segment_is_compacted_too(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        append(broker, log.topic_partition, b"newest", key=b"other")
        size = sum(each.size for each in log.local.segments)
        done = await compaction_of(broker).compact(log.topic_partition)
        assert done == ("cleaned", None, 0, 6, 6, 2, size, done.bytes_after)
        assert values(log) == [b"3", b"newest"]
        assert done.bytes_after == sum(each.size for each in log.local.segments)


async def test_once_more_there_is_nothing_to_do(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        compaction = compaction_of(broker)
        await compaction.compact(log.topic_partition)
        count = len(log.local.segments)
        done = await compaction.compact(log.topic_partition)
        assert done == Compacted("nothing-to-clean", "it was cleaned before", 0, 5)
        assert len(log.local.segments) == count, "an empty segment is not sealed"


async def test_rounds_whose_keys_do_not_fit_into_memory_follow_each_other(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        topic_partition = await broker.create_topic("t", cleanup_policy="compact")
        for number in range(60):
            append(broker, topic_partition, b"%d" % number, key=b"%d" % (number % 20))
        await broker.commit()
        limits = CleaningLimits(map_size=2000)  # not even ten keys
        compaction = compaction_of(broker, limits)
        done = await compaction.compact(topic_partition)
        log = broker.log_of(topic_partition)
        assert values(log) == [b"%d" % number for number in range(40, 60)]
        assert (done.outcome, done.next_dirty_offset) == ("cleaned", 60)
        assert (done.records_before, done.records_after) == (60, 20)


async def test_young_records_are_left_and_not_sealed(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker, min_compaction_lag_ms="1000")
        compaction = compaction_of(broker)
        count = len(log.local.segments)
        done = await compaction.compact(log.topic_partition)
        reason = "its records are younger than min.compaction.lag.ms (1000)"
        assert done == Compacted("too-young", reason, 0, 0)
        assert len(log.local.segments) == count
        broker.clock.wall_ms += 1001
        done = await compaction.compact(log.topic_partition)
        assert (done.outcome, done.records_before) == ("cleaned", 5)


async def test_what_was_cleaned_and_what_is_too_young_for_it(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker, min_compaction_lag_ms="1000")
        broker.clock.wall_ms += 5000
        append_now = batch_of(b"new", key=b"k", timestamp=broker.clock.now_ms())
        broker.manager.append_records(
            {log.topic_partition: append_now}, acks=1, timeout_ms=1
        )
        done = await compaction_of(broker).compact(log.topic_partition)
        assert (done.outcome, done.records_before) == ("cleaned", 4)
        assert done.reason is not None
        assert done.reason.startswith("not all: its records are younger than")


async def test_an_open_transaction_is_waited_for(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        topic_partition = await broker.create_topic("t", cleanup_policy="compact")
        data = batch_of(
            b"1",
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        broker.manager.append_records({topic_partition: data}, acks=1, timeout_ms=1)
        await broker.commit()
        compaction = compaction_of(broker)
        done = await compaction.compact(topic_partition)
        reason = "a transaction is open from offset 0 on"
        assert done == Compacted("open-transaction", reason, 0, 0)
        assert len(broker.log_of(topic_partition).local.segments) == 1
        broker.manager.append_records(
            {topic_partition: marker_of(7, commits=True)},
            acks=1,
            timeout_ms=1,
            terms=OF_A_COORDINATOR,
        )
        done = await compaction.compact(topic_partition)
        assert (done.outcome, done.next_dirty_offset) == ("cleaned", 2)


async def test_what_is_not_durable_is_not_cleaned(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        topic_partition = await broker.create_topic("t", cleanup_policy="compact")
        append(broker, topic_partition, b"1")
        # The catalogue does not know yet that there are records.
        done = await compaction_of(broker).compact(topic_partition)
        assert done.outcome == "nothing-to-clean"
        assert done.reason == "its newest records are not durable yet"


async def test_a_topic_that_is_not_compacted(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker, cleanup_policy="delete")
        done = await compaction_of(broker).compact(log.topic_partition)
        assert done == Compacted("not-compacted", "its cleanup.policy is delete")
        assert len(values(log)) == 5


async def test_a_partition_without_records(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        empty = await broker.create_topic("t", cleanup_policy="compact")
        done = await compaction_of(broker).compact(empty)
        assert done == Compacted("nothing-to-clean", "it holds no records")


async def test_one_that_is_deleted_before_its_turn(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        done = await compaction_of(broker).compact(TopicPartition("gone", 0))
        assert done.outcome == "given-up"


async def test_a_log_that_is_not_open_yet_is_opened(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        log = await compacted(broker)
    async with replicas(tmp_path, files) as broker:
        done = await compaction_of(broker).compact(log.topic_partition)
        assert (done.outcome, done.records_after) == ("cleaned", 2)


async def test_one_that_cannot_be_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning = cleaning_of(broker)

        async def fails(*_: Any) -> Any:
            raise RuntimeError("it ended with -9")

        monkeypatch.setattr(cleaning._cleaner, "clean", fails)
        compaction = compaction_with(broker, cleaning)
        for _ in range(2):
            done = await compaction.compact(log.topic_partition)
            assert (done.outcome, done.reason) == ("uncleanable", "it ended with -9")
        assert len(log.local.segments) == 3, "what cannot be cleaned is not sealed"


async def test_a_full_disk(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        broker.files.fail("append", error=errno.ENOSPC)
        done = await compaction_of(broker).compact(log.topic_partition)
        assert done.outcome == "no-room"
        assert len(values(log)) == 5


async def test_a_disk_that_fails(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        broker.services.committer.for_directory(LOG_DIR)
        log.fail(OSError("gone"))  # type: ignore[arg-type]
        done = await compaction_of(broker).compact(log.topic_partition)
        assert done == Compacted("offline", "its log directory is offline")


async def test_it_waits_for_the_job_that_cleans(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning, slow = slow_cleaning_of(broker, LIMITS)
        job = asyncio.ensure_future(cleaning.clean_due())
        await until(lambda: slow.running)
        compaction = compaction_with(broker, cleaning)
        asked = asyncio.ensure_future(compaction.compact(log.topic_partition))
        await asyncio.sleep(0)
        slow.may_end.set()
        done = await asked
        await job
        assert (done.outcome, done.next_dirty_offset) == ("cleaned", 5)
        assert len(slow.plans) == 2
        assert values(log) == [b"3", b"last"]


async def test_damage_is_cleaned_around(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        broker.files.flip(log.directory / f"{0:020d}.log", 100)
        for _ in range(2):
            append(broker, log.topic_partition, b"newest")
        await broker.commit()
        done = await compaction_of(broker).compact(log.topic_partition)
        assert (done.outcome, done.records_before, done.records_after) == (
            "cleaned",
            3,
            2,
        )
        assert done.reason == "not all: 1 segment with damage left unchanged"


async def test_a_stop_ends_it(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning, slow = slow_cleaning_of(broker, LIMITS)
        compaction = compaction_with(broker, cleaning)
        asked = asyncio.ensure_future(compaction.compact(log.topic_partition))
        await until(lambda: slow.running)
        cleaning.close()
        slow.may_end.set()
        done = await asked
        assert (done.outcome, done.reason) == ("given-up", "the broker is stopping")
        assert len(values(log)) == 5
