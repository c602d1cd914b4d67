"""Bytes at a rate, on a clock that sleeping moves."""

from pathlib import Path

import pytest

from odradek.storage.cleaner.throttle import Throttle, ThrottledFiles
from tests.storage.cleaner.test_worker import log_in, messages, plan_of


class Time:
    def __init__(self) -> None:
        self.now_s = 100.0
        self.sleeps: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now_s += seconds

    def throttle(self, rate: float) -> Throttle:
        return Throttle(rate, self.monotonic, self.sleep)


def test_bytes_take_their_time() -> None:
    time = Time()
    throttle = time.throttle(1000)
    for size in (500, 1500, 1000):
        throttle.pass_on(size)
    assert time.now_s == 103
    assert len(time.sleeps) == 3


def test_small_ones_wait_together() -> None:
    time = Time()
    throttle = time.throttle(1000)
    for _ in range(100):
        throttle.pass_on(1)
    assert time.now_s - 100 == pytest.approx(0.1)
    assert len(time.sleeps) <= 11


def test_idle_time_is_not_made_up_for() -> None:
    time = Time()
    throttle = time.throttle(1000)
    time.now_s += 60
    throttle.pass_on(2000)
    assert time.now_s == 162


def test_files_count_what_is_read_and_written(tmp_path: Path) -> None:
    time = Time()
    file = ThrottledFiles(time.throttle(10)).open(tmp_path / "a", create=True)
    file.append(b"x" * 50)
    assert time.now_s == 105
    assert bytes(file.read_at(40, 100)) == b"x" * 10
    assert time.now_s == 106
    file.close()


def test_the_worker_keeps_to_the_rate_of_its_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = Time()
    made: list[float] = []

    def throttle(rate: float) -> Throttle:
        made.append(rate)
        return time.throttle(rate)

    monkeypatch.setattr("odradek.storage.cleaner.worker.Throttle", throttle)
    plan = plan_of(log_in(tmp_path, "a1 b1 a2 | z1"))
    size = plan.segments[0].size
    segment, _ = messages(plan._replace(bytes_per_second=10.0), b"+")
    assert made == [10.0]
    # Once for the map, once for the records, and what is written.
    assert time.now_s - 100 >= (2 * size + segment.size) / 10 - 0.01
    messages(plan, b"+")
    assert made == [10.0], "without a rate nothing is measured"
