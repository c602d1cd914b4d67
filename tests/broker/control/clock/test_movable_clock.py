import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.control.clock import movable_clock
from odradek.broker.control.clock.movable_clock import MovableClock
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.scheduler import Scheduler
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

WEEK_MS = 7 * 24 * 3_600_000


def frozen() -> MovableClock:
    """Nothing in it is due by itself."""
    clock = MovableClock()
    clock.freeze()
    return clock


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def advance(clock: MovableClock, delta_ms: int) -> int:
    return await clock.advance(delta_ms, settle)


def test_it_shows_what_its_dials_do() -> None:
    wall_ns, monotonic_ns = 5_600_000, 7_900_000
    clock = MovableClock(lambda: wall_ns, lambda: monotonic_ns)
    assert (clock.now_ms(), clock.monotonic_ms()) == (5, 7)
    clock.jump(10)
    assert (clock.now_ms(), clock.monotonic_ms()) == (15, 7)
    clock.freeze()
    wall_ns, monotonic_ns = 6_600_000, 8_900_000
    assert (clock.now_ms(), clock.monotonic_ms()) == (15, 7)


async def test_what_a_timer_arms_runs_in_its_order() -> None:
    """T326: two timers are due, the first arms a third between them."""
    clock = frozen()
    ran: list[tuple[int, int]] = []
    began = clock.monotonic_ms()

    def run(number: int) -> None:
        ran.append((number, clock.monotonic_ms() - began))
        if number == 1:
            clock.call_later(5, lambda: run(3))

    clock.call_later(20, lambda: run(2))
    clock.call_later(10, lambda: run(1))
    assert await advance(clock, 20) == 3
    assert ran == [(1, 10), (3, 15), (2, 20)]


# Of each timer its delay, whether it is cancelled, and what it arms when it runs.
TIMERS = st.recursive(
    st.just(()),
    lambda inner: st.lists(
        st.tuples(st.integers(0, 50), st.booleans(), inner), max_size=4
    ).map(tuple),
    max_leaves=12,
)


@given(TIMERS, st.lists(st.integers(0, 40), max_size=5))
def test_timers_run_as_on_the_fake_clock(timers: Any, moves: list[int]) -> None:
    async def movable() -> list[tuple[int, int]]:
        clock = frozen()
        ran = planned(clock, timers)
        for move in moves:
            await advance(clock, move)
        return ran

    clock = FakeClock()
    expected = planned(clock, timers)
    for move in moves:
        clock.advance(move)
    assert asyncio.run(movable()) == expected


def planned(clock: Any, timers: Any) -> list[tuple[int, int]]:
    """Arm them; the list becomes the delays of those that ran, and when they did."""
    ran: list[tuple[int, int]] = []
    began = clock.monotonic_ms()

    def arm(timers: Any) -> None:
        for delay_ms, is_cancelled, inner in timers:
            timer = clock.call_later(delay_ms, running(delay_ms, inner))
            if is_cancelled:
                timer.cancel()

    def running(delay_ms: int, inner: Any) -> Callable[[], None]:
        def run() -> None:
            ran.append((delay_ms, clock.monotonic_ms() - began))
            arm(inner)

        return run

    arm(timers)
    return ran


async def test_both_clocks_move_and_a_jump_moves_one() -> None:
    clock = frozen()
    wall_ms, monotonic_ms = clock.now_ms(), clock.monotonic_ms()
    await advance(clock, 1000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (
        wall_ms + 1000,
        monotonic_ms + 1000,
    )
    clock.jump(-5000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (
        wall_ms - 4000,
        monotonic_ms + 1000,
    )


async def test_real_time_goes_on_and_runs_what_is_due() -> None:
    clock = MovableClock()
    before_ms = clock.monotonic_ms()
    async with asyncio.timeout(PATIENCE_S):
        await clock.sleep(2)
        assert clock.monotonic_ms() >= before_ms + 2
        woken = asyncio.Event()
        clock.call_later(60_000, woken.clear)
        clock.call_later(1, woken.set)  # before what it waited for
        await woken.wait()


async def test_an_advance_is_all_that_the_clock_is_ahead() -> None:
    clock = MovableClock()
    await advance(clock, 5000)
    assert clock.ahead_ms == 5000
    clock.jump(-7000)
    assert clock.ahead_ms == -2000


async def test_what_an_advance_takes_is_caught_up_with_by_both_clocks() -> None:
    moment = [0]
    clock = MovableClock(lambda: moment[0], lambda: moment[0])

    async def slow() -> None:
        moment[0] += 1_000_000

    clock.call_later(1, int)
    await clock.advance(5000, slow)
    assert moment[0] > 0
    assert clock.now_ms() == clock.monotonic_ms() == 5000 + moment[0] // 1_000_000


async def test_time_goes_on_from_where_it_stood() -> None:
    moment = [0]
    clock = MovableClock(lambda: moment[0], lambda: moment[0])
    clock.freeze()
    clock.freeze()
    moment[0] = 1_000_000_000
    assert clock.now_ms() == clock.monotonic_ms() == 0
    await advance(clock, 3)
    assert clock.is_frozen
    clock.thaw()
    clock.thaw()
    moment[0] += 1_000_000
    assert clock.now_ms() == clock.monotonic_ms() == 4


async def test_what_was_due_while_time_stood_still_is_not() -> None:
    clock = MovableClock()
    ran: list[int] = []
    clock.freeze()
    clock.call_later(0, lambda: ran.append(1))
    await settle()
    assert ran == []
    clock.thaw()
    await clock.sleep(0)
    assert ran == [1]


async def test_held_timers_run_when_they_are_released() -> None:
    clock = MovableClock()
    ran: list[int] = []
    clock.hold_timers()
    clock.call_later(0, lambda: ran.append(1))
    await settle()
    assert ran == []
    clock.release_timers()
    await clock.sleep(0)
    assert ran == [1]


async def test_jobs_run_in_their_order_and_are_woken_at_the_end() -> None:
    clock = frozen()
    scheduler = Scheduler(clock, Bugs())
    began = clock.monotonic_ms()
    ran: list[tuple[str, int]] = []
    for name, interval_ms in (("often", 40), ("seldom", 50), ("never", WEEK_MS)):
        scheduler.every(
            interval_ms, name, lambda n=name: ran.append((n, clock.monotonic_ms()))
        )
    await settle()
    await advance(clock, 100)
    assert [(name, at_ms - began) for name, at_ms in ran] == [
        ("often", 40),
        ("seldom", 50),
        ("often", 80),
        ("seldom", 100),
        ("often", 100),
        ("seldom", 100),
        ("never", 100),
    ]
    clock.close()
    await scheduler.stop()


async def test_a_week_is_some_hundred_runs_of_a_job_that_runs_every_second() -> None:
    clock = frozen()
    scheduler = Scheduler(clock, Bugs())
    began = clock.monotonic_ms()
    ran: list[int] = []
    scheduler.every(1000, "often", lambda: ran.append(clock.monotonic_ms() - began))
    await settle()
    await advance(clock, WEEK_MS)
    assert len(ran) < 400
    assert ran[:10] == [number * 1000 for number in range(1, 11)]
    assert all(b - a <= max(1000, b / 20) for a, b in itertools.pairwise(ran))
    assert ran[-1] == WEEK_MS
    await advance(clock, 1000)
    assert ran[-2:] == [WEEK_MS + 1000] * 2, "it sleeps no longer than it wants"
    clock.close()
    await scheduler.stop()


async def test_who_moves_is_told_before_anything_runs() -> None:
    clock = frozen()
    told: list[object] = []
    clock.call_later(10, lambda: told.append("ran"))
    began = clock.monotonic_ms()

    def tell(rest_ms: int) -> None:
        told.append((clock.monotonic_ms() - began, rest_ms))

    await clock.advance(30, settle, tell)
    assert told == [(0, 30), (10, 20), "ran", (30, 0)]


async def test_a_timer_that_never_ends_does_not_hold_an_advance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(movable_clock, "_EXACT_STEPS", 100)
    clock = frozen()
    count = 0

    def again() -> None:
        nonlocal count
        count += 1
        clock.call_later(1, again)

    again()
    await advance(clock, WEEK_MS)
    assert 100 < count < 1000
    before = count
    await advance(clock, 1)
    assert count > before, "it is armed as it wanted to be"


async def test_an_advance_that_fails_leaves_a_clock_that_goes() -> None:
    clock = MovableClock()

    async def fail() -> None:
        raise RuntimeError("expected by this test")

    clock.call_later(10, int)
    with pytest.raises(RuntimeError):
        await clock.advance(1000, fail)
    assert not clock.is_advancing
    async with asyncio.timeout(PATIENCE_S):
        await clock.sleep(1)


async def test_a_failing_timer_is_reported_and_the_others_run() -> None:
    reported: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: reported.append(context["message"]))
    clock = frozen()
    ran: list[int] = []

    def fail() -> None:
        raise RuntimeError("expected by this test")

    clock.call_later(1, fail)
    clock.call_later(2, lambda: ran.append(1))
    await advance(clock, 2)
    assert ran == [1]
    assert len(reported) == 1
    assert "a timer failed" in reported[0]


async def test_timers_that_were_cancelled_are_not_kept() -> None:
    clock = frozen()
    kept = clock.call_later(10, int)
    for _ in range(5000):
        clock.call_later(60_000, int).cancel()
    assert len(clock._timers) < 2500
    kept.cancel()
    kept.cancel()
    assert await advance(clock, 60_000) == 0


async def test_a_sleeper_that_is_cancelled_is_forgotten() -> None:
    clock = frozen()
    sleeping = asyncio.ensure_future(clock.sleep(10))
    await settle()
    sleeping.cancel()
    await settle()
    assert sleeping.cancelled()
    assert await advance(clock, 10) == 0


async def test_a_clock_that_is_closed_ends_what_advances_it() -> None:
    clock = frozen()
    ran: list[int] = []

    def close() -> None:
        ran.append(1)
        clock.close()

    clock.call_later(1, close)
    clock.call_later(2, lambda: ran.append(2))
    await advance(clock, 1000)
    assert ran == [1]
    assert not clock.is_frozen
