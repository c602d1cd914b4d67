import logging

import pytest

from odradek.broker.runtime.bugs import Bugs


def test_a_bug_is_logged_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    told: list[BaseException] = []
    bugs = Bugs(told.append)
    error = RuntimeError("expected by this test")
    with caplog.at_level(logging.ERROR):
        bugs.record("Produce v9", error)
    assert (bugs.count, told) == (1, [error])
    assert "Produce v9" in caplog.text
    assert "expected by this test" in caplog.text


def test_without_a_hook_the_broker_goes_on() -> None:
    bugs = Bugs()
    bugs.record("somewhere", RuntimeError("expected by this test"))
    assert bugs.count == 1
