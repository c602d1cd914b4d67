import pytest

from odradek.broker.runtime.settled_time import DOUBT_MS, LEAP_MS, SettledTime
from tests.fakes.clock import FakeClock

YEAR_MS = 365 * 86_400_000


def look_every_minute(clock: FakeClock, time: SettledTime, duration_ms: int) -> None:
    for _ in range(duration_ms // 60_000):
        clock.advance(60_000)
        time.now_ms()


def test_it_goes_with_the_clock() -> None:
    clock = FakeClock()
    time = SettledTime(clock)
    clock.advance(10 * DOUBT_MS)
    assert time.now_ms() == clock.now_ms()


def test_a_slewed_clock_is_followed() -> None:
    clock = FakeClock()
    time = SettledTime(clock)
    for _ in range(100):
        clock.jump_wall(LEAP_MS)
        assert time.now_ms() == clock.now_ms()


def test_a_leap_forward_is_believed_when_it_lasts(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    time = SettledTime(clock)
    before = clock.now_ms()
    clock.jump_wall(YEAR_MS)
    assert time.now_ms() == before
    look_every_minute(clock, time, DOUBT_MS - 60_000)
    assert time.now_ms() == before + DOUBT_MS - 60_000
    look_every_minute(clock, time, 60_000)
    assert time.now_ms() == clock.now_ms()
    assert caplog.text.count("leapt by 31536000 s") == 1


def test_a_leap_that_is_taken_back_never_counted() -> None:
    clock = FakeClock()
    time = SettledTime(clock)
    clock.jump_wall(YEAR_MS)
    time.now_ms()
    clock.jump_wall(-YEAR_MS)
    assert time.now_ms() == clock.now_ms()
    look_every_minute(clock, time, 2 * DOUBT_MS)
    assert time.now_ms() == clock.now_ms()


def test_another_leap_begins_the_doubt_anew() -> None:
    clock = FakeClock()
    time = SettledTime(clock)
    before = clock.now_ms()
    clock.jump_wall(YEAR_MS)
    look_every_minute(clock, time, DOUBT_MS - 60_000)
    clock.jump_wall(YEAR_MS)
    look_every_minute(clock, time, DOUBT_MS - 60_000)
    assert time.now_ms() == before + 2 * (DOUBT_MS - 60_000)


def test_a_leap_backwards_is_believed_at_once() -> None:
    clock = FakeClock()
    time = SettledTime(clock)
    clock.jump_wall(-YEAR_MS)
    assert time.now_ms() == clock.now_ms()
