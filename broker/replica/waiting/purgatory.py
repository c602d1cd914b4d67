"""Where answers wait: operations that are not complete yet, by what they wait for.

An operation is watched under keys. Whoever changes the state of a key calls
``check`` with it; the operation looks at that key again and may complete. It
completes exactly once: by a check, by its deadline, or by cancellation.

Invariants: a completed operation is in no bucket of the timer. It may stay in
the lists of other keys until they are checked, or until ``purge_interval`` such
dead watchers have gathered, when one sweep removes them all.
"""

from __future__ import annotations

import heapq
import logging
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from odradek.broker.runtime.clock import Clock, TimerHandle

K = TypeVar("K", bound=Hashable)

_logger = logging.getLogger(__name__)
# Of a wait so many bits count, and how many when its end must be exact.
_BITS, _ALL_BITS = 7, 64


# The attributes of an operation: slots of the classes that are made of it, as a class
# of two bases may have slots of one of them.
OPERATION = ("_bucket", "_purgatory", "_watch_count", "is_completed")
_ELSEWHERE: tuple[str, ...] = ()


class DelayedOperation(ABC, Generic[K]):
    """Something to be done once, when its conditions hold or its time is over."""

    __slots__ = _ELSEWHERE

    is_completed: bool
    _purgatory: Purgatory[K] | None
    _bucket: dict[DelayedOperation[K], None] | None
    _watch_count: int

    def __init__(self) -> None:
        self.is_completed = False
        self._purgatory = self._bucket = None
        self._watch_count = 0

    @abstractmethod
    def try_complete(self) -> bool:
        """Look at every key; complete if the conditions hold. Whether it did."""

    def try_complete_for(self, key: K) -> bool:
        """The same after a change of ``key`` alone; looks at no other key."""
        return self.try_complete()

    @abstractmethod
    def on_complete(self) -> None:
        """What completing means; called once. Must not append to a log."""

    def on_expiration(self) -> None:
        """Called after ``on_complete`` when it was the deadline that completed."""

    def on_error(self, error: Exception) -> None:
        """Called in place of completion when this operation raised ``error``."""
        _logger.error("a delayed operation failed", exc_info=error)

    def force_complete(self) -> bool:
        """Complete now, whatever the conditions. False if that had been done."""
        if self.is_completed:
            return False
        self.is_completed = True
        if self._purgatory is not None:
            self._purgatory.forget(self)
        self.on_complete()
        return True


class Purgatory(Generic[K]):
    """The delayed operations of one kind, their watchers and their deadlines.

    Deadlines share buckets, so an operation that completes in time costs no
    timer of its own; a bucket is at most 1/64 of the wait late, by a clock that is
    exact never.
    """

    def __init__(self, name: str, clock: Clock, purge_interval: int = 1000) -> None:
        self.name = name
        self.delayed_count = 0
        self.watched_count = 0
        self._clock = clock
        self._bits = _ALL_BITS if clock.is_exact else _BITS
        self._purge_interval = purge_interval
        self._live_watch_count = 0
        self._watchers: dict[K, list[DelayedOperation[K]]] = {}
        self._buckets: dict[int, dict[DelayedOperation[K], None]] = {}
        self._due_heap_ms: list[int] = []
        # The bucket that was used last: for so long a wait, until then. What is put in
        # after that has a later one.
        self._recent: dict[DelayedOperation[K], None] | None = None
        self._recent_timeout_ms = 0
        self.recent_until_ms = 0
        self._timer: TimerHandle | None = None
        self._timer_due_ms = 0

    def try_complete_else_watch(
        self, operation: DelayedOperation[K], keys: Iterable[K], timeout_ms: int
    ) -> bool:
        """Complete ``operation`` now or keep it until a check or its deadline.

        Returns whether it is complete. ``keys`` must not be empty: nothing but
        the deadline could complete it.
        """
        if not operation.try_complete():
            self.watch(operation, keys, timeout_ms)
        return operation.is_completed

    def watch(
        self, operation: DelayedOperation[K], keys: Iterable[K], timeout_ms: int
    ) -> None:
        """Keep ``operation``, which cannot complete yet, until a check or its deadline.

        With no time to wait it expires at once.
        """
        if timeout_ms <= 0:
            self._expire(operation)
            return
        watchers = self._watchers
        count = 0
        for key in keys:
            count += 1
            others = watchers.get(key)
            if others is None:
                watchers[key] = [operation]
            else:
                others.append(operation)
        assert count, "an operation that watches nothing cannot complete"
        operation._watch_count = count
        operation._purgatory = self
        self.watched_count += count
        self._live_watch_count += count
        self.delayed_count += 1
        self._add_deadline(operation, timeout_ms)
        if self.watched_count - self._live_watch_count > self._purge_interval:
            self.purge()

    def keep(self, operation: DelayedOperation[K], timeout_ms: int) -> None:
        """Keep ``operation`` until its deadline: no check is for it."""
        if timeout_ms <= 0:
            self._expire(operation)
            return
        operation._purgatory = self
        self.delayed_count += 1
        self._add_deadline(operation, timeout_ms)

    def check(self, key: K) -> int:
        """Let the operations that watch ``key`` look again. How many completed."""
        operations = self._watchers.pop(key, None)
        if operations is None:
            return 0
        waiting = []
        completed_count = 0
        for operation in operations:
            if operation.is_completed:
                continue
            try:
                is_completed = operation.try_complete_for(key)
            except Exception as error:
                # The others must not pay for an exception of this one.
                self._fail(operation, error)
                is_completed = True
            if is_completed:
                completed_count += 1
            else:
                waiting.append(operation)
        self.watched_count -= len(operations) - len(waiting)
        self._put_back(key, waiting)
        return completed_count

    def complete_all(self, key: K) -> int:
        """Complete whatever watches ``key``, with what there is. How many."""
        operations = self._watchers.pop(key, [])
        self.watched_count -= len(operations)
        return sum(operation.force_complete() for operation in operations)

    def purge(self) -> None:
        """Remove completed operations from the lists of all keys."""
        for key, operations in list(self._watchers.items()):
            live = [each for each in operations if not each.is_completed]
            self.watched_count -= len(operations) - len(live)
            if live:
                self._watchers[key] = live
            else:
                del self._watchers[key]

    def close(self) -> None:
        """Complete everything that waits, with what there is, and stop the timer."""
        for key in list(self._watchers):
            self.complete_all(key)
        for bucket in list(self._buckets.values()):
            for operation in list(bucket):
                operation.force_complete()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _add_deadline(self, operation: DelayedOperation[K], timeout_ms: int) -> None:
        now_ms = self._clock.monotonic_ms()
        bucket = self._recent
        if (
            bucket is None
            or timeout_ms != self._recent_timeout_ms
            or now_ms > self.recent_until_ms
        ):
            bucket = self._bucket_of(now_ms, timeout_ms)
        bucket[operation] = None
        operation._bucket = bucket

    def _bucket_of(
        self, now_ms: int, timeout_ms: int
    ) -> dict[DelayedOperation[K], None]:
        shift = max(0, timeout_ms.bit_length() - self._bits)
        due_ms = ((now_ms + timeout_ms - 1 >> shift) + 1) << shift
        bucket = self._buckets.get(due_ms)
        if bucket is None:
            bucket = self._buckets[due_ms] = {}
            heapq.heappush(self._due_heap_ms, due_ms)
            if self._timer is None or due_ms < self._timer_due_ms:
                self._schedule(due_ms)
        self._recent, self._recent_timeout_ms = bucket, timeout_ms
        self.recent_until_ms = due_ms - timeout_ms
        return bucket

    def _fail(self, operation: DelayedOperation[K], error: Exception) -> None:
        if not operation.is_completed:
            operation.is_completed = True
            self.forget(operation)
        operation.on_error(error)

    def forget(self, operation: DelayedOperation[K]) -> None:
        """It is complete: it has no deadline any more, and counts no longer."""
        if operation._bucket is not None:
            operation._bucket.pop(operation, None)
            operation._bucket = None
        self.delayed_count -= 1
        self._live_watch_count -= operation._watch_count

    def _put_back(self, key: K, waiting: list[DelayedOperation[K]]) -> None:
        if waiting:
            newer = self._watchers.get(key)
            if newer is not None:
                waiting.extend(newer)
            self._watchers[key] = waiting

    def _schedule(self, due_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due_ms = due_ms
        delay_ms = max(0, due_ms - self._clock.monotonic_ms())
        self._timer = self._clock.call_later(delay_ms, self._expire_due)

    def _expire_due(self) -> None:
        self._timer = None
        now_ms = self._clock.monotonic_ms()
        heap = self._due_heap_ms
        # Empty buckets go too, though not due: their operations came in time.
        while heap and (heap[0] <= now_ms or not self._buckets[heap[0]]):
            for operation in list(self._buckets.pop(heapq.heappop(heap))):
                self._expire(operation)
        self._recent = None  # it may have gone
        if heap and self._timer is None:
            self._schedule(heap[0])
        if self.watched_count - self._live_watch_count > self._purge_interval:
            self.purge()

    def _expire(self, operation: DelayedOperation[K]) -> None:
        try:
            if operation.force_complete():
                operation.on_expiration()
        except Exception as error:
            self._fail(operation, error)
