from odradek.broker.security.login.login_delay import (
    ADDRESSES_MAX,
    DELAY_MS_MAX,
    FORGOTTEN_AFTER_MS,
    LoginDelay,
)
from tests.fakes.clock import FakeClock


def test_an_address_waits_twice_as_long_each_time() -> None:
    """S010"""
    delay = LoginDelay(FakeClock(), 100)
    waited = [delay.after_failure("a") for _ in range(8)]
    assert waited == [100, 200, 400, 800, 1600, 3200, DELAY_MS_MAX, DELAY_MS_MAX]
    assert delay.after_failure("b") == 100


def test_an_address_is_forgotten_that_fails_no_more() -> None:
    clock = FakeClock()
    delay = LoginDelay(clock, 100)
    delay.after_failure("a")
    clock.advance(FORGOTTEN_AFTER_MS - 1)
    assert delay.after_failure("a") == 200
    clock.advance(FORGOTTEN_AFTER_MS)
    assert delay.after_failure("a") == 100


def test_only_so_many_addresses_are_remembered() -> None:
    """S010"""
    delay = LoginDelay(FakeClock(), 100)
    for number in range(ADDRESSES_MAX + 5):
        delay.after_failure(str(number))
    assert len(delay._failures) == ADDRESSES_MAX
    assert delay.after_failure("0") == 100


def test_none_is_none_and_a_long_one_stays_as_it_is() -> None:
    assert [LoginDelay(FakeClock(), 0).after_failure("a") for _ in "12"] == [0, 0]
    long = LoginDelay(FakeClock(), 9_000)
    assert [long.after_failure("a") for _ in "12"] == [9_000, 9_000]
