import asyncio
from pathlib import Path

import pytest

from odradek.broker.replica import reading_turn
from odradek.broker.replica.partition.fetch_reader import FetchParams, PartitionFetch
from odradek.broker.replica.reading_turn import TURN_SIZE_MAX, ReadingTurn
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.replicas import base_offsets, batch_of, replicas

PARAMS = FetchParams(FetchIsolation.HIGH_WATERMARK, 500, 1, 1 << 20)


async def test_a_turn_is_over_when_much_was_read() -> None:
    turn = ReadingTurn()
    turn.note(TURN_SIZE_MAX - 1)
    assert not turn.is_over
    turn.note(1)
    assert turn.is_over
    await asyncio.sleep(0)
    assert not turn.is_over
    turn.note(TURN_SIZE_MAX - 1)
    assert not turn.is_over, "the turns before do not count"


async def test_who_waits_has_a_turn_each_in_the_order_they_came() -> None:
    turn = ReadingTurn()
    turn.note(TURN_SIZE_MAX)
    waiting = [turn.own() for _ in range(4)]
    waiting[1].cancel()
    done = []
    while turn.is_over:
        done.append([each.done() for each in waiting])
        await asyncio.sleep(0)
    assert done == [
        [False, True, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]


async def test_who_is_gone_takes_no_turn() -> None:
    turn = ReadingTurn()
    turn.note(TURN_SIZE_MAX)
    turn.own().cancel()
    await asyncio.sleep(0)
    assert not turn.is_over


async def test_a_turn_in_which_much_was_read_leaves_the_rest_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_turn, "TURN_SIZE_MAX", 30_000)
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        executor = broker.manager.fetch_executor
        wanted, behind = PartitionFetch(t0, 0, 1 << 20), PartitionFetch(t0, 1, 1 << 20)

        async def append(size: int) -> None:
            entries = {t0: batch_of(bytes(size))}
            broker.manager.append_records(entries, acks=1, timeout_ms=1000)
            await broker.commit()

        await append(20_000)
        for answer in (
            executor.fetch_one(PARAMS, wanted, list),
            executor.fetch(PARAMS, (wanted,), list),
        ):
            assert isinstance(answer, list)
        later = [
            executor.fetch(PARAMS, (wanted,), list),
            executor.fetch_one(PARAMS, wanted, list),
            executor.fetch_one(PARAMS, behind, list),
        ]
        answers = [asyncio.ensure_future(each) for each in later]  # type: ignore[arg-type]
        for answered in answers[:2]:
            assert base_offsets((await answered)[0].records) == [0]
        await append(1)
        assert base_offsets((await answers[2])[0].records) == [1]
        assert isinstance(executor.fetch_one(PARAMS, wanted, list), list)
