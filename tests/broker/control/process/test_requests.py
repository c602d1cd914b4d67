"""Troubles by their requests; what clients make of them is in ``tests/testing``."""

from collections.abc import Iterator

import pytest

from odradek.testing import Broker, Refused


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def test_each_says_what_it_has_done(broker: Broker) -> None:
    assert broker.ask("process.freeze") == [{"is_frozen": True}]
    assert broker.ask("process.thaw") == [{"is_frozen": False}]
    assert broker.ask("process.refuse") == [{"is_accepting": False}]
    assert broker.ask("process.accept") == [{"is_accepting": True}]
    assert broker.ask("process.disconnect") == [{"disconnected": 0}]


@pytest.mark.parametrize(
    ("request_name", "fields", "why"),
    [
        ("process.crash", {"now": True}, "'now' is not a field"),
        ("process.freeze", {"ms": 1}, "'ms' is not a field"),
        ("process.thaw", {"ms": 1}, "'ms' is not a field"),
        ("process.refuse", {"ms": 1}, "'ms' is not a field"),
        ("process.accept", {"ms": 1}, "'ms' is not a field"),
        ("process.disconnect", {"clients": "a*"}, "did you mean client_id"),
        ("process.disconnect", {"client_id": 7}, "it is a text"),
        ("process.crsh", {}, "did you mean process.crash"),
    ],
)
def test_what_makes_no_sense_is_refused(
    broker: Broker, request_name: str, fields: dict[str, object], why: str
) -> None:
    with pytest.raises(Refused, match=why):
        broker.ask(request_name, **fields)
    broker.ask("clock.now")
