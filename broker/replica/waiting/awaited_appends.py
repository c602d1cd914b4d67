"""Appends to one partition that wait for the same sync, and are answered in one pass.

A group commit answers tens of thousands of appends in a second, most of them requests
of one batch. Those of one partition are one operation of the purgatory: one entry among
the watchers, one deadline, and mostly one question to the partition for all of them.

Invariants: the appends of an operation are in the order of their offsets, and wait for
the same thing. None is answered before the partition acknowledges it. None times out
before its time, or later than any deadline of the purgatory may be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.replica.partition.view import Until
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition

from .awaited_sync import NO_TIMEOUT_MS, AwaitedSync
from .patience import append_timeout_ms
from .purgatory import OPERATION, DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.runtime.clock import Clock

    from .delayed_produce import AppendResult
    from .purgatory import Purgatory


_NONE = int(ErrorCode.NONE)


class AwaitedAppend(Parked):
    """The answer to one append, made as soon as that is written.

    It is kept as ``response`` until it is true. ``finish`` makes another one of
    ``result`` if something goes wrong.
    """

    __slots__ = ("_finish", "_result", "next_offset")

    def __init__(
        self,
        response: Any,
        result: AppendResult,
        finish: Callable[[AppendResult], Any],
    ) -> None:
        self.error = self.listener = None
        self.is_done = False
        self.response = response
        self.next_offset = result[4]
        self._result = result
        self._finish = finish

    @property
    def has_failed(self) -> bool:
        """Whether the answer, which is there, says what went wrong."""
        return self.error is not None or self._result.error_code != _NONE

    def answer(self, error_code: int) -> None:
        """Let it be true, or say what went wrong."""
        if error_code:
            self._result = self._result._replace(error_code=error_code)
            try:
                self.response = self._finish(self._result)
            except Exception as error:  # a bug; it is recorded where it is told
                self.error = error
        self._settle()


class AwaitedFrame(AwaitedAppend):
    """The same where the answer is a whole frame, unless something goes wrong."""

    __slots__ = ()

    is_framed = True


class AwaitedAppends(DelayedOperation[TopicPartition]):
    """Appends to ``partition`` that wait for its high watermark, or for a sync.

    ``until`` says for which. More may join until ``open_until_ms``, by the
    monotonic clock: the timer's bucket that holds this is then theirs, too.
    """

    __slots__ = (
        *OPERATION,
        "appends",
        "open_until_ms",
        "partition",
        "seen_ms",
        "timeout_ms",
        "until",
    )

    def __init__(self, partition: Partition, until: Until, timeout_ms: int) -> None:
        self.is_completed = False
        self._purgatory = self._bucket = None
        self._watch_count = 0
        self.partition = partition
        self.until = until
        self.timeout_ms = timeout_ms
        self.open_until_ms = self.seen_ms = 0
        self.appends: list[AwaitedAppend] = []

    def try_complete(self) -> bool:
        """Look at the partition."""
        return self.try_complete_for(self.partition.topic_partition)

    def try_complete_for(self, key: TopicPartition) -> bool:
        """Answer those that it acknowledges. Whether that was all."""
        appends, until = self.appends, self.until
        acknowledgement = self.partition.view.acknowledgement
        # Mostly one sync is for all of them, and the last one speaks for the others.
        if acknowledgement(appends[-1].next_offset, until) == _NONE:
            self.is_completed = True
            assert self._purgatory is not None
            self._purgatory.forget(self)
            _let_go(iter(self._close()))
            return True
        # An error may be for the last ones alone: what is before them was durable.
        codes: list[int] = []
        for append in appends:
            error_code = acknowledgement(append.next_offset, until)
            if error_code is None:
                break
            codes.append(error_code)
        self._take(len(codes))
        for append, error_code in zip(appends, codes, strict=False):
            append.answer(error_code)
        return self.is_completed

    def on_complete(self) -> None:
        """Answer those that wait: the time is over."""
        for append in self._close():
            append.answer(ErrorCode.REQUEST_TIMED_OUT)

    def on_error(self, error: Exception) -> None:
        """Those who asked are told; it is a bug, and recorded there."""
        super().on_error(error)
        for append in self._close():
            append.set_exception(error)

    def _take(self, count: int) -> None:
        """The first ``count`` do not wait any more."""
        if count < len(self.appends):
            assert self._purgatory is not None
            self._purgatory.delayed_count -= count
            self.appends = self.appends[count:]
        else:
            self._close()
            self.force_complete()

    def _close(self) -> list[AwaitedAppend]:
        """Let nobody join any more. Those that wait still, who are not counted now."""
        if self.partition.awaited is self:
            self.partition.awaited = None
        appends, self.appends = self.appends, []
        if len(appends) > 1 and self._purgatory is not None:
            self._purgatory.delayed_count -= len(appends) - 1
        return appends


def _let_go(appends: Iterator[AwaitedAppend]) -> None:
    """Answer all of them: one loop, and no call but to the one who listens."""
    try:
        for append in appends:
            append.is_done = True
            listener = append.listener
            if listener is not None:
                append.listener = None
                listener(append)
    except Exception:
        _let_go(appends)  # a bug of one connection is not the others' business
        raise


class AwaitingAppends:
    """Puts appends that have to wait where they are answered together."""

    def __init__(self, waiting: Purgatory[TopicPartition], clock: Clock) -> None:
        self.waiting = waiting
        self._clock = clock

    def add_patient(
        self,
        partition: Partition,
        append: AwaitedAppend,
        until: Until,
        now_ms: int,
    ) -> None:
        """``append`` waits, however long that takes.

        Where a sync that is still to begin is all that it waits for, it waits for that,
        with those to other partitions.
        """
        committer = partition.committer
        if (
            until is not Until.REPLICATED
            or not partition.is_dirty  # else the next sync is for it, too
            or not partition.is_written
            or partition.replication is not None
            or committer is None
            or not committer.syncs_at_once
            or committer.failure is not None
        ):
            self.add(partition, append, until, NO_TIMEOUT_MS, now_ms)
            return
        waiters = committer.waiters
        if waiters.awaited is None:
            waiters.awaited = AwaitedSync(self)
        waiters.awaited.add(partition, append)

    def add(
        self,
        partition: Partition,
        append: AwaitedAppend,
        until: Until,
        timeout_ms: int,
        now_ms: int,
    ) -> None:
        """``append`` waits, behind those that came before it to the same partition.

        Its ``next_offset`` may be older than theirs: then it waits apart from them.
        """
        group = partition.awaited
        if (
            group is None
            or group.timeout_ms != timeout_ms
            or group.until is not until
            or group.appends[-1].next_offset > append.next_offset
            or (group.seen_ms != now_ms and not self._is_open(group, now_ms))
        ):
            group = self.add_alone(partition, append, until, timeout_ms)
            group.seen_ms = now_ms
            if not group.is_completed:
                partition.awaited = group
            return
        group.appends.append(append)
        self.waiting.delayed_count += 1

    def add_alone(
        self,
        partition: Partition,
        append: AwaitedAppend,
        until: Until,
        timeout_ms: int,
    ) -> AwaitedAppends:
        """The same, among none: a repetition, whose offset was given long ago."""
        group = AwaitedAppends(partition, until, timeout_ms)
        group.appends.append(append)
        waiting = self.waiting
        patience_ms = append_timeout_ms(partition, timeout_ms)
        waiting.watch(group, (partition.topic_partition,), patience_ms)
        group.open_until_ms = waiting.recent_until_ms
        return group

    def _is_open(self, group: AwaitedAppends, now_ms: int) -> bool:
        """Whether who joins now has no shorter time than he asked for.

        Asked once in a millisecond of the clock that the append has looked at anyway.
        """
        group.seen_ms = now_ms
        return self._clock.monotonic_ms() <= group.open_until_ms
