"""Fetches of what is not in the page cache."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from odradek.broker.runtime.memory.answer_memory import AnswerMemory
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.replica.test_fetch_executor import SIZE, append, at, fetch, offsets
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, batch_of, replicas
from tests.garbage import LARGE, garbage, large_buffers


async def test_cold_bytes_come_through_the_disk_threads(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic(partitions=2)
        t1 = TopicPartition("t", 1)
        for each in (t0, t1):
            append(broker, each, 2)
        await broker.commit()
        for each in (t0, t1):
            files.chill(str(LOG_DIR / str(each) / "00000000000000000000.log"))
        answer = fetch(broker, at(t0), at(t1))
        assert isinstance(answer, Awaitable)
        assert not isinstance(answer, asyncio.Future)
        assert offsets(await answer) == [[0, 1], [0, 1]]
        assert offsets(fetch(broker, at(t0), at(t1))) == [[0, 1], [0, 1]]


async def test_what_cold_fetches_have_read_is_freed_with_the_answer(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await broker.create_topic(partitions=4)
        wanted = [TopicPartition("t", partition) for partition in range(4)]
        for each in wanted:
            broker.manager.append_records(
                {each: batch_of(bytes(2 * LARGE))}, acks=1, timeout_ms=1000
            )
        await broker.commit()
        with garbage() as found:
            for _ in range(2):
                for each in wanted:
                    files.chill(str(LOG_DIR / str(each) / "00000000000000000000.log"))
                answer = fetch(broker, *map(at, wanted))
                assert offsets(await answer) == [[0]] * 4
                del answer
        assert not large_buffers(found)


async def test_what_a_cold_fetch_has_read_counts_until_it_is_answered(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await broker.create_topic(partitions=4)
        wanted = [TopicPartition("t", partition) for partition in range(4)]
        for each in wanted:
            append(broker, each, 2)
        await broker.commit()
        for each in wanted:
            files.chill(str(LOG_DIR / str(each) / "00000000000000000000.log"))
        used: list[int] = []
        change = broker.answers.change

        def note(delta: int) -> None:
            change(delta)
            used.append(broker.answers.used)
            if len(used) == 3:
                broker.answers.share = SIZE

        broker.answers.change = note  # type: ignore[method-assign]
        results = await fetch(broker, *map(at, wanted))
        assert used == [0, 2 * SIZE, 4 * SIZE, 5 * SIZE, 0]
        assert offsets(results) == [[0, 1], [0, 1], [0], []]


async def test_cold_fetches_of_several_partitions_keep_to_what_is_left(
    tmp_path: Path,
) -> None:
    """Each of them wants a quarter of all the memory, eight at once."""
    files, answers = FakeFiles(), AnswerMemory(limit=64 * SIZE)
    async with replicas(tmp_path, files, answers=answers) as broker:
        await broker.create_topic(partitions=8)
        wanted = [TopicPartition("t", partition) for partition in range(8)]
        for each in wanted:
            append(broker, each, 2)
        await broker.commit()
        for each in wanted:
            files.chill(str(LOG_DIR / str(each) / "00000000000000000000.log"))
        used: list[int] = []
        change = answers.change

        def note(delta: int) -> None:
            change(delta)
            used.append(answers.used)

        answers.change = note  # type: ignore[method-assign]
        fetches = [fetch(broker, *map(at, wanted)) for _ in range(8)]
        found = await asyncio.gather(*fetches)
        sizes = [sum(len(each.records) for each in results) for results in found]
        assert all(2 * SIZE <= size <= 6 * SIZE for size in sizes), sizes
        assert 2 * SIZE <= max(used) <= 48 * SIZE, "a quarter is for small answers"
        assert answers.used == 0


async def test_a_cold_fetch_may_have_to_wait_for_more(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic()
        append(broker, t0)
        await broker.commit()
        files.chill("00000000000000000000.log")
        task = asyncio.ensure_future(fetch(broker, at(t0), min_bytes=2 * SIZE))
        while not broker.manager.fetches.delayed_count:
            await broker.threads.run(int)
        append(broker, t0)
        await broker.commit()
        assert offsets(await task) == [[0, 1]]


async def test_a_fetch_that_waited_may_meet_cold_bytes(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic()
        append(broker, t0)
        await broker.commit()
        waiting = fetch(broker, at(t0), min_bytes=2 * SIZE)
        files.chill("00000000000000000000.log")
        broker.clock.advance(600)
        assert offsets(await waiting) == [[0]]
