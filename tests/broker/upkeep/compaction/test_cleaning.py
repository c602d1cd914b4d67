"""Which logs are cleaned, when, and what becomes of those that cannot be."""

import asyncio
from math import inf
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.upkeep.compaction.cleaning import Cleaning
from odradek.broker.upkeep.compaction.cleaning_limits import CleaningLimits
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.cleaner.plan import CleaningPlan
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.broker import until
from tests.fakes.cleaner import ThreadCleaner
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, batch_of, replicas
from tests.storage.logs import read_all

LIMITS = CleaningLimits(map_size=1 << 20)


def cleaning_of(broker: Replicas, limits: CleaningLimits = LIMITS) -> Cleaning:
    return Cleaning(
        broker.clock,
        broker.logs,
        broker.services.committer,
        broker.threads,
        ThreadCleaner(broker.files, broker.threads),
        limits,
    )


async def compacted(
    broker: Replicas, name: str = "t", count: int = 4, **options: str
) -> UnifiedLog:
    """A topic with so many records of one key in a sealed segment, and one behind."""
    options.setdefault("cleanup_policy", "compact")
    topic_partition = await broker.create_topic(name, **options)
    for number in range(count):
        append(broker, topic_partition, b"%d" % number)
    await broker.commit()
    log = broker.log_of(topic_partition)
    log.roll(broker.clock.now_ms())
    append(broker, topic_partition, b"last", key=b"other")
    await broker.commit()
    return log


def append(
    broker: Replicas, topic_partition: TopicPartition, value: bytes, key: bytes = b"k"
) -> None:
    broker.manager.append_records(
        {topic_partition: batch_of(value, key=key)}, acks=1, timeout_ms=1000
    )


def values(log: UnifiedLog) -> list[bytes | None]:
    return [record.value for record in read_all(log)]


async def test_logs_that_are_due_are_cleaned(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        other = await compacted(broker, "u")
        kept = await compacted(broker, "v", cleanup_policy="delete")
        await cleaning_of(broker).clean_due()
        for each in (log, other):
            assert values(each) == [b"3", b"last"]
        assert len(values(kept)) == 5
        checkpoint = broker.logs.cleaner_checkpoint(log)
        assert checkpoint.get(log.topic_partition) == 4


async def test_what_was_cleaned_is_not_due(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        log = await compacted(broker)
        await cleaning_of(broker).clean_due()
    async with replicas(tmp_path, files) as broker:
        await broker.manager.open_all()
        log = broker.log_of(TopicPartition("t", 0))
        opened = files.counts["append"]
        cleaning = cleaning_of(broker)
        await cleaning.clean_due()
        assert files.counts["append"] == opened
        assert await cleaning.clean(log.topic_partition) is None


async def test_one_that_is_asked_for_is_cleaned_however_little_it_gains(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker, min_cleanable_dirty_ratio="1.0")
        cleaning = cleaning_of(broker)
        await cleaning.clean_due()
        assert len(values(log)) == 5
        ended = await cleaning.clean(log.topic_partition)
        assert ended is not None
        assert (ended.next_dirty_offset, ended.stats.records_written) == (4, 1)
        assert await cleaning.clean(TopicPartition("nobody", 0)) is None


async def test_old_files_go_after_a_while(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker, file_delete_delay_ms="5000")
        await cleaning_of(broker).clean_due()
        now_ms = broker.clock.now_ms()
        assert broker.logs.removal_job(now_ms + 4999) is None
        job = broker.logs.removal_job(now_ms + 5000)
        assert job is not None
        job()
        names = broker.files.listdir(log.directory)
        assert not [name for name in names if name.endswith(".deleted")]


async def test_damage_is_quarantined_and_the_rest_is_cleaned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        log.roll(broker.clock.now_ms())
        path = log.directory / f"{0:020d}.log"
        broker.files.flip(path, 100)
        for number in range(3):
            append(broker, log.topic_partition, b"%d" % number)
        log.roll(broker.clock.now_ms())
        await broker.commit()
        cleaning = cleaning_of(broker)
        await cleaning.clean_due()
        assert not cleaning.uncleanable
        assert len(log.damage) == 1
        first, *_ = log.local.segments
        assert first.reader.quarantined
        assert len(log.local.segments) == 3, "the others are one now"
        assert "offsets 1 to 1, are passed over" in caplog.text


async def test_a_stop_ends_the_round(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning = cleaning_of(broker)
        cleaning.close()
        await cleaning.clean_due()
        assert await cleaning.clean(log.topic_partition) is None
        assert len(values(log)) == 5
        names = broker.files.listdir(log.directory)
        assert not [name for name in names if name.endswith(".cleaned")]


async def test_t123_compact_delete_topic_does_both(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(
            broker, cleanup_policy="compact,delete", retention_ms="1000"
        )
        await cleaning_of(broker).clean_due()
        assert values(log) == [b"3", b"last"]
        broker.logs.delete_old_segments(log, broker.clock.now_ms() + 2000)
        assert log.log_start_offset == 5


class SlowCleaner:
    """Rounds that end when the test says so."""

    def __init__(self, cleaner: ThreadCleaner) -> None:
        self._cleaner = cleaner
        self.plans: list[CleaningPlan] = []
        self.running: list[str] = []
        self.running_max = 0
        self.may_end = asyncio.Event()

    async def clean(self, plan: CleaningPlan, *others: Any) -> Any:
        name = plan.directory.name
        assert name not in self.running, "two rounds of one log"
        self.plans.append(plan)
        self.running.append(name)
        self.running_max = max(self.running_max, len(self.running))
        await self.may_end.wait()
        try:
            return await self._cleaner.clean(plan, *others)
        finally:
            self.running.remove(name)


def slow_cleaning_of(
    broker: Replicas, limits: CleaningLimits
) -> tuple[Cleaning, SlowCleaner]:
    cleaning = cleaning_of(broker, limits)
    slow = SlowCleaner(ThreadCleaner(broker.files, broker.threads))
    cleaning._cleaner = slow
    return cleaning, slow


@pytest.mark.parametrize("rounds_max", [1, 2])
async def test_so_many_rounds_at_a_time_and_each_with_its_share(
    tmp_path: Path, rounds_max: int
) -> None:
    async with replicas(tmp_path) as broker:
        logs = [await compacted(broker, name) for name in "tuv"]
        limits = CleaningLimits(1 << 20, rounds_max, 1000.0, load_factor=0.5)
        cleaning, slow = slow_cleaning_of(broker, limits)
        job = asyncio.ensure_future(cleaning.clean_due())
        await until(lambda: len(slow.running) == rounds_max)
        slow.may_end.set()
        await job
        assert slow.running_max == rounds_max
        assert [values(log) for log in logs] == [[b"3", b"last"]] * 3
        assert {plan.bytes_per_second for plan in slow.plans} == {1000 / rounds_max}
        assert {plan.map_size for plan in slow.plans} == {(1 << 20) // rounds_max}
        assert {plan.load_factor for plan in slow.plans} == {0.5}


async def test_never_two_rounds_of_one_log(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning, slow = slow_cleaning_of(broker, CleaningLimits(1 << 20, 3))
        asked = asyncio.ensure_future(cleaning.clean(log.topic_partition))
        await until(lambda: slow.running)
        await cleaning.clean_due()
        assert len(slow.plans) == 1, "the job leaves it to who has it"
        too = asyncio.ensure_future(cleaning.clean(log.topic_partition))
        slow.may_end.set()
        assert await asked is not None
        assert await too is None, "nothing was left to clean"
        assert len(slow.plans) == 1


async def test_no_rate_is_no_rate(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await compacted(broker)
        default = broker.config.log_cleaner_io_max_bytes_per_second
        cleaning, slow = slow_cleaning_of(broker, CleaningLimits(1 << 20, 1, default))
        slow.may_end.set()
        await cleaning.clean_due()
        assert [plan.bytes_per_second for plan in slow.plans] == [inf]


async def test_all_damage_is_cleaned_around(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        for _ in range(3):
            log.roll(broker.clock.now_ms())
            for number in range(4):
                append(broker, log.topic_partition, b"%d" % number)
        log.roll(broker.clock.now_ms())
        await broker.commit()
        for base in (0, 9):
            broker.files.flip(log.directory / f"{base:020d}.log", 100)
        cleaning = cleaning_of(broker)
        await cleaning.clean_due()
        assert not cleaning.uncleanable
        assert len(log.damage) == 2
        damaged = [each for each in log.local.segments if each.reader.quarantined]
        assert [each.base_offset for each in damaged] == [0, 9]
        assert await cleaning.clean(log.topic_partition) is None, "all is clean"


@pytest.mark.parametrize("durability", ["none", "interval"])
async def test_what_replaces_others_is_durable_first(
    tmp_path: Path, durability: str
) -> None:
    async with replicas(tmp_path, durability=durability) as broker:
        log = await compacted(broker)
        append(broker, log.topic_partition, b"newest", key=b"other")
        log.roll(broker.clock.now_ms())
        assert log.recovery_point == 5
        cleaning, slow = slow_cleaning_of(broker, LIMITS)
        slow.may_end.set()
        await cleaning.clean_due()
        assert [plan.end_offset for plan in slow.plans] == [6]
        assert log.recovery_point == 6


async def test_rounds_at_a_time_are_all_noted(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        logs = [await compacted(broker, name) for name in "tuvw"]
        await cleaning_of(broker, CleaningLimits(1 << 20, 4)).clean_due()
    async with replicas(tmp_path, files) as broker:
        await broker.manager.open_all()
        for each in logs:
            log = broker.log_of(each.topic_partition)
            checkpoint = broker.logs.cleaner_checkpoint(log)
            assert checkpoint.get(log.topic_partition) == 4


async def test_a_look_at_many_logs_lets_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that is deleted meanwhile is not chosen, nor is one cleaned twice."""
    monkeypatch.setattr(
        "odradek.broker.upkeep.compaction.cleaning._LOOKED_AT_AT_ONCE", 2
    )
    async with replicas(tmp_path) as broker:
        logs = [await compacted(broker, name) for name in "tuvwx"]
        cleaning, slow = slow_cleaning_of(broker, CleaningLimits(1 << 20, 2))
        slow.may_end.set()
        job = asyncio.ensure_future(cleaning.clean_due())
        await asyncio.sleep(0)
        await broker.manager.stop([logs[0].topic_partition])
        broker.logs.delete(logs[0].topic_partition)
        await job
        names = sorted(plan.directory.name for plan in slow.plans)
        assert names == ["u-0", "v-0", "w-0", "x-0"]
