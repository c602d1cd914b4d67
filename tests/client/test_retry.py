import pytest

from odradek.client.retry import Retry
from tests.fakes.waiting import Waiting


class Attempts:
    """Fails so often, then returns."""

    def __init__(self, failures: float) -> None:
        self.failures = failures
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        if self.count <= self.failures:
            raise LookupError(self.count)
        return "done"


def may_pass(error: Exception) -> bool:
    return isinstance(error, LookupError)


def test_what_works_at_once_waits_for_nothing() -> None:
    time = Waiting()
    assert Retry(5, time.monotonic, time.sleep).run(Attempts(0), may_pass) == "done"
    assert time.pauses == []


def test_pauses_double_up_to_a_second() -> None:
    time = Waiting()
    assert Retry(5, time.monotonic, time.sleep).run(Attempts(7), may_pass) == "done"
    assert time.pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1, 1]


@pytest.mark.parametrize(("limit_s", "slept_s"), [(None, 5), (0.5, 0.5), (0, 0)])
def test_the_last_error_is_raised_when_the_time_is_over(
    limit_s: float | None, slept_s: float
) -> None:
    time = Waiting()
    attempts = Attempts(1e9)
    with pytest.raises(LookupError) as raised:
        Retry(5, time.monotonic, time.sleep).run(attempts, may_pass, limit_s)
    assert raised.value.args == (attempts.count,)
    assert sum(time.pauses) <= slept_s
    assert sum(time.pauses) >= slept_s / 2


def test_what_will_not_pass_is_raised_at_once() -> None:
    time = Waiting()
    attempts = Attempts(1)
    with pytest.raises(LookupError):
        Retry(5, time.monotonic, time.sleep).run(attempts, lambda error: False)
    assert attempts.count == 1
