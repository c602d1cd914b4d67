import asyncio

import pytest

from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.scheduler import Scheduler
from tests.fakes.clock import FakeClock


async def test_a_job_runs_every_interval() -> None:
    clock, ran = FakeClock(), []
    scheduler = Scheduler(clock, Bugs())
    scheduler.every(100, "count", lambda: ran.append(clock.monotonic_ms()))
    await clock.tick()
    for _ in range(3):
        await clock.tick(100)
    assert len(ran) == 3
    await scheduler.stop()
    await clock.tick(1000)
    assert len(ran) == 3


async def test_the_first_run_may_come_sooner() -> None:
    clock, ran = FakeClock(), []
    scheduler = Scheduler(clock, Bugs())
    scheduler.every(1000, "soon", lambda: ran.append(1), first_after_ms=0)
    await clock.tick()
    await clock.tick()
    assert ran == [1]
    await scheduler.stop()


async def test_a_failing_job_is_recorded_and_runs_again() -> None:
    clock, bugs = FakeClock(), Bugs()
    scheduler = Scheduler(clock, bugs)

    def fail() -> None:
        raise RuntimeError("expected by this test")

    scheduler.every(10, "fail", fail)
    await clock.tick()
    await clock.tick(10)
    await clock.tick(10)
    assert bugs.count == 2
    await scheduler.stop()


async def test_runs_of_one_job_never_overlap() -> None:
    clock = FakeClock()
    scheduler = Scheduler(clock, Bugs())
    started: list[int] = []
    release = asyncio.Event()

    async def slow() -> None:
        started.append(1)
        await release.wait()

    scheduler.every(10, "slow", slow)
    await clock.tick()
    await clock.tick(10)
    await clock.tick(100)
    assert len(started) == 1
    assert scheduler.running == ["slow"]
    release.set()
    await clock.tick()
    assert scheduler.running == []
    await clock.tick(10)
    assert len(started) == 2
    await scheduler.stop()


async def test_stop_waits_for_the_job_that_runs() -> None:
    clock = FakeClock()
    scheduler = Scheduler(clock, Bugs())
    release, ended = asyncio.Event(), []

    async def slow() -> None:
        await release.wait()
        ended.append(1)

    scheduler.every(10, "slow", slow)
    await clock.tick()
    await clock.tick(10)
    stopping = asyncio.ensure_future(scheduler.stop())
    await clock.tick()
    assert not stopping.done()
    release.set()
    await stopping
    assert ended == [1]
    assert scheduler.names == []


async def test_a_name_is_given_once_and_nothing_is_added_after_the_stop() -> None:
    scheduler = Scheduler(FakeClock(), Bugs())
    scheduler.every(10, "one", lambda: None)
    assert scheduler.names == ["one"]
    with pytest.raises(ValueError, match="one"):
        scheduler.every(10, "one", lambda: None)
    await scheduler.stop()
    scheduler.every(10, "two", lambda: None)
    assert scheduler.names == []
