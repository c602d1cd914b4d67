import pytest

from odradek.broker.config.options.listener import Listener
from odradek.broker.security.login.login_delay import LoginDelay
from odradek.broker.security.login.logins import Logins
from odradek.broker.security.login.mechanism import Identity
from tests.fakes.clock import FakeClock


def logins(max_reauth_ms: int) -> Logins:
    clock = FakeClock(now_ms=1_000)
    listener = Listener("IN", "127.0.0.1", 1, "SASL_PLAINTEXT")
    delay = LoginDelay(clock, 0)
    return Logins(listener, {}, {"PLAIN": max_reauth_ms}, clock, delay)


@pytest.mark.parametrize(
    ("max_reauth_ms", "expires_ms", "lifetime_ms"),
    [
        (0, None, None),
        (500, None, 500),
        (0, 1_400, 400),
        (300, 1_400, 300),
        (500, 1_400, 400),
        (500, 900, -100),
    ],
)
def test_a_login_holds_as_long_as_the_least_of_what_limits_it(
    max_reauth_ms: int, expires_ms: int | None, lifetime_ms: int | None
) -> None:
    identity = Identity("User:a", expires_ms)
    assert logins(max_reauth_ms).lifetime_ms("PLAIN", identity) == lifetime_ms


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (3, "Metadata without a login: set security.protocol=SASL_PLAINTEXT"),
        (0x6012, "it logs in by SASL"),
        (999, "no request of Kafka"),
        (-1, "no request of Kafka"),
    ],
)
def test_who_begins_otherwise_is_told_what_to_do(key: int, words: str) -> None:
    assert words in logins(0).advice(key)
