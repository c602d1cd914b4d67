"""Tests of `unittest` with a broker: all classes share one, each test has its topics.

With pytest and its plugin it is the broker of the run, and `--odradek-bootstrap` is
heard. Together with `IsolatedAsyncioTestCase` this is the first base class.
"""

from __future__ import annotations

import unittest
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from . import runs
from .errors import BrokerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .broker import Broker
    from .topic import Topic


class TestCase(unittest.TestCase):
    """A test with the class's broker as `odradek`.

    A class that says `odradek_config` has a broker with these options to itself.
    """

    __test__ = False  # not this one
    odradek_config: ClassVar[Mapping[str, Any]] = {}
    odradek: ClassVar[Broker]

    def __init_subclass__(cls, **named: Any) -> None:
        """Subclasses are tests."""
        super().__init_subclass__(**named)
        if "__test__" not in vars(cls):
            cls.__test__ = True

    @classmethod
    def setUpClass(cls) -> None:
        """Start the broker, if no class did."""
        super().setUpClass()
        if cls.odradek_config:
            cls.odradek = runs.current().own(cls.odradek_config)
            cls.addClassCleanup(cls.odradek.close)
        else:
            cls.odradek = runs.current().shared()

    def odradek_topic(
        self, partitions: int = 1, config: Mapping[str, Any] | None = None
    ) -> Topic:
        """A topic that no other test has; it goes with the test."""
        topic = self.odradek.topic(self._name(), partitions, config)
        self.addCleanup(_delete, topic)
        return topic

    def odradek_group(self) -> str:
        """The id of a group that no other test has."""
        return self._name()

    def odradek_txn_id(self) -> str:
        """A transactional id that no other test has."""
        return self._name()

    def odradek_own(self, config: Mapping[str, Any] | None = None) -> Broker:
        """A broker for this test alone."""
        broker = runs.current().own(config)
        self.addCleanup(broker.close)
        return broker

    def _name(self) -> str:
        return runs.current().names.next(".".join(self.id().split(".")[-2:]))


def _delete(topic: Topic) -> None:
    with suppress(BrokerError):  # the test has deleted it, or ended the broker
        topic.delete()
