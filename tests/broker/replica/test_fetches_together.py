"""Fetches of those who ask alike at the same time are one operation."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.partition.fetch_reader import (
    FetchParams,
    FetchResult,
    PartitionFetch,
)
from odradek.broker.replica.partition.view import PartitionView
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, base_offsets, batch_of, replicas

SIZE = len(batch_of(b"v"))


def append(broker: Replicas, key: TopicPartition) -> None:
    broker.manager.append_records({key: batch_of(b"v")}, acks=1, timeout_ms=1000)


def fetch(
    broker: Replicas,
    wanted: PartitionFetch,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    finish: Callable[[Sequence[FetchResult]], Any] | None = None,
) -> Any:
    params = FetchParams(FetchIsolation.HIGH_WATERMARK, max_wait_ms, min_bytes, 1 << 20)
    return broker.manager.fetch_records(params, (wanted,), finish)


def at(key: TopicPartition, offset: int = 0) -> PartitionFetch:
    return PartitionFetch(key, offset, 1 << 20)


def offsets(results: list[FetchResult]) -> list[list[int]]:
    return [base_offsets(result.records) for result in results]


async def test_those_who_wait_for_the_same_are_one_operation(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0, fetches = await broker.create_topic(), broker.manager.fetches
        told = []

        def finish(results: Sequence[FetchResult]) -> int:
            told.append(results)
            return len(results[0].records)

        waiting = [fetch(broker, at(t0), finish=finish) for _ in range(3)]
        waiting.append(fetch(broker, at(t0)))
        assert (fetches.delayed_count, fetches.watched_count) == (4, 1)
        append(broker, t0)
        await broker.commit()
        assert [await each for each in waiting[:3]] == [SIZE] * 3
        assert offsets(await waiting[3]) == [[0]]
        assert len(told) == 1, "who asks alike gets the same answer"
        assert (fetches.delayed_count, fetches.watched_count) == (0, 0)
        log = broker.logs.get(t0)
        assert log is not None
        assert log.fetched_bytes == 4 * SIZE
        again = fetch(broker, at(t0, 1))
        assert not again.done()


async def test_nobody_waits_longer_or_shorter_with_others(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0, fetches = await broker.create_topic(), broker.manager.fetches
        first = fetch(broker, at(t0))
        impatient = fetch(broker, at(t0), max_wait_ms=100)
        broker.clock.advance(50)
        later = fetch(broker, at(t0))
        assert (fetches.delayed_count, fetches.watched_count) == (3, 3)
        broker.clock.advance(60)
        assert impatient.done()
        broker.clock.advance(400)
        assert first.done()
        assert not later.done()
        broker.clock.advance(50)
        assert later.done()
        assert fetches.delayed_count == 0


async def test_who_finds_the_offset_elsewhere_waits_alone(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0, fetches = await broker.create_topic(), broker.manager.fetches
        append(broker, t0)
        await broker.commit()
        waiting = [fetch(broker, at(t0, 1), min_bytes=2 * SIZE)]
        broker.log_of(t0).roll(broker.clock.now_ms())
        waiting.append(fetch(broker, at(t0, 1), min_bytes=2 * SIZE))
        assert fetches.watched_count == 2
        append(broker, t0)
        await broker.commit()
        # What a new segment has is enough for the first, and read for both.
        assert [offsets(await each) for each in waiting] == [[[1]]] * 2


async def test_a_bug_of_one_answer_is_not_the_others_business(tmp_path: Path) -> None:
    def fail(results: Sequence[FetchResult]) -> None:
        raise ZeroDivisionError

    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        before = fetch(broker, at(t0))
        broken = fetch(broker, at(t0), finish=fail)
        behind = fetch(broker, at(t0))
        append(broker, t0)
        await broker.commit()
        with pytest.raises(ZeroDivisionError):
            await broken
        assert offsets(await before) == offsets(await behind) == [[0]]
        assert broker.manager.fetches.delayed_count == 0


async def test_a_read_that_fails_is_told_to_all(tmp_path: Path) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        waiting = [fetch(broker, at(t0)) for _ in range(3)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(PartitionView, "read", fail)
            append(broker, t0)
            await broker.commit()
        for each in waiting:
            with pytest.raises(ZeroDivisionError):
                await each
        assert broker.manager.fetches.delayed_count == 0


async def test_all_who_waited_get_cold_bytes(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic()
        append(broker, t0)
        await broker.commit()
        waiting = [fetch(broker, at(t0), min_bytes=2 * SIZE) for _ in range(2)]
        files.chill("00000000000000000000.log")
        broker.clock.advance(600)
        assert not waiting[0].done()
        for each in waiting:
            assert offsets(await each) == [[0]]


async def test_who_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        waiting = asyncio.ensure_future(fetch(broker, at(t0)))
        await asyncio.sleep(0)
        waiting.cancel()
        append(broker, t0)
        await broker.commit()
        assert broker.manager.fetches.delayed_count == 0
