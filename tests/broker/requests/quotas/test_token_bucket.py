from odradek.broker.requests.quotas.token_bucket import TokenBucket

BURST_S = 11.0


def test_a_burst_may_use_what_was_saved() -> None:
    bucket = TokenBucket(2, 0, BURST_S)
    bucket.take(2 * BURST_S)
    assert bucket.wait_ms == 0
    bucket.take(1)
    assert bucket.wait_ms == 500


def test_tokens_come_back_and_no_more_than_may_be_saved() -> None:
    bucket = TokenBucket(2, 0, BURST_S)
    bucket.take(2 * BURST_S + 4)
    bucket.update(2, 1000)
    assert bucket.wait_ms == 1000
    bucket.update(2, 2000)
    assert bucket.wait_ms == 0
    bucket.update(2, 1_000_000)
    assert bucket.tokens == 2 * BURST_S


def test_a_new_limit_holds_from_then_on() -> None:
    bucket = TokenBucket(10, 0, BURST_S)
    bucket.update(1, 0)
    assert bucket.tokens == BURST_S
    bucket.take(BURST_S + 3)
    assert bucket.wait_ms == 3000


def test_a_limit_of_nothing_is_a_long_wait() -> None:
    bucket = TokenBucket(0, 0, BURST_S)
    bucket.take(1)
    assert bucket.wait_ms == BURST_S * 1000
