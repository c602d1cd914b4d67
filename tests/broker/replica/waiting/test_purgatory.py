from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.replica.waiting.purgatory import DelayedOperation, Purgatory
from tests.fakes.clock import FakeClock


class Waiting(DelayedOperation[str]):
    """Completes when every key that it waits for is in ``ready``."""

    def __init__(self, ready: set[str], *needed: str) -> None:
        super().__init__()
        self.ready = ready
        self.needed = set(needed)
        self.looked_at: list[str] = []
        self.completions = 0
        self.expirations = 0
        self.errors: list[Exception] = []

    def try_complete(self) -> bool:
        return self.needed <= self.ready and self.force_complete()

    def try_complete_for(self, key: str) -> bool:
        self.looked_at.append(key)
        return self.try_complete()

    def on_complete(self) -> None:
        self.completions += 1

    def on_expiration(self) -> None:
        self.expirations += 1

    def on_error(self, error: Exception) -> None:
        self.errors.append(error)


class Broken(Waiting):
    def try_complete_for(self, key: str) -> bool:
        raise ZeroDivisionError(key)


def purgatory(clock: FakeClock, purge_interval: int = 1000) -> Purgatory[str]:
    return Purgatory("test", clock, purge_interval)


def test_an_operation_whose_conditions_hold_is_not_watched() -> None:
    clock = FakeClock()
    waits = purgatory(clock)
    done = Waiting({"a"}, "a")
    assert waits.try_complete_else_watch(done, ["a"], 100)
    assert (done.completions, waits.watched_count, clock.timer_count) == (1, 0, 0)


def test_a_check_looks_at_its_key_only_and_completes_once() -> None:
    waits = purgatory(FakeClock())
    ready: set[str] = set()
    one, both = Waiting(ready, "a"), Waiting(ready, "a", "b")
    assert not waits.try_complete_else_watch(one, ["a"], 100)
    assert not waits.try_complete_else_watch(both, ["a", "b"], 100)
    ready.add("a")
    assert waits.check("a") == 1
    assert waits.check("a") == 0
    ready.add("b")
    assert waits.check("c") == 0
    assert waits.check("b") == 1
    assert waits.check("a") == 0
    assert both.looked_at == ["a", "a", "b"]
    assert (one.completions, both.completions) == (1, 1)
    assert (waits.watched_count, waits.delayed_count) == (0, 0)


def test_the_deadline_completes_and_says_so() -> None:
    clock = FakeClock()
    waits = purgatory(clock)
    late = Waiting(set(), "a")
    waits.try_complete_else_watch(late, ["a"], 500)
    clock.advance(499)
    assert late.completions == 0
    clock.advance(1 + 500 // 64)
    assert (late.completions, late.expirations) == (1, 1)
    assert waits.check("a") == 0
    assert (late.completions, waits.watched_count) == (1, 0)


def test_an_operation_completed_in_time_does_not_expire() -> None:
    clock = FakeClock()
    waits = purgatory(clock)
    ready: set[str] = set()
    early = Waiting(ready, "a")
    waits.try_complete_else_watch(early, ["a"], 500)
    ready.add("a")
    waits.check("a")
    clock.advance(1000)
    assert (early.completions, early.expirations) == (1, 0)
    assert clock.timer_count == 0


def test_a_wait_of_nothing_expires_at_once() -> None:
    waits = purgatory(FakeClock())
    for timeout_ms in (0, -1):
        never = Waiting(set(), "a")
        assert waits.try_complete_else_watch(never, ["a"], timeout_ms)
        assert never.expirations == 1
    assert waits.watched_count == 0


def test_deadlines_of_parked_operations_share_one_timer() -> None:
    clock = FakeClock()
    waits = purgatory(clock)
    parked = [Waiting(set(), "a") for _ in range(5000)]
    for operation in parked:
        waits.try_complete_else_watch(operation, ["a"], 500)
    assert clock.timer_count == 1
    clock.advance(600)
    assert all(operation.expirations == 1 for operation in parked)
    assert clock.timer_count == 0


def test_by_an_exact_clock_nothing_is_late() -> None:
    clock = FakeClock()
    clock.is_exact = True
    waits = purgatory(clock)
    clock.advance(1)
    operation = Waiting(set(), "a")
    waits.try_complete_else_watch(operation, ["a"], 30_001)
    clock.advance(30_000)
    assert operation.expirations == 0
    clock.advance(1)
    assert operation.expirations == 1


def test_a_shorter_wait_brings_the_timer_forward() -> None:
    clock = FakeClock()
    waits = purgatory(clock)
    long, short = Waiting(set(), "a"), Waiting(set(), "a")
    waits.try_complete_else_watch(long, ["a"], 30_000)
    waits.try_complete_else_watch(short, ["a"], 10)
    assert clock.timer_count == 1
    clock.advance(11)
    assert (long.expirations, short.expirations) == (0, 1)
    clock.advance(31_000)
    assert long.expirations == 1


def test_t135_purge_interval_removes_dead_watchers() -> None:
    waits = purgatory(FakeClock(), purge_interval=10)
    ready: set[str] = set()
    for _ in range(10):
        waits.try_complete_else_watch(Waiting(ready, "busy"), ["busy", "idle"], 500)
    ready.add("busy")
    waits.check("busy")
    assert waits.watched_count == 10, "dead ones under idle, not above the interval"
    ready.clear()
    waits.try_complete_else_watch(Waiting(ready, "busy"), ["busy", "idle"], 500)
    assert waits.watched_count == 12
    ready.add("busy")
    waits.check("busy")
    ready.clear()
    waits.try_complete_else_watch(Waiting(ready, "busy"), ["busy", "idle"], 500)
    assert (waits.watched_count, waits.delayed_count) == (2, 1)


def test_dead_watchers_of_expired_operations_are_purged_by_the_timer() -> None:
    clock = FakeClock()
    waits = purgatory(clock, purge_interval=10)
    for number in range(11):
        waits.try_complete_else_watch(Waiting(set(), "a"), [f"k{number}"], 100)
    clock.advance(200)
    assert waits.watched_count == 0


def test_an_exception_of_one_operation_does_not_stop_the_others() -> None:
    waits = purgatory(FakeClock())
    ready: set[str] = set()
    broken, fine = Broken(ready, "a"), Waiting(ready, "a")
    waits.try_complete_else_watch(broken, ["a"], 100)
    waits.try_complete_else_watch(fine, ["a"], 100)
    ready.add("a")
    waits.check("a")
    assert fine.completions == 1
    assert [type(error) for error in broken.errors] == [ZeroDivisionError]
    assert (broken.completions, waits.delayed_count, waits.watched_count) == (0, 0, 0)


def test_complete_all_completes_whatever_waits() -> None:
    waits = purgatory(FakeClock())
    operation = Waiting(set(), "a")
    waits.try_complete_else_watch(operation, ["a", "b"], 100)
    assert waits.complete_all("a") == 1
    assert waits.complete_all("b") == 0
    assert (operation.completions, operation.expirations) == (1, 0)


def test_what_is_kept_is_for_no_check_and_ends_at_its_deadline() -> None:
    clock = FakeClock()
    waits = purgatory(clock)
    kept, closed = Waiting({"a"}, "a"), Waiting({"a"}, "a")
    waits.keep(kept, 100)
    assert (waits.delayed_count, waits.watched_count) == (1, 0)
    assert not waits.check("a")
    clock.advance(200)
    waits.keep(closed, 100)
    waits.close()
    assert (kept.completions, kept.expirations, waits.delayed_count) == (1, 1, 0)
    assert (closed.completions, closed.expirations) == (1, 0)
    at_once = Waiting(set(), "a")
    waits.keep(at_once, 0)
    assert (at_once.expirations, waits.delayed_count, clock.timer_count) == (1, 0, 0)


def test_close_completes_everything_and_stops_the_timer() -> None:
    clock = FakeClock()
    waits = purgatory(clock)
    operation = Waiting(set(), "a")
    waits.try_complete_else_watch(operation, ["a"], 100)
    waits.close()
    assert (operation.completions, clock.timer_count) == (1, 0)


KEYS = st.sampled_from("abc")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("watch"), st.sets(KEYS, min_size=1), st.integers(1, 300)),
        st.tuples(st.just("ready"), KEYS),
        st.tuples(st.just("unready"), KEYS),
        st.tuples(st.just("advance"), st.integers(0, 200)),
    )
)


@given(STEPS)
def test_every_operation_completes_exactly_once_and_never_too_early(
    steps: list[tuple],
) -> None:
    clock = FakeClock()
    waits = purgatory(clock, purge_interval=3)
    ready: set[str] = set()
    operations: list[tuple[Waiting, float, int]] = []
    for step in steps:
        if step[0] == "watch":
            operation = Waiting(ready, *step[1])
            operations.append((operation, clock.elapsed_ms, step[2]))
            waits.try_complete_else_watch(operation, sorted(step[1]), step[2])
        elif step[0] == "ready":
            ready.add(step[1])
            waits.check(step[1])
        elif step[0] == "unready":
            ready.discard(step[1])
        else:
            clock.advance(step[1])
        for operation, since_ms, timeout_ms in operations:
            if operation.expirations:
                assert clock.elapsed_ms >= since_ms + timeout_ms
    clock.advance(400)
    assert all(operation.completions == 1 for operation, _, _ in operations)
    assert waits.delayed_count == 0
    waits.purge()
    assert waits.watched_count == 0
