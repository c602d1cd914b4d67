from odradek.broker.coordinator.timers import Timers
from tests.fakes.clock import FakeClock


class Rig:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.ran: list[str] = []
        self.timers = Timers(self.clock, lambda action: action())

    def start(self, name: str, delay_ms: int) -> None:
        self.timers.start(name, delay_ms, lambda: self.ran.append(name))


def test_a_timer_runs_once_when_it_is_due() -> None:
    rig = Rig()
    rig.start("a", 10)
    rig.clock.advance(9)
    assert rig.ran == []
    rig.clock.advance(1)
    assert rig.ran == ["a"]
    rig.clock.advance(100)
    assert rig.ran == ["a"]
    assert len(rig.timers) == 0


def test_timers_run_in_the_order_in_which_they_are_due() -> None:
    rig = Rig()
    for name, delay_ms in (("c", 30), ("a", 10), ("b", 20)):
        rig.start(name, delay_ms)
    rig.clock.advance(30)
    assert rig.ran == ["a", "b", "c"]


def test_a_timer_that_is_put_off_runs_later_only() -> None:
    rig = Rig()
    rig.start("a", 10)
    for _ in range(5):
        rig.clock.advance(8)
        rig.start("a", 10)
    assert rig.ran == []
    rig.clock.advance(10)
    assert rig.ran == ["a"]


def test_one_that_is_there_can_be_put_off_as_it_is() -> None:
    rig = Rig()
    assert not rig.timers.put_off("a", 10)
    rig.start("a", 10)
    rig.clock.advance(8)
    assert rig.timers.put_off("a", 10)
    rig.clock.advance(9)
    assert rig.ran == []
    assert rig.timers.put_off("a", 0)
    rig.clock.advance(0)
    assert rig.ran == ["a"]


def test_a_timer_can_be_brought_forward() -> None:
    rig = Rig()
    rig.start("a", 100)
    rig.start("a", 10)
    rig.clock.advance(10)
    assert rig.ran == ["a"]
    rig.clock.advance(100)
    assert rig.ran == ["a"]


def test_a_cancelled_timer_does_not_run() -> None:
    rig = Rig()
    rig.start("a", 10)
    assert "a" in rig.timers
    rig.timers.cancel("a")
    rig.timers.cancel("b")
    rig.clock.advance(100)
    assert rig.ran == []


def test_closed_timers_do_not_run_and_leave_nothing_behind() -> None:
    rig = Rig()
    rig.start("a", 10)
    rig.timers.close()
    assert rig.clock.timer_count == 0
    rig.start("b", 10)
    assert rig.clock.timer_count == 0
    rig.clock.advance(10)
    assert rig.ran == []


def test_a_jump_of_the_wall_clock_ends_nothing() -> None:
    rig = Rig()
    rig.start("a", 10)
    rig.clock.jump_wall(1_000_000)
    rig.clock.advance(9)
    assert rig.ran == []


def test_many_timers_that_are_put_off_do_not_fill_the_heap() -> None:
    rig = Rig()
    for turn in range(1000):
        rig.start("a", 10 if turn % 2 else 20)
        rig.clock.advance(1)
    assert len(rig.timers._heap) < 30


def test_a_timer_may_start_others_while_it_runs() -> None:
    rig = Rig()
    rig.timers.start("a", 10, lambda: rig.start("b", 10))
    rig.clock.advance(10)
    rig.clock.advance(10)
    assert rig.ran == ["b"]


def test_in_how_long_a_timer_is_due() -> None:
    rig = Rig()
    assert rig.timers.left_ms("a") is None
    rig.start("a", 10)
    rig.clock.advance(4)
    assert rig.timers.left_ms("a") == 6
    rig.timers.cancel("a")
    assert rig.timers.left_ms("a") is None
