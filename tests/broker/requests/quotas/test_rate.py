import pytest

from odradek.broker.requests.quotas.rate import Rate, Windows

DEFAULT = Windows()
SPAN_MS = DEFAULT.span_ms


def test_ten_seconds_worth_may_come_at_once() -> None:
    rate = Rate(DEFAULT)
    rate.record(10_000, 0)
    assert rate.per_second(0) == 1000
    assert rate.excess_ms(1000, 0) == 0


def test_twice_as_much_takes_as_long_again() -> None:
    rate = Rate(DEFAULT)
    rate.record(20_000, 0)
    assert rate.excess_ms(1000, 0) == 10_000


def test_what_was_long_ago_is_forgotten() -> None:
    rate = Rate(DEFAULT)
    rate.record(1_000_000, 0)
    assert not rate.is_idle(SPAN_MS - 1)
    assert rate.excess_ms(1000, SPAN_MS) == 0
    assert rate.is_idle(SPAN_MS)


def test_a_steady_client_below_its_limit_never_waits() -> None:
    rate = Rate(DEFAULT)
    for now_ms in range(0, 60_000, 100):
        rate.record(99, now_ms)
        assert rate.excess_ms(1000, now_ms) == 0


def test_a_client_that_waits_as_it_is_told_keeps_to_its_limit() -> None:
    rate, now_ms, done = Rate(DEFAULT), 0, 0
    while now_ms < 120_000:
        rate.record(5000, now_ms)
        done += 5000
        now_ms += 10 + rate.excess_ms(1000, now_ms)
    # Ten seconds' worth at the beginning, then as much as it may.
    assert 0.9 < (done - 10_000) / (now_ms / 1000 * 1000) < 1.1


def test_a_limit_of_nothing_is_a_long_wait() -> None:
    rate = Rate(DEFAULT)
    rate.record(1, 0)
    assert rate.excess_ms(0, 0) == 10_000


@pytest.mark.parametrize(
    ("windows", "at_once"),
    [(Windows(2, 1000), 1000), (Windows(11, 3000), 30_000), (Windows(4, 500), 1500)],
)
def test_all_but_one_of_the_windows_may_be_used_at_once(
    windows: Windows, at_once: int
) -> None:
    rate = Rate(windows)
    rate.record(at_once, 0)
    assert rate.excess_ms(1000, 0) == 0
    rate.record(at_once, 0)
    assert rate.excess_ms(1000, 0) == at_once
    assert not rate.is_idle(windows.span_ms - 1)
    assert rate.is_idle(windows.span_ms)


def test_of_one_window_the_time_since_it_began_counts() -> None:
    rate = Rate(Windows(1, 1000))
    rate.record(10, 0)
    assert rate.per_second(0) == 10_000
    assert rate.per_second(500) == 20
