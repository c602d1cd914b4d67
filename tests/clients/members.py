"""Members of groups: consumers that are polled in threads, as applications do."""

import queue
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import TypeVar

from tests.clients.consumers import (
    CONSUMERS,
    Consumer,
    Found,
    Place,
    Rebalances,
    Settings,
)
from tests.patience import PATIENCE_S

POLL_S = 0.05
Result = TypeVar("Result")


_all: "weakref.WeakSet[Member]" = weakref.WeakSet()


def end_all() -> None:
    """End those that a test has left, which failed before it could close them."""
    for each in list(_all):
        each.end()


class Member:
    """A consumer that is polled in a thread; what it reads is kept."""

    def __init__(self, client: str, address: str, settings: Settings) -> None:
        _all.add(self)
        self.rebalances = Rebalances()
        self.found: list[Found] = []
        self.assignment: frozenset[Place] = frozenset()
        self.failure: BaseException | None = None
        self.poll_count = 0
        self._orders: queue.SimpleQueue[Callable[[Consumer], None]] = (
            queue.SimpleQueue()
        )
        self._stop = threading.Event()
        self._make = lambda: CONSUMERS[client](address, settings, self.rebalances)
        self._thread = threading.Thread(target=self._run, name=client, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Member":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            consumer = self._make()
            try:
                self._poll(consumer)
            finally:
                consumer.close()
        except BaseException as error:
            self.failure = error
        finally:
            self.assignment = frozenset()

    def _poll(self, consumer: Consumer) -> None:
        while not self._stop.is_set():
            while not self._orders.empty():
                self._orders.get()(consumer)
            self.found += consumer.poll(POLL_S)
            self.assignment = consumer.assignment()
            self.poll_count += 1

    def do(self, action: Callable[[Consumer], Result]) -> Result:
        """Have the thread do it between two polls; what comes of that."""
        future: Future[Result] = Future()

        def order(consumer: Consumer) -> None:
            try:
                future.set_result(action(consumer))
            except Exception as error:
                future.set_exception(error)

        self._orders.put(order)
        return future.result(PATIENCE_S)

    def close(self) -> None:
        """Leave the group, and end."""
        self.end()
        assert not self._thread.is_alive(), "it does not end"
        assert self.failure is None, repr(self.failure)

    def end(self) -> None:
        """The same, whatever came of it."""
        self._stop.set()
        self._thread.join(PATIENCE_S)

    @property
    def partitions(self) -> set[int]:
        return {place.partition for place in self.assignment}

    def values(self) -> list[bytes]:
        return [each.value for each in list(self.found)]


def until(condition: Callable[[], object], what: str, *members: Member) -> None:
    """Wait for it."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        failures = [each.failure for each in members if each.failure is not None]
        assert not failures, failures
        if time.monotonic() > deadline:
            states = [(len(each.found), sorted(each.partitions)) for each in members]
            raise AssertionError(f"not {what}: {states}")
        time.sleep(0.01)


def settle(*members: Member, polls: int = 20) -> None:
    """Wait until nobody was given anything for so many polls of everybody.

    A client may join once more after it has its share: kafka-python when the topics
    that it leads the group with have only come to be known by then.
    """
    given: list[int] = []
    counts: list[int] = []

    def is_quiet() -> bool:
        nonlocal given, counts
        now = [len(each.rebalances.given) for each in members]
        if now != given:
            given, counts = now, [each.poll_count for each in members]
        pairs = zip(members, counts, strict=True)
        return all(each.poll_count >= count + polls for each, count in pairs)

    until(is_quiet, "settled", *members)


def shares(*members: Member, partitions: int) -> bool:
    """Whether all partitions have one owner each, and everybody has some."""
    owned = [place for member in members for place in member.assignment]
    return len(owned) == len(set(owned)) == partitions and all(
        each.assignment for each in members
    )


def has_read(members: Iterable[Member], values: Iterable[bytes]) -> bool:
    """Whether they have read all of it, together."""
    return {value for each in members for value in each.values()} >= set(values)
