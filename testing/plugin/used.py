"""What one test has made, for its report and for what it may leave behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.testing import Broker, Topic
    from odradek.testing.names import Names


class _Mark(NamedTuple):
    """Where a broker was when the test began."""

    log_size: int
    topic_count: int


class Used:
    """The ids of a test, and what it has made of the brokers that it found."""

    def __init__(self, names: Names, brokers: Iterable[Broker] = ()) -> None:
        self.groups: list[str] = []
        self.transactional_ids: list[str] = []
        self._names = names
        self._marks = {broker: _mark(broker) for broker in brokers}

    def add_group(self, group: str) -> str:
        """It is the test's."""
        self.groups.append(group)
        return group

    def add_transactional_id(self, transactional_id: str) -> str:
        """It is the test's."""
        self.transactional_ids.append(transactional_id)
        return transactional_id

    def found(self, broker: Broker) -> None:
        """It ran already, for others: what it said before is no concern of the test."""
        self._marks[broker] = _mark(broker)

    def log(self, broker: Broker) -> str:
        """What the broker has said during the test, and not of other workers' tests."""
        lines = broker.log(self._mark(broker).log_size).splitlines(keepends=True)
        return "".join(line for line in lines if not self._names.concerns_others(line))

    def topics(self, broker: Broker) -> list[Topic]:
        """Those that the test has made there."""
        return broker.topics[self._mark(broker).topic_count :]

    def _mark(self, broker: Broker) -> _Mark:
        return self._marks.get(broker, _Mark(0, 0))


def _mark(broker: Broker) -> _Mark:
    try:
        log_size = (broker.directory / "log").stat().st_size
    except OSError:
        log_size = 0
    return _Mark(log_size, len(broker.topics))
