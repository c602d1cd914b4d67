import time
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.broker.runtime.clock import TimerHandle
from odradek.broker.runtime.loop_pauses import LoopPauses
from tests.broker.node.test_server import running
from tests.broker.operate.metrics.served import HTTP, scraped


class _Handle:
    is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class FakeLoop:
    """A loop whose turns take as long as a test says."""

    def __init__(self) -> None:
        self.now_s = self.cpu_s = 100.0
        self.handle = _Handle()
        self.beat: Callable[[], None] | None = None
        self.pauses = LoopPauses(
            now_s=lambda: self.now_s,
            cpu_s=lambda: self.cpu_s,
            call_later=self.call_later,
        )
        self.pauses.begin()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> TimerHandle:
        assert delay_s == 0.01
        self.beat = callback
        return self.handle

    def turn(self, late_s: float, cpu_s: float = 0.0) -> None:
        """The beat comes so late; so much was computed since the last one."""
        self.now_s += 0.01 + late_s
        self.cpu_s += cpu_s
        assert self.beat is not None
        self.beat()


def longest(loop: FakeLoop) -> tuple[float, float]:
    return pytest.approx(loop.pauses.longest)  # type: ignore[no-any-return]


def test_the_longest_pause_is_how_late_a_beat_was() -> None:
    loop = FakeLoop()
    assert longest(loop) == (0, 0)
    loop.turn(0.003)
    loop.turn(0.040, cpu_s=0.030)
    loop.turn(0.002)
    assert longest(loop) == (0.040, 0.030)
    assert loop.pauses.long_count == 0


def test_what_was_computed_before_the_beat_was_due_is_no_part_of_its_pause() -> None:
    loop = FakeLoop()
    loop.turn(0.020, cpu_s=0.028)
    assert longest(loop) == (0.020, 0.020)


def test_long_pauses_are_counted_for_good() -> None:
    loop = FakeLoop()
    for late_s in (0.2, 0.049, 0.051):
        loop.turn(late_s)
    for _ in range(3):
        loop.turn(60)
    assert loop.pauses.long_count == 5


def test_a_pause_is_told_for_a_minute_at_least_and_forgotten_after_two() -> None:
    loop = FakeLoop()
    loop.turn(0.2)
    for _ in range(5980):  # just under a minute
        loop.turn(0)
    assert longest(loop) == (0.2, 0)
    for _ in range(5990):  # the window before this one has it
        loop.turn(0)
    assert longest(loop) == (0.2, 0)
    for _ in range(40):
        loop.turn(0)
    assert longest(loop) == (0, 0)


def test_no_beat_follows_the_stop() -> None:
    loop = FakeLoop()
    loop.pauses.stop()
    assert loop.handle.is_cancelled
    loop.pauses.stop()


async def test_who_scrapes_is_told_that_the_loop_was_held(tmp_path: Path) -> None:
    async with running(tmp_path, http_listener=HTTP) as server:
        time.sleep(0.1)  # noqa: ASYNC251 - this is what is measured
        found = await scraped(server)
    seconds = found["odradek_loop_longest_pause_seconds"][()]
    assert seconds >= 0.089
    assert 0 <= found["odradek_loop_longest_pause_cpu_seconds"][()] <= seconds
    assert found["odradek_loop_long_pauses_total"][()] >= 1
