"""Looks on while tests run, from the first on that uses a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from odradek.testing.broker import Broker
from odradek.testing.errors import BrokerError
from odradek.testing.runs import did_not_start

from .used import Used

if TYPE_CHECKING:
    from collections.abc import Generator

    from .run import PluginRun


class Watch:
    """The hooks around each test. Registered with pytest when a fixture is used."""

    def __init__(self, run: PluginRun) -> None:
        self.run = run
        self._reported: list[BrokerError] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """A test begins: it has made nothing yet."""
        self.run.used = Used(self.run.names, self.run.started())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item
    ) -> Generator[None, object, object]:
        """Afterwards all that a test's fixtures have opened is closed."""
        result = yield
        if self.run.settings.strict:
            from .leftovers import check_leftovers

            for broker in self._brokers(item):
                check_leftovers(broker, self.run.used)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Of a test that has failed the report says what the broker saw."""
        report = yield
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, BrokerError) and self.run.is_failure(error):
            self._say_once(error, item, report)
        elif report.failed and call.when != "teardown":  # its topics are gone by then
            from .report import sections

            report.sections += sections(self._brokers(item), self.run.used)
        return report

    def pytest_unconfigure(self) -> None:
        """The run is over."""
        self.run.close()

    def _say_once(
        self, error: BrokerError, item: pytest.Item, report: pytest.TestReport
    ) -> None:
        """Of a fixture that has failed pytest raises the same error to each test."""
        if any(error is each for each in self._reported):
            path, line, _ = item.location
            report.outcome = "skipped"
            report.longrepr = (
                path,
                (line or 0) + 1,
                f"Skipped: {did_not_start(error)}",
            )
        else:
            self._reported.append(error)

    def _brokers(self, item: pytest.Item) -> list[Broker]:
        """Those that the test has had to do with."""
        wanted = getattr(item, "fixturenames", ())
        found = [self.run.brokers[name] for name in wanted if name in self.run.brokers]
        found += [each for each in self.run.started() if self.run.used.topics(each)]
        of_class = getattr(getattr(item, "cls", None), "odradek", None)
        if isinstance(of_class, Broker):
            found.append(of_class)
        return list(dict.fromkeys(found))
