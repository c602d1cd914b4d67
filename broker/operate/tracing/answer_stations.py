"""How an answer leaves: its place in the queue, its bytes, the socket."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from odradek.broker.network.response_queue import ResponseQueue
from odradek.broker.requests.registry import NO_RESPONSE

from .stations import woken_by

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from .request_trace import RequestTrace

    End = Callable[[RequestTrace, str], None]
    See = Callable[[FrameType, int], None]


class AnswerStations:
    """Notes of ``traces`` what their connections' queues do with their answers.

    ``end`` is called with each of them that has left, or never will.
    """

    def __init__(self, traces: list[RequestTrace], end: End) -> None:
        self._traces = traces
        self._end = end
        self._expected: RequestTrace | None = None
        self._returns: dict[CodeType, See] = {
            ResponseQueue.park.__code__: self._parked,
            ResponseQueue.add_ready.__code__: self._added,
            ResponseQueue.add_frame.__code__: self._added,
            ResponseQueue._drain.__code__: self._drained,
            ResponseQueue.flush.__code__: self._flushed,
        }
        self._calls: dict[CodeType, See] = {
            ResponseQueue._answered.__code__: self._answered,
            ResponseQueue.close.__code__: self._closed,
        }

    @property
    def codes(self) -> set[CodeType]:
        """Of the functions to be watched."""
        return {*self._returns, *self._calls}

    def expect(self, trace: RequestTrace) -> None:
        """The next answer that any queue gets is that of ``trace``."""
        self._expected = trace

    def see(self, frame: FrameType, is_return: bool, value: Any, now_ns: int) -> None:
        """One of the functions is called, or returns."""
        see = (self._returns if is_return else self._calls).get(frame.f_code)
        if see is not None:
            see(frame, now_ns)

    # How it gets into the queue

    def _parked(self, frame: FrameType, now_ns: int) -> None:
        trace, self._expected = self._expected, None
        if trace is None:
            return
        queue, answer = frame.f_locals["self"], frame.f_locals["answer"]
        trace.queue, trace.place, trace.answer = queue, queue.waiting[-1], answer
        trace.own((answer,))
        before = len(queue.waiting) - 1
        behind = f", behind {before} others" if before else ""
        text = f"its answer has its place in the queue{behind}; the connection reads on"
        trace.note(ResponseQueue.park, text, now_ns)

    def _added(self, frame: FrameType, now_ns: int) -> None:
        trace, self._expected = self._expected, None
        if trace is None:
            return
        queue = trace.queue = frame.f_locals["self"]
        if trace.answer is NO_RESPONSE:
            trace.note(ResponseQueue.add_ready, "acks=0: no answer", now_ns)
            self._end(trace, "handled, and not answered, as the client wants it")
            return
        trace.is_encoded = True
        function = (
            ResponseQueue.add_frame if trace.is_framed else ResponseQueue.add_ready
        )
        if queue.waiting:
            trace.place = queue.waiting[-1]
            text = f"encoded; behind {len(queue.waiting) - 1} others in the queue"
            trace.note(function, text, now_ns)
        else:
            trace.note(function, "the answer is encoded", now_ns)
            if not queue._out:
                self._hand_over(trace, now_ns)

    # How it gets out

    def _answered(self, frame: FrameType, now_ns: int) -> None:
        answer = frame.f_locals["parked"]
        for trace in self._traces:
            if trace.owns((answer,)) and "answered" not in trace.seen:
                trace.seen.add("answered")
                text = f"its answer may leave: woken by {woken_by(frame)}"
                trace.note(ResponseQueue._answered, text, now_ns)

    def _drained(self, frame: FrameType, now_ns: int) -> None:
        queue = frame.f_locals["self"]
        for trace in self._of(queue):
            if trace.place is None or any(e is trace.place for e in queue.waiting):
                continue
            trace.place, trace.is_encoded = None, True
            text = "its turn has come: the answer is encoded"
            trace.note(ResponseQueue._drain, text, now_ns)
            if not queue._out:
                self._hand_over(trace, now_ns)

    def _flushed(self, frame: FrameType, now_ns: int) -> None:
        queue = frame.f_locals["self"]
        for trace in self._of(queue):
            if trace.is_encoded and trace.place is None and not queue._out:
                self._hand_over(trace, now_ns)

    def _hand_over(self, trace: RequestTrace, now_ns: int) -> None:
        if "sent" in trace.seen:
            return
        trace.seen.add("sent")
        trace.note(ResponseQueue.flush, "given to the socket's transport", now_ns)
        # It writes before the loop goes to sleep: by the next turn that is done.
        asyncio.get_running_loop().call_soon(self._look, trace)

    def _look(self, trace: RequestTrace) -> None:
        transport = trace.queue._transport
        if transport is None:
            return  # closed, and ended by that
        unsent = transport.get_write_buffer_size()
        text = "all of it has left for the client"
        if unsent:
            text = f"the client reads slowly: {unsent} bytes wait for it"
        trace.note(ResponseQueue.flush, text, trace.now_ns())
        self._end(trace, "answered")

    def _closed(self, frame: FrameType, now_ns: int) -> None:
        for trace in self._of(frame.f_locals["self"]):
            text = "the connection is gone"
            trace.note(ResponseQueue.close, text, now_ns)
            self._end(trace, "not answered: the connection is gone")

    def _of(self, queue: Any) -> list[RequestTrace]:
        return [trace for trace in self._traces if trace.queue is queue]
