from broker.quotas.rate import SAMPLES, WINDOW_MS, Rate


def test_ten_seconds_worth_may_come_at_once() -> None:
    rate = Rate()
    rate.record(10_000, 0)
    assert rate.per_second(0) == 1000
    assert rate.excess_ms(1000, 0) == 0


def test_twice_as_much_takes_as_long_again() -> None:
    rate = Rate()
    rate.record(20_000, 0)
    assert rate.excess_ms(1000, 0) == 10_000


def test_what_was_long_ago_is_forgotten() -> None:
    rate = Rate()
    rate.record(1_000_000, 0)
    assert not rate.is_idle(SAMPLES * WINDOW_MS - 1)
    assert rate.excess_ms(1000, SAMPLES * WINDOW_MS) == 0
    assert rate.is_idle(SAMPLES * WINDOW_MS)


def test_a_steady_client_below_its_limit_never_waits() -> None:
    rate = Rate()
    for now_ms in range(0, 60_000, 100):
        rate.record(99, now_ms)
        assert rate.excess_ms(1000, now_ms) == 0


def test_a_client_that_waits_as_it_is_told_keeps_to_its_limit() -> None:
    rate, now_ms, done = Rate(), 0, 0
    while now_ms < 120_000:
        rate.record(5000, now_ms)
        done += 5000
        now_ms += 10 + rate.excess_ms(1000, now_ms)
    # Ten seconds' worth at the beginning, then as much as it may.
    assert 0.9 < (done - 10_000) / (now_ms / 1000 * 1000) < 1.1


def test_a_limit_of_nothing_is_a_long_wait() -> None:
    rate = Rate()
    rate.record(1, 0)
    assert rate.excess_ms(0, 0) == 10_000
