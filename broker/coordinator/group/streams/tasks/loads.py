"""Who has how much: the least loaded of many, and how much is everybody's part."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

K = TypeVar("K", int, str)


class Loads(Generic[K]):
    """Keys and their loads; loads only grow. Among equals the smaller key is less."""

    def __init__(self, keys: Iterable[K]) -> None:
        self._loads: dict[K, float] = dict.fromkeys(keys, 0.0)
        self._heap: list[tuple[float, K]] = sorted(
            (load, key) for key, load in self._loads.items()
        )

    def load(self, key: K) -> float:
        """How much a key has."""
        return self._loads[key]

    def put(self, key: K, load: float) -> None:
        """A key has more. What the heap said of it is stale, and dropped when met."""
        self._loads[key] = load
        heappush(self._heap, (load, key))

    def least(self) -> K:
        """The key with the least."""
        while self._loads[self._heap[0][1]] != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][1]

    def least_outside(self, taken: Container[K]) -> K | None:
        """The key with the least that is not among ``taken``."""
        passed = []
        found = None
        while self._heap:
            load, key = self._heap[0]
            if self._loads[key] == load:
                if key not in taken:
                    found = key
                    break
                passed.append((load, key))
            heappop(self._heap)
        for each in passed:
            heappush(self._heap, each)
        return found


class Quota:
    """How many of the tasks that are left are the part of each member that has less.

    Who has reached it is out, and the others share what is left without him.
    """

    def __init__(self, task_count: int, member_count: int) -> None:
        self._task_count = task_count
        self._member_count = member_count
        self.each = self._share()

    def note(self, count: int) -> None:
        """A member has one more, ``count`` now."""
        if count == self.each:
            self._member_count -= 1
            self._task_count -= count
            self.each = self._share()

    def _share(self) -> int:
        return -(-self._task_count // self._member_count) if self._member_count else 0
