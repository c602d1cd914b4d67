"""The answers of a shard, which wait until what was written for them is durable.

If it never will be, the state is ahead of the log: the shard fails, and whoever waits
is told so.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from odradek.broker.replica.partition.view import Until
from odradek.broker.replica.waiting.awaited_appends import AwaitedAppend, AwaitedFrame
from odradek.broker.replica.waiting.delayed_produce import AppendResult
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaError

from .coordinator_error import as_coordinator_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.replica.waiting.delayed_produce import PendingAppend
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.topic_partition import TopicPartition

    from .decision import Decision

    T = TypeVar("T")
    Refuse = Callable[[KafkaError], T]


class ShardHost(Protocol):
    """What a shard asks of the runtime."""

    replica_manager: ReplicaManager
    clock: Clock

    def run_soon(self, action: Callable[[], object]) -> None:
        """Call ``action`` in a later turn of the loop."""

    def record_bug(self, where: str, error: BaseException) -> None:
        """Report an exception that nobody expected."""


class _Committed(AwaitedAppend):
    """An append of a coordinator: it is there when all have it who are in sync.

    Clients are told if these have become too few meanwhile (acks=all). To a state it
    makes no difference: no leader comes after us that does not have the record.
    """

    __slots__ = ()

    def answer(self, error_code: int) -> None:
        """Let it be true, or say what went wrong."""
        if error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
            error_code = ErrorCode.NONE
        super().answer(error_code)


class _CommittedFrame(_Committed, AwaitedFrame):
    """The same where the answer is a whole frame."""

    __slots__ = ()


class Answers:
    """Those of one shard.

    ``pending`` is the last append, which may not be durable; ``awaited`` is the last
    one of those for which whoever reads has to wait.
    """

    def __init__(
        self,
        host: ShardHost,
        topic_partition: TopicPartition,
        lose: Callable[[int], None],
    ) -> None:
        """``lose`` is told the error that keeps records from becoming durable."""
        self.pending: PendingAppend | None = None
        self.awaited: PendingAppend | None = None
        self._host = host
        self._topic_partition = topic_partition
        self._lose = lose

    def note(self, pending: PendingAppend, may_be_lost: bool = False) -> None:
        """Something was appended, for which somebody has to wait."""
        self.pending = pending
        if not may_be_lost or pending.until is not Until.REPLICATED:
            self.awaited = pending

    def behind(
        self, result: AppendResult, decision: Decision, refuse: Refuse[T]
    ) -> T | Parked[T]:
        """The answer, once what ended with ``result`` is durable.

        Mostly it waits among the appends themselves, and nobody is asked in between.
        What may be lost is waited for by nobody; but if it is, the shard has failed.
        """
        if decision.may_be_lost and self.pending is not self.awaited:
            self.wait(result, None, self.fail_late)
            if decision.then is not None:
                self._host.run_soon(decision.then)
            response: T | Parked[T] = decision.response
            return response

        def give_up(failed: AppendResult) -> T:
            return self._give_up(failed.error_code, refuse, decision.undo)

        awaited = self.wait(result, decision.response, give_up)
        passes = isinstance(decision.response, Parked)
        if decision.then is None and not passes:
            return awaited
        answer = decision.response if passes else Parked()
        awaited.listen(partial(self._pass_on, decision, answer))
        return answer

    def wait(
        self,
        result: AppendResult,
        response: Any,
        give_up: Callable[[AppendResult], Any],
    ) -> AwaitedAppend:
        """Keep ``response`` until what was written is durable.

        ``give_up`` makes another one if it never will be.
        """
        answer = _Committed(response, result, give_up)
        self._add(answer, self._host.clock.now_ms())
        return answer

    def wait_with_frame(
        self, frame: bytes, result: AppendResult, refuse: Refuse[Any], now_ms: int
    ) -> AwaitedFrame:
        """The same where the answer is a whole frame, unless ``refuse`` makes it."""

        def give_up(failed: AppendResult) -> Any:
            return self._give_up(failed.error_code, refuse)

        answer = _CommittedFrame(frame, result, give_up)
        assert self.pending is not None
        partition, _, until = self.pending
        awaiting = self._host.replica_manager.appends.awaiting
        awaiting.add_patient(partition, answer, until, now_ms)
        return answer

    def _add(self, answer: AwaitedAppend, now_ms: int) -> None:
        assert self.pending is not None
        partition, _, until = self.pending
        self._host.replica_manager.appends.awaiting.add_patient(
            partition, answer, until, now_ms
        )

    def not_durable(self, pending: PendingAppend) -> AppendResult | None:
        """What a reader waits for as if it were his. None: all of it is durable."""
        partition, next_offset, until = pending
        if partition.view.acknowledgement(next_offset, until) == ErrorCode.NONE:
            self.awaited = None
            return None
        return AppendResult(ErrorCode.NONE, next_offset=next_offset)

    def _pass_on(
        self, decision: Decision, answer: Parked[Any], awaited: AwaitedAppend
    ) -> None:
        """Something follows, or the answer is given by somebody else."""
        if awaited.has_failed:
            if not answer.done():
                answer.follow(awaited)
            return
        if decision.then is not None:
            self._host.run_soon(decision.then)
        if answer is not awaited.response:
            answer.follow(awaited)

    def _give_up(
        self,
        code: int,
        refuse: Refuse[T],
        undo: Callable[[KafkaError], object] | None = None,
    ) -> T:
        """The answer when records never will be durable."""
        self._lose(code)
        error = as_coordinator_error(code)
        try:
            if undo is not None:
                undo(error)
        except Exception as bug:  # there is an answer all the same
            self._host.record_bug(f"answers of {self._topic_partition}", bug)
        return refuse(error)

    def fail_late(self, failed: AppendResult) -> int:
        """What was replayed never will be durable: the state is ahead of the log."""
        self._lose(failed.error_code)
        return int(failed.error_code)
