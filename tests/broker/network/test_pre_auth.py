from odradek.broker.network.pre_auth import PreAuth
from tests.fakes.clock import FakeClock


class Somebody:
    def __init__(self) -> None:
        self.limits: list[str] = []

    def cut(self, why: str, limit: str) -> None:
        self.limits.append(limit)


def test_the_oldest_goes_when_there_are_too_many() -> None:
    waiting = PreAuth(FakeClock(), 2, 1000)
    first, second, third = people = [Somebody(), Somebody(), Somebody()]
    for each in people:
        waiting.enter(each)
    assert first.limits == ["max.connections.unauthenticated"]
    assert not second.limits
    assert not third.limits
    assert waiting.count == 2


def test_who_has_made_a_handshake_before_has_no_more_time_for_it() -> None:
    clock = FakeClock()
    waiting = PreAuth(clock, 9, 1000)
    before, after = Somebody(), Somebody()
    began_ms = clock.monotonic_ms()
    clock.advance(900)
    waiting.enter(before)
    waiting.enter(after, began_ms)
    clock.advance(99)
    waiting.sweep()
    assert not after.limits
    clock.advance(1)
    waiting.sweep()
    assert after.limits == ["connection.authentication.timeout.ms"]
    assert not before.limits


def test_who_takes_too_long_is_cut_off() -> None:
    clock = FakeClock()
    waiting = PreAuth(clock, 9, 1000)
    slow, late, quick = Somebody(), Somebody(), Somebody()
    for each in (slow, quick):
        waiting.enter(each)
    clock.advance(500)
    waiting.enter(late)
    waiting.leave(quick)
    clock.advance(500)
    waiting.sweep()
    assert slow.limits == ["connection.authentication.timeout.ms"]
    assert not late.limits
    assert not quick.limits
