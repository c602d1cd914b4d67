"""Gauges of rounds that a broker runs, and of one by hand."""

from pathlib import Path

import pytest

from odradek.broker.upkeep.compaction.cleaning_gauges import CleaningGauges
from odradek.storage.cleaner.plan import CleaningStats
from tests.broker.upkeep.compaction.test_cleaning import (
    LIMITS,
    cleaning_of,
    compacted,
    values,
)
from tests.fakes.replicas import replicas


def test_a_round() -> None:
    gauges = CleaningGauges()
    gauges.note_round(CleaningStats(1000, 250, key_count=5), 1500, map_size=240)
    assert gauges.max_clean_time_s == 1.5
    assert gauges.max_buffer_utilization_percent == 50
    assert gauges.recopy_percent == 25
    gauges.note_round(CleaningStats(500, 500, key_count=2), 10, map_size=0)
    assert gauges.max_buffer_utilization_percent == 100, "a map is never too small"
    assert (gauges.recopy_percent, gauges.round_count) == (100, 2)
    assert (gauges.bytes_read, gauges.bytes_written) == (1500, 750)


async def test_rounds_of_a_broker(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning = cleaning_of(broker)
        gauges = cleaning.gauges
        size = log.local.segments.first.size
        await cleaning.clean_due()
        assert gauges.max_dirty_percent == 100
        assert gauges.last_look_ms == broker.clock.monotonic_ms()
        assert (gauges.round_count, gauges.bytes_read) == (1, size)
        assert gauges.bytes_written == log.local.segments.first.size
        assert gauges.max_buffer_utilization_percent == 100 * 24 / LIMITS.map_size
        await cleaning.clean_due()
        assert (gauges.max_dirty_percent, gauges.round_count) == (0, 1)
        assert gauges.dead_thread_count == 0


async def test_what_is_too_little_to_clean_is_seen(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker, min_cleanable_dirty_ratio="1.0")
        cleaning = cleaning_of(broker)
        await cleaning.clean_due()
        assert len(values(log)) == 5
        assert cleaning.gauges.max_dirty_percent == 100


async def test_a_job_that_fails_is_dead_until_it_gets_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path) as broker:
        await compacted(broker)
        cleaning = cleaning_of(broker)

        def fails(*_: object) -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as patch:
            patch.setattr(cleaning, "_dirtiest", fails)
            with pytest.raises(ExceptionGroup):
                await cleaning.clean_due()
        assert cleaning.gauges.dead_thread_count == 1
        await cleaning.clean_due()
        assert cleaning.gauges.dead_thread_count == 0


async def test_bytes_of_logs_that_are_left_alone(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning = cleaning_of(broker)
        assert cleaning.uncleanable_bytes == 0
        cleaning.uncleanable[log.topic_partition] = "because"
        assert cleaning.uncleanable_bytes == log.local.segments.first.size
