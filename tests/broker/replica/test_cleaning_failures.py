"""Rounds of cleaning that fail, or are overtaken."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.errors import KafkaStorageError
from odradek.storage.cleaner.plan import CleaningPlan
from odradek.storage.log.unified_log import UnifiedLog
from tests.broker.upkeep.compaction.test_cleaning import (
    append,
    cleaning_of,
    compacted,
    values,
)
from tests.fakes.replicas import LOG_DIR, replicas


async def test_a_log_that_fails_twice_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        bad = await compacted(broker, "bad", count=9)
        good = await compacted(broker, "good")
        cleaning = cleaning_of(broker)
        clean = cleaning._cleaner.clean

        async def fails(plan: CleaningPlan, *others: Any) -> Any:
            if plan.directory == bad.directory:
                raise RuntimeError("it ended with -9")
            return await clean(plan, *others)

        monkeypatch.setattr(cleaning._cleaner, "clean", fails)
        await cleaning.clean_due()
        assert cleaning.uncleanable == {bad.topic_partition: "it ended with -9"}
        assert values(good) == [b"3", b"last"]
        line = f"[bad-0 in {LOG_DIR}] it cannot be cleaned, and is left as it is: "
        assert line in caplog.text
        assert await cleaning.clean(bad.topic_partition) is None


async def test_a_log_that_cannot_even_be_looked_at_keeps_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        bad = await compacted(broker, "bad")
        good = await compacted(broker, "good")
        cleaning = cleaning_of(broker)
        cleanable = cleaning.cleanable

        def fails(log: UnifiedLog) -> Any:
            return 1 // 0 if log is bad else cleanable(log)

        monkeypatch.setattr(cleaning, "cleanable", fails)
        await cleaning.clean_due()
        assert values(good) == [b"3", b"last"]
        assert list(cleaning.uncleanable) == [bad.topic_partition]
        assert cleaning.uncleanable_bytes == 0
        line = f"[bad-0 in {LOG_DIR}] it cannot be cleaned"
        assert caplog.text.count(line) == 1


async def test_a_full_disk_is_no_reason_to_give_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        broker.files.fail("append", error=errno.ENOSPC)
        cleaning = cleaning_of(broker)
        await cleaning.clean_due()
        assert len(values(log)) == 5
        assert not cleaning.uncleanable
        assert "it is not cleaned yet" in caplog.text
        await cleaning.clean_due()
        assert values(log) == [b"3", b"last"]


async def test_a_disk_that_fails_takes_its_directory_offline(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        broker.files.fail("sync")
        await cleaning_of(broker).clean_due()
        assert log.is_failed


async def test_a_topic_that_is_deleted_meanwhile_is_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning = cleaning_of(broker)
        plan_seen = []

        async def clean(_: object, __: object, is_wanted: Callable[[], bool]) -> None:
            assert is_wanted()
            await broker.manager.stop([log.topic_partition])
            broker.logs.delete(log.topic_partition)
            plan_seen.append(is_wanted())
            raise RuntimeError("no such directory")

        monkeypatch.setattr(cleaning._cleaner, "clean", clean)
        await cleaning.clean_due()
        assert plan_seen == [False]
        assert not cleaning.uncleanable


async def test_what_fails_once_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning = cleaning_of(broker)
        clean, failures = cleaning._cleaner.clean, [RuntimeError("it ended with -9")]

        async def fails(*arguments: Any) -> Any:
            if failures:
                raise failures.pop()
            return await clean(*arguments)

        monkeypatch.setattr(cleaning._cleaner, "clean", fails)
        await cleaning.clean_due()
        assert values(log) == [b"3", b"last"]
        assert not cleaning.uncleanable
        assert "cleaning is tried once more: it ended with -9" in caplog.text


@pytest.mark.parametrize("is_written", [False, True])
async def test_what_is_deleted_meanwhile_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker, cleanup_policy="compact,delete")
        log.roll(broker.clock.now_ms())
        append(broker, log.topic_partition, b"5")
        await broker.commit()
        cleaning = cleaning_of(broker)
        clean = cleaning._cleaner.clean

        def delete() -> None:
            broker.manager.delete_records({log.topic_partition: 4}, 1000)
            broker.logs.delete_old_segments(log, broker.clock.now_ms())
            assert [each.base_offset for each in log.local.segments] == [4, 5]

        async def overtaken(
            plan: CleaningPlan, take: Any, is_wanted: Callable[[], bool]
        ) -> Any:
            def looks() -> bool:
                if log.log_start_offset == 0:
                    delete()
                return is_wanted()

            if not is_written:
                looks()
            return await clean(plan, take, looks)

        monkeypatch.setattr(cleaning._cleaner, "clean", overtaken)
        await cleaning.clean_due()
        assert [each.base_offset for each in log.local.segments] == [4, 5]
        assert not cleaning.uncleanable
        await cleaning.clean_due()
        assert values(log) == [b"last", b"5"]
        names = broker.files.listdir(log.directory)
        assert not [name for name in names if name.endswith(".cleaned")]


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOMEM, "no memory"), KafkaStorageError("too many files")]
)
async def test_what_passes_is_tried_later(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
) -> None:
    async with replicas(tmp_path) as broker:
        log = await compacted(broker)
        cleaning = cleaning_of(broker)
        clean, failures = cleaning._cleaner.clean, [error]

        async def fails(*arguments: Any) -> Any:
            if failures:
                raise failures.pop()
            return await clean(*arguments)

        monkeypatch.setattr(cleaning._cleaner, "clean", fails)
        await cleaning.clean_due()
        assert f"it is not cleaned yet: {error}" in caplog.text
        assert not cleaning.uncleanable
        await cleaning.clean_due()
        assert values(log) == [b"3", b"last"]


async def test_a_bug_costs_its_log_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path) as broker:
        bad = await compacted(broker, "bad", count=9)
        good = await compacted(broker, "good")
        cleaning = cleaning_of(broker)
        clean = cleaning._cleaner.clean

        async def fails(plan: CleaningPlan, *others: Any) -> Any:
            if plan.directory == bad.directory:
                raise IndexError
            return await clean(plan, *others)

        monkeypatch.setattr(cleaning._cleaner, "clean", fails)
        await cleaning.clean_due()
        assert cleaning.uncleanable == {bad.topic_partition: "IndexError"}
        assert "Traceback" in caplog.text
        assert values(good) == [b"3", b"last"]
