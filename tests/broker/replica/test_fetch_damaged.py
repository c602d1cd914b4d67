"""Fetches that reach a damaged batch: they move on; none spins or waits for ever."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.partition.fetch_reader import (
    FetchParams,
    FetchResult,
    PartitionFetch,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.record_batch import BATCH_OVERHEAD, scan
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, base_offsets, batch_of, replicas

T0 = TopicPartition("t", 0)
LOG = "00000000000000000000.log"
COUNT = 5
SIZE = len(batch_of(b"v"))


@asynccontextmanager
async def damaged(
    directory: Path, *numbers: int, value: bytes = b"v"
) -> AsyncIterator[Replicas]:
    """A broker on a log of ``COUNT`` batches of one record, some of them damaged."""
    files = FakeFiles()
    async with replicas(directory, files) as broker:
        await broker.create_topic()
        for _ in range(COUNT):
            append(broker, value)
        await broker.commit()
    for number in numbers:
        files.flip(LOG, number * len(batch_of(value)) + BATCH_OVERHEAD + 2)
    async with replicas(directory, files) as broker:
        await broker.manager.open([T0])
        yield broker


def append(broker: Replicas, value: bytes = b"v") -> None:
    results = broker.manager.append_records(
        {T0: batch_of(value)}, acks=1, timeout_ms=1000
    )
    assert results[T0].error_code == ErrorCode.NONE


def fetch(broker: Replicas, offset: int, min_bytes: int = 1, **more: Any) -> Any:
    max_bytes = more.get("max_bytes", 1 << 20)
    isolation = more.get("isolation", FetchIsolation.HIGH_WATERMARK)
    note = more.get("note")
    params = FetchParams(isolation, 500, min_bytes, 1 << 20, note=note)
    wanted = PartitionFetch(T0, offset, max_bytes)
    return broker.manager.fetch_records(params, [wanted])


def next_offset(results: list[FetchResult]) -> int:
    """Where a client asks next, after all that it was given; -1 for nothing."""
    (result,) = results
    assert result.error_code == ErrorCode.NONE
    offset = -1
    for _, header in scan(result.records):
        offset = header.next_offset
    return offset


async def finished(broker: Replicas, answer: Any) -> list[FetchResult]:
    """The answer, after ``max_wait_ms`` if that is what it waits for."""
    if isinstance(answer, Parked):
        broker.clock.advance(510)
        assert answer.done(), "it would wait for ever"
        return answer.result()  # type: ignore[no-any-return]
    return answer if isinstance(answer, list) else await answer  # type: ignore[no-any-return]


@pytest.mark.parametrize("isolation", [each for each in FetchIsolation])
@pytest.mark.parametrize("min_bytes", [1, BATCH_OVERHEAD, SIZE, 10 * SIZE])
@pytest.mark.parametrize("numbers", [(0,), (2,), (1, 2), (4,), (0, 1, 2, 3, 4)])
async def test_every_reader_gets_to_the_end(
    tmp_path: Path, numbers: tuple[int, ...], min_bytes: int, isolation: FetchIsolation
) -> None:
    async with damaged(tmp_path, *numbers) as broker:
        offset, count = 0, 0
        while offset < COUNT:
            answer = fetch(broker, offset, min_bytes, isolation=isolation)
            following = next_offset(await finished(broker, answer))
            assert following > offset
            offset, count = following, count + 1
        assert offset == COUNT
        assert count <= 2 * len(numbers) + 1, "the sound ones between come together"


async def test_small_limits_do_not_stop_a_reader(tmp_path: Path) -> None:
    async with damaged(tmp_path, 1, 3) as broker:
        for offset in range(COUNT):
            answer = fetch(broker, offset, max_bytes=10)
            assert next_offset(await finished(broker, answer)) == offset + 1


async def test_bytes_that_nobody_can_read_do_not_answer_again_and_again(
    tmp_path: Path,
) -> None:
    async with damaged(tmp_path, 4, value=b"large" * 1000) as broker:
        # Behind it in the files are 5 kB, of which a reader gets 61 bytes.
        answer = await finished(broker, fetch(broker, 4, min_bytes=4000))
        assert next_offset(answer) == COUNT
        waiting = fetch(broker, COUNT, min_bytes=1)
        assert isinstance(waiting, Parked)
        assert not waiting.done()
        append(broker)
        assert not waiting.done()
        broker.sync()
        assert next_offset(await waiting) == COUNT + 1


async def test_a_reader_that_waits_behind_the_damage_counts_what_comes(
    tmp_path: Path,
) -> None:
    async with damaged(tmp_path, 4) as broker:
        waiting = fetch(broker, 4, min_bytes=BATCH_OVERHEAD + 2 * SIZE)
        assert isinstance(waiting, Parked)
        append(broker)
        broker.sync()
        append(broker)
        broker.sync()
        assert waiting.done()
        offset = next_offset(await waiting)
        assert offset in (5, 7), "the empty batch, perhaps with what follows"


async def test_a_follower_gets_nothing_in_the_place_of_damage(tmp_path: Path) -> None:
    """Else its copy, which may be whole, would be cut to be as ours."""
    followers: Any = {"isolation": FetchIsolation.LOG_END, "note": lambda *_: None}
    found: list[FetchResult] = []
    async with damaged(tmp_path, 2) as broker:
        for offset in (0, 2, 3):
            found += await finished(broker, fetch(broker, offset, **followers))
        before, there, behind = found
        assert base_offsets(before.records) == [0, 1]
        assert (there.error_code, bytes(there.records)) == (
            ErrorCode.CORRUPT_MESSAGE,
            b"",
        )
        assert base_offsets(behind.records) == [3, 4]
