"""Timers with names, of which most are put off again before they are due.

Every heartbeat puts a session's end off. That only notes the new time; the heap is
looked at when the old one comes.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from odradek.broker.runtime.clock import Clock, TimerHandle

    Action = Callable[[], object]


@dataclass(slots=True)
class _Timer:
    due_ms: int
    action: Action
    queued_ms: int = -1  # where it is in the heap; other entries of its key are stale


class Timers:
    """One timer for each key, by the monotonic clock."""

    def __init__(self, clock: Clock, run: Callable[[Action], object]) -> None:
        """``run`` is given the action of each timer that is due."""
        self._clock = clock
        self._run = run
        self._timers: dict[Hashable, _Timer] = {}
        self._heap: list[tuple[int, int, Hashable]] = []
        self._sequence = 0
        self._handle: TimerHandle | None = None
        self._wakes_at_ms = 0
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._timers)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._timers

    def start(self, key: Hashable, delay_ms: int, action: Action) -> None:
        """Run ``action`` in ``delay_ms``, instead of what was due under ``key``."""
        if self._is_closed:
            return
        due_ms = self._clock.monotonic_ms() + delay_ms
        timer = self._timers.get(key)
        if timer is None:
            timer = self._timers[key] = _Timer(due_ms, action)
            self._queue(key, timer)
            return
        timer.due_ms, timer.action = due_ms, action
        if due_ms < timer.queued_ms:  # else its place in the heap is found then
            self._queue(key, timer)

    def put_off(self, key: Hashable, delay_ms: int) -> bool:
        """Let what is due under ``key`` be due in ``delay_ms``. Is there any?"""
        timer = self._timers.get(key)
        if timer is None:
            return False
        timer.due_ms = due_ms = self._clock.monotonic_ms() + delay_ms
        if due_ms < timer.queued_ms:
            self._queue(key, timer)
        return True

    def left_ms(self, key: Hashable) -> int | None:
        """In how long the timer of ``key`` is due, if there is one."""
        timer = self._timers.get(key)
        if timer is None:
            return None
        return max(0, timer.due_ms - self._clock.monotonic_ms())

    def cancel(self, key: Hashable) -> None:
        """Forget the timer of ``key``, if there is one."""
        self._timers.pop(key, None)

    def close(self) -> None:
        """Forget all timers, and start none any more."""
        self._is_closed = True
        self._timers.clear()
        self._heap.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _queue(self, key: Hashable, timer: _Timer) -> None:
        self._sequence += 1
        timer.queued_ms = timer.due_ms
        heapq.heappush(self._heap, (timer.due_ms, self._sequence, key))
        self._wake_at(self._heap[0][0])

    def _wake_at(self, due_ms: int) -> None:
        if self._handle is not None:
            if self._wakes_at_ms <= due_ms:
                return
            self._handle.cancel()
        self._wakes_at_ms = due_ms
        delay_ms = max(0, due_ms - self._clock.monotonic_ms())
        self._handle = self._clock.call_later(delay_ms, self._on_time)

    def _on_time(self) -> None:
        self._handle = None
        now_ms = self._clock.monotonic_ms()
        due: list[Action] = []
        while self._heap and self._heap[0][0] <= now_ms:
            queued_ms, _, key = heapq.heappop(self._heap)
            timer = self._timers.get(key)
            if timer is None or timer.queued_ms != queued_ms:
                continue
            if timer.due_ms > now_ms:
                self._queue(key, timer)
                continue
            del self._timers[key]
            due.append(timer.action)
        if self._heap:
            self._wake_at(self._heap[0][0])
        for action in due:
            self._run(action)
