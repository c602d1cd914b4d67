"""What a broker knows of one test: its groups, transactions and rules, as items."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from unittest import SkipTest

from odradek.testing.errors import BrokerError, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.testing import Broker

    from .used import Used

Item = dict[str, Any]

PATIENCE_S = 5.0
_NOT_THERE = "unknown-request"
_NO_TRANSACTION = ("Empty", "CompleteCommit", "CompleteAbort", "Dead")


def asked(broker: Broker, request: str, **fields: Any) -> list[Item]:
    """What the broker answers; nothing if it cannot be asked for that.

    A broker that stands still has no more than a few seconds.

    Raises:
        BrokerError: it has ended, or says no, or says nothing.
    """
    answers: list[list[Item]] = []
    errors: list[Exception] = []

    def ask() -> None:
        try:
            answers.append(broker.ask(request, **fields))
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=ask, name="odradek.testing", daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    for error in errors:
        is_unknown = isinstance(error, Refused) and error.word == _NOT_THERE
        if is_unknown or isinstance(error, SkipTest):  # of a Kafka that is no odradek
            return []
        raise error
    if not answers:
        raise BrokerError(f"the broker says nothing for {PATIENCE_S:.0f} s")
    return answers[0]


class Traces:
    """Of all that a broker has, what is this test's; on a broker of its own, all."""

    def __init__(self, broker: Broker, used: Used) -> None:
        self._broker = broker
        self._used = used
        self._topics = frozenset(map(str, used.topics(broker)))
        # No partition is asked for: a run may have thousands.
        self._items = asked(broker, "state", topics=[])

    def groups(self) -> list[Item]:
        """With what each has committed, and who is in it."""
        return self._ours("group")

    def active_groups(self) -> list[Item]:
        """Those with members."""
        return [item for item in self.groups() if item.get("members")]

    def open_transactions(self) -> list[Item]:
        """Those that are neither committed nor aborted."""
        return [
            item
            for item in self._ours("transaction")
            if item["state"] not in _NO_TRANSACTION
        ]

    def unfired_rules(self) -> list[Item]:
        """Those that no request has met."""
        return [
            rule
            for rule in asked(self._broker, "faults.list")
            if not rule["count"] and self._is_ours(rule.get("match", {}))
        ]

    def _ours(self, kind: str) -> list[Item]:
        return [
            item for item in self._items if item["kind"] == kind and self._is_ours(item)
        ]

    def _is_ours(self, item: Item) -> bool:
        transactional_id = item.get("id", item.get("transactional_id"))
        return (
            not self._broker.is_shared
            or item.get("group") in self._used.groups
            or transactional_id in self._used.transactional_ids
            or not self._topics.isdisjoint(_topics(item))
        )


def _topics(value: Any) -> Iterable[str]:
    """The topics of an item: of its partitions, its offsets, its members."""
    if isinstance(value, dict):
        if isinstance(value.get("topic"), str):
            yield value["topic"]
        for each in value.values():
            yield from _topics(each)
    elif isinstance(value, list):
        if len(value) == 2 and isinstance(value[0], str):  # a topic and a number
            yield value[0]
        for each in value:
            yield from _topics(each)
