"""Who is no fixture has a broker of the run, too."""

from unittest import SkipTest

import pytest

from odradek.testing import BrokerError, SharedBroker, runs
from odradek.testing.runs import PlainRun, did_not_start


class FailingRun(PlainRun):
    """Its brokers do not start."""

    def own(self, config: object = None) -> None:  # type: ignore[override]
        """Fail."""
        raise BrokerError("the broker did not start:\nno space left")


def test_all_share_one_that_nobody_ends() -> None:
    run = PlainRun()
    broker = run.shared()
    try:
        assert run.shared() is broker
        with pytest.raises(SharedBroker):
            broker.kill()
    finally:
        run.close()
    assert not broker.directory.exists()


def test_the_first_learns_why_there_is_none_and_others_skip() -> None:
    run = FailingRun()
    with pytest.raises(BrokerError, match="no space left"):
        run.shared()
    with pytest.raises(SkipTest, match="earlier error says: no space"):
        run.shared()


def test_of_an_error_others_are_told_the_last_line() -> None:
    assert did_not_start(BrokerError("one\ntwo\n")).endswith(": two")


def test_the_one_that_is_in_use_is_asked() -> None:
    run = PlainRun()
    before = runs.use(lambda: run)
    try:
        assert runs.current() is run
        runs.use(None)
        assert runs.current() is runs.current()
        assert runs.current() is not run
    finally:
        runs.use(before)
