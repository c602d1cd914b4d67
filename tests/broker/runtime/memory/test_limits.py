from odradek.broker.runtime.memory.limits import LimitedLog, RequestMemory
from tests.fakes.clock import FakeClock


class Holder:
    def __init__(self) -> None:
        self.freed = 0

    def memory_freed(self) -> None:
        self.freed += 1


def test_below_the_limit_nobody_waits() -> None:
    memory, holder = RequestMemory(100), Holder()
    memory.change(100)
    assert not memory.must_wait(holder)


def test_past_the_limit_one_may_go_on_and_the_others_wait() -> None:
    memory = RequestMemory(100)
    first, second, third = Holder(), Holder(), Holder()
    memory.change(101)
    assert not memory.must_wait(first)
    assert memory.must_wait(second)
    assert memory.must_wait(third)
    assert not memory.must_wait(first)
    assert memory.waiting_count == 2


def test_the_one_that_waits_longest_follows() -> None:
    memory = RequestMemory(100)
    first, second, third = Holder(), Holder(), Holder()
    memory.change(150)
    for holder in (first, second, third):
        memory.must_wait(holder)
    memory.leave(first)
    assert (second.freed, third.freed) == (1, 0)
    assert not memory.must_wait(second)
    memory.leave(second)
    assert third.freed == 1


def test_all_go_on_once_it_fits_again() -> None:
    memory = RequestMemory(100)
    holders = [Holder() for _ in range(3)]
    memory.change(150)
    for holder in holders:
        memory.must_wait(holder)
    memory.change(-50)
    assert [holder.freed for holder in holders] == [0, 1, 1]
    assert memory.waiting_count == 0


def test_who_leaves_while_waiting_is_not_called() -> None:
    memory = RequestMemory(0)
    first, second = Holder(), Holder()
    memory.change(1)
    memory.must_wait(first)
    memory.must_wait(second)
    memory.leave(second)
    memory.leave(first)
    assert second.freed == 0
    assert not memory.must_wait(second), "nobody else is exempt any more"


def test_minus_one_is_no_limit() -> None:
    memory = RequestMemory(-1)
    memory.change(1 << 50)
    assert not memory.must_wait(Holder())


def test_one_line_a_second_and_the_others_counted() -> None:
    clock, lines = FakeClock(), []
    log = LimitedLog(clock, lines.append)
    for number in range(5):
        log.warn(f"line {number}")
    assert lines == ["line 0"]
    clock.advance(1000)
    log.warn("next")
    assert lines[1:] == ["next (4 more like this since the last line)"]
    clock.advance(1000)
    log.warn("last")
    assert lines[2:] == ["last"]


def test_the_same_subject_has_one_line_a_minute() -> None:
    clock, lines = FakeClock(), []
    log = LimitedLog(clock, lines.append)
    for _ in range(3):
        log.warn_once(("TLS", "h"), "TLS from h")
        clock.advance(10_000)
    log.warn_once(("TLS", "i"), "TLS from i")
    assert lines == ["TLS from h", "TLS from i"]
    clock.advance(log.REPEAT_MS)
    log.warn_once(("TLS", "h"), "TLS from h again")
    assert lines[2:] == ["TLS from h again"]


def test_a_subject_whose_line_was_not_written_is_not_known() -> None:
    clock, lines = FakeClock(), []
    log = LimitedLog(clock, lines.append)
    for number in range(log.FREE_MAX):
        log.warn_once(number, "free")
    log.warn("another")
    log.warn_once("h", "h, too soon")
    clock.advance(log.INTERVAL_MS)
    log.warn_once("h", "h")
    assert lines[log.FREE_MAX + 1 :] == ["h (1 more like this since the last line)"]


def test_a_few_subjects_are_not_hidden_by_others_and_a_crowd_is() -> None:
    clock, lines = FakeClock(), []
    log = LimitedLog(clock, lines.append)
    log.warn("another")
    for number in range(1000):
        log.warn_once(number, f"subject {number}")
    assert lines == ["another", *(f"subject {n}" for n in range(log.FREE_MAX))]
    clock.advance(log.REPEAT_MS)
    log.warn_once("later", "later")
    assert lines[-1] == "later"


def test_no_more_subjects_are_kept_than_the_limit() -> None:
    clock, lines = FakeClock(), []
    log = LimitedLog(clock, lines.append)
    log.REPEAT_MS = 1 << 40
    for number in range(2 * log.KNOWN_MAX):
        log.warn_once(number, "line")
        clock.advance(log.INTERVAL_MS)
    assert len(log._again_ms) <= log.KNOWN_MAX
    assert len(lines) == 2 * log.KNOWN_MAX


def test_room_for_what_has_yet_to_come_is_a_quarter_of_what_is_left() -> None:
    memory = RequestMemory(1000)
    assert memory.has_room(250)
    assert not memory.has_room(251)
    memory.change(600)
    assert memory.has_room(100)
    assert not memory.has_room(101)
    memory.change(600)
    assert not memory.has_room(1)
    assert RequestMemory(-1).has_room(1 << 40)
