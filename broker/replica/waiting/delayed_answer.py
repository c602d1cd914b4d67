"""An operation on several partitions whose answer waits for all of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition

from .purgatory import OPERATION, DelayedOperation

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.runtime.parked import Parked


class _Result(Protocol):
    """What became of one partition: a named tuple with an error code."""

    def _replace(self, *, error_code: int) -> Any: ...


Result = TypeVar("Result", bound=_Result)
Pending = TypeVar("Pending")


class DelayedAnswer(DelayedOperation[TopicPartition], Generic[Result, Pending]):
    """Answers ``parked`` once no partition is pending, or when the time is over.

    ``finish`` makes the answer of the results. What is pending when the time is over
    is answered REQUEST_TIMED_OUT.
    """

    __slots__ = (*OPERATION, "_finish", "_parked", "_pending", "_results")

    def __init__(
        self,
        results: dict[TopicPartition, Result],
        pending: dict[TopicPartition, Pending],
        parked: Parked,
        finish: Callable[[dict[TopicPartition, Result]], Any],
    ) -> None:
        super().__init__()
        self._results = results
        self._pending = pending
        self._parked = parked
        self._finish = finish

    @abstractmethod
    def _look_at(self, key: TopicPartition) -> None:
        """Take ``key`` out of the pending ones if it is done; note its result."""

    def try_complete(self) -> bool:
        """Look at every pending partition."""
        for key in list(self._pending):
            self._look_at(key)
        return not self._pending and self.force_complete()

    def try_complete_for(self, key: TopicPartition) -> bool:
        """Look at one partition."""
        if key in self._pending:
            self._look_at(key)
        return not self._pending and self.force_complete()

    def on_complete(self) -> None:
        """Answer."""
        for key in self._pending:
            self._results[key] = self._results[key]._replace(
                error_code=ErrorCode.REQUEST_TIMED_OUT
            )
        self._parked.set_result(self._finish(self._results))

    def on_error(self, error: Exception) -> None:
        """The one who asked is told; it is a bug, and recorded there."""
        if not self._parked.done():
            self._parked.set_exception(error)
