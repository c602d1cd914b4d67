"""Where a share group begins, and what it finds of what it did before."""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.coordinator.share.state import StateBatch, StoredState
from odradek.protocol.errors import CoordinatorLoadInProgress, ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import NOW_MS

from .rig import settle, share_rig

DURATION = "by_duration:PT1M"


@pytest.mark.parametrize(
    ("reset", "start"), [("earliest", 0), ("latest", 20), (DURATION, 10)]
)
async def test_g028_a_group_begins_where_its_option_says(
    tmp_path: Path, reset: str, start: int
) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        await rig.set_options(auto_offset_reset=reset)
        rig.states.begin(rig.key())
        for age_ms in (90_000, 30_000):
            rig.append(*[b"v"] * 10, timestamp=NOW_MS - age_ms)
        await rig.broker.commit()
        session = rig.open()
        await rig.acquired(session)
        (served,) = rig.sharing.served()
        assert served.state.start == start
        writes = [each.start for each in rig.states.written]
        assert writes == ([] if reset == "earliest" else [start])


async def test_after_nothing_that_is_young_enough_the_end(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        await rig.set_options(auto_offset_reset="by_duration:PT1S")
        rig.states.begin(rig.key())
        rig.append(b"old", timestamp=NOW_MS - 60_000)
        await rig.broker.commit()
        assert await rig.acquired(rig.open()) == []
        assert rig.states.states[rig.key()].start == 1


async def test_nothing_is_handed_out_before_the_beginning_is_durable(
    tmp_path: Path,
) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        rig.states.begin(rig.key())
        rig.states.holds = True
        waiting = rig.ask(rig.open(), max_wait_ms=60_000)
        await settle()
        await rig.fill()
        assert not waiting.done()
        rig.states.let_go()
        await settle()
        assert waiting.result()[rig.key()].acquired == [(0, 9, 1)]


async def test_the_end_is_behind_what_was_acknowledged(tmp_path: Path) -> None:
    async with share_rig(tmp_path, durability="commit") as rig:
        await rig.create_topic()
        rig.states.begin(rig.key())
        await rig.fill()
        rig.append(b"written, and not durable yet")
        waiting = rig.ask(rig.open(), max_wait_ms=60_000)
        await settle()
        assert rig.states.written == []
        await rig.broker.commit()
        await settle()
        assert rig.states.states[rig.key()].start == 11
        await rig.fill(size=1)
        assert waiting.result()[rig.key()].acquired == [(11, 11, 1)]


async def test_a_group_goes_on_where_it_was(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        await rig.fill(2)
        done, again = StateBatch(3, 4, 2, 1), StateBatch(5, 6, 0, 1)
        rig.states.states[rig.key()] = StoredState(1, 0, 2, 2, (done, again))
        assert await rig.acquired(rig.open()) == [(2, 2, 1), (5, 6, 2), (7, 19, 1)]


async def test_the_log_begins_behind_where_the_group_was(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        await rig.fill(3)
        rig.states.begin(rig.key(), 5)
        session = rig.open()
        rig.broker.manager.delete_records({TopicPartition("t", 0): 20}, 1000)
        await rig.broker.commit()
        reads = await rig.fetch(session)
        assert [each.error for each in reads.values()] == [None]
        assert await rig.acquired(session) == [(20, 29, 1)]


async def test_the_coordinator_is_still_loading(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        await rig.fill()
        rig.states.begin(rig.key(), 0)
        rig.states.error = CoordinatorLoadInProgress()
        waiting = rig.ask(rig.open(), max_wait_ms=60_000)
        await settle()
        assert (rig.states.read_count, waiting.done()) == (1, False)
        rig.clock.advance(50)
        await settle()
        assert rig.states.read_count == 2
        rig.states.error = None
        rig.clock.advance(50)
        await settle()
        assert waiting.result()[rig.key()].acquired == [(0, 9, 1)]


async def test_the_log_is_opened_first(tmp_path: Path) -> None:
    files = FakeFiles()
    async with share_rig(tmp_path, files=files) as rig:
        await rig.create_topic()
        await rig.fill()
    async with share_rig(tmp_path, files=files) as rig:
        rig.states.begin(rig.key(), 0)
        waiting = rig.ask(rig.open(), max_wait_ms=60_000)
        assert (await waiting)[rig.key()].acquired == [(0, 9, 1)]


async def test_an_unknown_partition_is_told(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        session = rig.open("m", 7)
        reads = await rig.fetch(session)
        error = reads[rig.key(7)].error
        assert error is not None
        assert error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_bug_is_told_and_recorded(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()

        def fail(*_: object) -> None:
            raise RuntimeError("oh")

        rig.states.read = fail  # type: ignore[method-assign, assignment]
        reads = await rig.fetch(rig.open())
        error = reads[rig.key()].error
        assert error is not None
        assert error.code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert [str(each) for each in rig.broker.bugs] == ["oh"]
        rig.broker.bugs.clear()


async def test_who_is_closed_meanwhile_loads_nothing(tmp_path: Path) -> None:
    async with share_rig(tmp_path) as rig:
        await rig.create_topic()
        rig.states.begin(rig.key())
        rig.states.holds = True
        rig.ask(rig.open())
        await settle()
        tasks = asyncio.all_tasks()
        await rig.sharing.close()
        assert len(asyncio.all_tasks()) < len(tasks)
