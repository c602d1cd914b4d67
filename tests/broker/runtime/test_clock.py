import asyncio
import time

from odradek.broker.runtime.clock import SystemClock
from tests.fakes.clock import FakeClock


async def test_the_system_clock_is_the_machines() -> None:
    clock = SystemClock()
    assert abs(clock.now_ms() - time.time() * 1000) < 1000
    before = clock.monotonic_ms()
    await clock.sleep(1)
    assert clock.monotonic_ms() >= before


async def test_a_system_timer_runs_once() -> None:
    woken = asyncio.Event()
    SystemClock().call_later(1, woken.set)
    await woken.wait()


async def test_a_cancelled_system_timer_does_not_run() -> None:
    ran: list[int] = []
    clock = SystemClock()
    clock.call_later(0, lambda: ran.append(1)).cancel()
    await clock.sleep(1)
    assert not ran


def test_fake_timers_run_in_the_order_of_their_time() -> None:
    clock = FakeClock()
    ran: list[tuple[str, int]] = []
    start = clock.monotonic_ms()
    clock.call_later(20, lambda: ran.append(("late", clock.monotonic_ms() - start)))
    clock.call_later(10, lambda: ran.append(("early", clock.monotonic_ms() - start)))
    clock.call_later(15, lambda: ran.append(("never", 0))).cancel()
    clock.advance(19)
    assert ran == [("early", 10)]
    clock.advance(1)
    assert ran[1:] == [("late", 20)]
    assert clock.timer_count == 0


def test_a_fake_timer_may_start_another_that_is_due_in_the_same_move() -> None:
    clock = FakeClock()
    ran: list[int] = []
    clock.call_later(5, lambda: clock.call_later(5, lambda: ran.append(1)))
    clock.advance(10)
    assert ran == [1]


def test_the_wall_may_jump_alone() -> None:
    clock = FakeClock(now_ms=1000)
    before = clock.monotonic_ms()
    clock.jump_wall(-500)
    assert (clock.now_ms(), clock.monotonic_ms()) == (500, before)
    clock.advance(10)
    assert (clock.now_ms(), clock.monotonic_ms()) == (510, before + 10)


async def test_a_fake_sleep_ends_when_the_clock_moves() -> None:
    clock = FakeClock()
    sleeper = asyncio.ensure_future(clock.sleep(100))
    await clock.tick(99)
    assert not sleeper.done()
    await clock.tick(1)
    assert sleeper.done()
