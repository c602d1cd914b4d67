"""Waits in the broker, in place of sleeps: ``broker.wait.records(topic, 3)``.

Each returns as soon as what it waits for is so, and fails when that has not come in
time; the message says what is missing. Times are seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import Refused, WaitTimeout

if TYPE_CHECKING:
    from .broker import Broker

TIMEOUT_S = 10.0


class Waits:
    """What can be waited for in one broker. All raise `WaitTimeout`."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def records(
        self,
        topic: str,
        count: int = 1,
        *,
        partition: int | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """A topic, or a partition of it, has at least ``count`` records.

        Those of open and of aborted transactions do not count.
        """
        self.until(
            "records", timeout=timeout, topic=topic, count=count, partition=partition
        )

    def assigned(
        self,
        group: str,
        members: int = 1,
        *,
        reading: bool = True,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """A group has so many members, all have their partitions, and read them.

        What is written from then on they do not miss, also if they began at the end
        ("latest"). ``reading=False``: do not wait for their first fetches, for who is
        assigned something and does not ask for it. ``members=0``: it is empty.
        """
        self.until(
            "assigned", timeout=timeout, group=group, members=members, reading=reading
        )

    def acquired(
        self, group: str, count: int = 1, *, timeout: float = TIMEOUT_S
    ) -> None:
        """Members of a share group have so many records, and have yet to say more.

        ``count=0``: all that was handed out is acknowledged, or given back.
        """
        self.until("acquired", timeout=timeout, group=group, count=count)

    def lag(
        self, group: str, topic: str | None = None, *, timeout: float = TIMEOUT_S
    ) -> None:
        """A group has read and committed all that there is, or all of a topic."""
        self.until("lag", timeout=timeout, group=group, topic=topic)

    def committed(
        self,
        group: str,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        timeout: float = TIMEOUT_S,
    ) -> None:
        """A group has committed ``offset``, or a higher one."""
        self.until(
            "committed",
            timeout=timeout,
            group=group,
            topic=topic,
            partition=partition,
            offset=offset,
        )

    def transaction(
        self, transactional_id: str, state: str, *, timeout: float = TIMEOUT_S
    ) -> None:
        """A transactional id is in a state, or came by it while this waited.

        ``state``: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or
        CompleteAbort.
        """
        self.until("transaction", timeout=timeout, id=transactional_id, state=state)

    def connections(self, at_most: int = 0, *, timeout: float = TIMEOUT_S) -> None:
        """No more clients are connected."""
        self.until("connections", timeout=timeout, at_most=at_most)

    def until(
        self, condition: str, *, timeout: float = TIMEOUT_S, **fields: Any
    ) -> None:
        """Any condition that the broker knows, by its name and fields.

        Raises:
            WaitTimeout: it does not hold in time.
            Refused: there is no such condition.
        """
        given = {name: value for name, value in fields.items() if value is not None}
        timeout_ms = round(timeout * 1000)
        try:
            self._broker.ask("wait", until=condition, timeout_ms=timeout_ms, **given)
        except Refused as refused:
            if refused.word != "timeout":
                raise
            raise WaitTimeout(str(refused)) from None
