"""The clock by its requests; what they do to clients is in ``tests/testing``."""

from collections.abc import Iterator

import pytest

from odradek.testing import Broker, Refused

HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def test_each_says_where_the_clock_stands(broker: Broker) -> None:
    (advanced,) = broker.ask("clock.advance", ms=HOUR_MS)
    assert advanced["ahead_ms"] == HOUR_MS
    assert advanced["timers"] > 60
    (jumped,) = broker.ask("clock.jump", ms=-2 * HOUR_MS)
    assert jumped["ahead_ms"] == -HOUR_MS
    (frozen,) = broker.ask("clock.freeze")
    assert broker.ask("clock.now")[0]["now_ms"] == frozen["now_ms"]
    assert frozen["is_frozen"]
    (thawed,) = broker.ask("clock.thaw")
    assert not thawed["is_frozen"]
    broker.ask("clock.jump", ms=HOUR_MS)


@pytest.mark.parametrize(
    ("request_name", "fields", "why"),
    [
        ("clock.advance", {"ms": -1}, "ms is -1; it is at least 0"),
        ("clock.advance", {"ms": 1 << 60}, "it is at most"),
        ("clock.advance", {}, "ms is missing: a whole number"),
        ("clock.advance", {"ms": 1.5}, "it is a whole number"),
        ("clock.advance", {"ms": 1, "session": "keep"}, "did you mean sessions"),
        ("clock.advance", {"ms": 1, "sessions": "expired"}, "did you mean expire"),
        ("clock.jump", {"ms": "1 day"}, "it is a whole number"),
        ("clock.freeze", {"ms": 1}, "'ms' is not a field"),
        ("clock.thaw", {"ms": 1}, "'ms' is not a field"),
        ("clock.now", {"ms": 1}, "'ms' is not a field"),
        ("clock.advanced", {}, "did you mean clock.advance"),
    ],
)
def test_what_makes_no_sense_is_refused(
    broker: Broker, request_name: str, fields: dict[str, object], why: str
) -> None:
    before = broker.ask("clock.now")[0]["ahead_ms"]
    with pytest.raises(Refused, match=why):
        broker.ask(request_name, **fields)
    (now,) = broker.ask("clock.now")
    assert abs(now["ahead_ms"] - before) <= 1  # what is read twice is rounded twice
    assert not now["is_frozen"]
