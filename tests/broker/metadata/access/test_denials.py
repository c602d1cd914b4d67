import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.broker.metadata.access import denials as denials_module
from odradek.broker.metadata.access.denials import INTERVAL_MS, Denial, Denials
from odradek.broker.runtime.logs import _JsonFormatter
from odradek.protocol.acls import Operation
from tests.fakes.access import TOPIC, entry, fake_authorizer
from tests.fakes.clock import FakeClock

ALICE = "User:alice"


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    found: list[Any] = []
    handler = logging.Handler()
    handler.emit = found.append  # type: ignore[method-assign]
    logger = logging.getLogger("odradek.audit")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def denial(name: str = "a", principal: str = ALICE) -> Denial:
    return Denial(principal, "10.0.0.1", Operation.READ, TOPIC, name, "Fetch")


def noting(clock: FakeClock) -> tuple[Denials, Any]:
    deny = entry(Operation.READ, "a", denies=True)
    authorizer, _ = fake_authorizer(deny, clock=clock)
    return authorizer.denials, authorizer.access_of(ALICE, "10.0.0.1")


def test_a_denial_is_told_with_the_rule_that_decides(lines: list[Any]) -> None:
    denials, access = noting(FakeClock())
    denials.note(access, denial())
    [line] = lines
    assert (line.principal, line.operation, line.resource, line.api, line.count) == (
        ALICE,
        "READ",
        "TOPIC:a",
        "Fetch",
        1,
    )
    assert line.rule == "DENY User:alice from * READ on TOPIC:LITERAL:a"
    assert line.getMessage().startswith("Fetch by User:alice at 10.0.0.1 denied: READ")


def test_equal_ones_are_told_once_a_minute_with_their_count(lines: list[Any]) -> None:
    clock = FakeClock()
    denials, access = noting(clock)
    for _ in range(5):
        denials.note(access, denial())
    denials.note(access, denial("b"))
    assert [line.count for line in lines] == [1, 1]
    clock.advance(INTERVAL_MS)
    assert [line.count for line in lines] == [1, 1, 4]
    assert "(4 times since the last line)" in lines[-1].getMessage()
    denials.note(access, denial())
    assert lines[-1].count == 1
    clock.advance(INTERVAL_MS)
    assert len(lines) == 4
    assert clock.timer_count == 0
    assert denials.count == 7


def test_names_are_shortened_and_steer_no_terminal(lines: list[Any]) -> None:
    """A10"""
    denials, access = noting(FakeClock())
    denials.note(access, denial("\x1b[31m\n" + "x" * 1000, "User:\x1b[2J"))
    [line] = lines
    assert line.getMessage().isprintable()
    assert len(line.resource) < 300
    [written] = _JsonFormatter().format(line).splitlines()
    assert json.loads(written)["resource"].startswith(r"TOPIC:\x1b[31m\nxxx")


def test_denials_without_end_do_not_fill_the_memory(
    lines: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(denials_module, "KNOWN_MAX", 10)
    denials, access = noting(FakeClock())
    for number in range(50):
        denials.note(access, denial(str(number)))
    assert len(lines) == 50
    assert len(denials._told) == 10
