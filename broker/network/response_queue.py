"""The answers of one connection, in the order of its requests.

An answer that is there when it is added is encoded at once, and kept until its turn;
one that is parked is encoded when its turn comes. What becomes ready in one turn of the
loop leaves in one write. While the client does not read (``hold``) nothing is sent, so
no more than that is spent on it.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from contextlib import suppress
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.memory.answer_memory import UNCOUNTED_SIZE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import MalformedRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.requests.dispatch import Route
    from odradek.protocol.primitives import Buffer
    from odradek.protocol.schema import Request, Response

    from .busy_poll import AtOnce, BusyPoll

# Past this, what is encoded goes to the transport before more is encoded, for whomever:
# it is the transport that notices a client which does not read, and then it counts.
FLUSH_BYTES = UNCOUNTED_SIZE
# Up to this, one copy is cheaper than a vector of small buffers.
JOIN_BYTES = 64 << 10

# Before these, the stock loop's writelines never said that a client does not read,
# and buffered without end (CVE-2024-12254).
_VERSION = sys.version_info[:3]
_WRITELINES_PAUSES = not (
    (3, 12) <= _VERSION < (3, 12, 9) or (3, 13) <= _VERSION < (3, 13, 2)
)


def _copies(transport: WriteTransport | None) -> bool:
    """Whether its writelines joins what it cannot send; those of uvloop never do."""
    return _VERSION < (3, 12) and isinstance(transport, asyncio.Transport)


# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__


class WriteTransport(Protocol):
    """What of a transport the answers need."""

    def write(self, data: Buffer) -> None:
        """Send ``data``."""

    def writelines(self, list_of_data: list[Buffer]) -> None:
        """Send all buffers, in their order."""


class Waiting(NamedTuple):
    """An answer whose turn has not come: buffers, or a parked response.

    ``size`` is that of the request, or of the buffers, which need no ``route``.
    """

    route: Any
    correlation_id: int
    answer: list[Buffer] | Parked
    request: Request | None
    size: int


class CatchUp:
    """Lets the queues that have answers send them in the next turn of the loop.

    One callback for all connections: after a sync all of them have answers. And what
    was asked in one turn is answered in one go, so that a client with many connections
    is woken once for all of them, and not for each.
    """

    def __init__(self) -> None:
        self._encoded: list[ResponseQueue] = []
        self._queues: list[ResponseQueue] = []

    def add(self, queue: ResponseQueue) -> None:
        """Call ``queue.catch_up`` in the next turn."""
        if not self._queues and not self._encoded:
            self._wake()
        self._queues.append(queue)

    def add_encoded(self, queue: ResponseQueue) -> None:
        """Call ``queue.flush`` in the next turn, before any ``catch_up``."""
        if not self._queues and not self._encoded:
            self._wake()
        self._encoded.append(queue)

    def _wake(self) -> None:
        asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        encoded, self._encoded = iter(self._encoded), []
        queues, self._queues = iter(self._queues), []
        try:
            for queue in encoded:
                queue.flush()
            for queue in queues:
                queue.catch_up()
        finally:  # a bug of one connection is not the others' business
            for queue in encoded:
                self.add_encoded(queue)
            for queue in queues:
                self.add(queue)


def _ignore(*_: object) -> None:
    """Nobody is to be told."""


class ResponseQueue:
    """Sends answers in order; counts the requests that wait for theirs.

    ``unread_size`` is what answers take that wait for their turn or, while the queue
    ``is_held``, for the client to read.
    """

    __slots__ = (
        "_catch_up",
        "_failure",
        "_flushing",
        "_in_transport",
        "_is_due",
        "_on_progress",
        "_on_unanswerable",
        "_out",
        "_out_size",
        "_transport",
        "is_held",
        "parked_size",
        "unread_size",
        "waiting",
    )

    def __init__(
        self,
        transport: WriteTransport,
        failure: Callable[[Route, Request | None, BaseException], Response],
        on_progress: Callable[[], None],
        on_unanswerable: Callable[[MalformedRequest], None],
        catch_up: CatchUp,
    ) -> None:
        self._transport: WriteTransport | None = transport
        self._failure = failure
        self._on_progress = on_progress
        self._on_unanswerable = on_unanswerable
        self._catch_up = catch_up
        self.waiting: deque[Waiting] = deque()
        self._out: list[Buffer] = []
        self._out_size = 0
        self._flushing: list[Buffer] = []
        self._in_transport = 0
        self._is_due = False
        self.is_held = False
        self.parked_size = 0
        self.unread_size = 0

    @property
    def count(self) -> int:
        """How many requests wait for their answer, or for their turn."""
        return len(self.waiting)

    def add(
        self,
        route: Route,
        correlation_id: int,
        answer: Any,
        request: Request | None = None,
        size: int = 0,
    ) -> bool:
        """Queue the answer to the request that came next: there, parked or a future.

        Returns whether it has to wait; else it leaves with the next ``flush``.
        ``request`` is what the error of a failed future is built from, ``size`` is
        counted as ``parked_size`` until the answer is there.
        """
        if not isinstance(answer, Parked):
            if not isinstance(answer, asyncio.Future):
                return self.add_ready(route, correlation_id, answer, request)
            answer = Parked.behind(answer)
        self.park(route, correlation_id, answer, size, request)
        return True

    def park(
        self,
        route: Route,
        correlation_id: int,
        answer: Parked,
        size: int,
        request: Request | None = None,
    ) -> None:
        """`add` of a parked answer."""
        self.parked_size += size
        waiting = _new(Waiting, (route, correlation_id, answer, request, size))
        self.waiting.append(waiting)
        if answer.is_done:
            self._answered(answer)
        else:
            answer.listener = self._answered

    def add_ready(
        self, route: Route, correlation_id: int, answer: Any, request: Request | None
    ) -> bool:
        """`add` of an answer that is there."""
        if not self.waiting and not self.is_held:
            if type(answer) is bytes:  # nothing can go wrong with it
                self._out_size += route.write(correlation_id, answer, self._out)
            else:
                self._out_size += self._encode(
                    route, correlation_id, answer, request, self._out
                )
            if self._out_size >= FLUSH_BYTES:
                self.flush()
            return False
        buffers: list[Buffer] = []
        size = self._encode(route, correlation_id, answer, request, buffers)
        self.unread_size += size
        self.waiting.append(Waiting(route, correlation_id, buffers, request, size))
        return True

    def add_frame(self, frame: bytes) -> bool:
        """`add` of an answer that is there, the whole of it."""
        if not self.waiting and not self.is_held:
            self._out.append(frame)
            self._out_size += len(frame)
            if self._out_size >= FLUSH_BYTES:
                self.flush()
            return False
        size = len(frame)
        self.unread_size += size
        self.waiting.append(Waiting(None, 0, [frame], None, size))
        return True

    def flush(self) -> None:
        """Send what is encoded."""
        out = self._out
        if not out or self._transport is None:
            return
        size, self._out_size = self._out_size, 0
        if size > JOIN_BYTES:
            self._out = []
            self._flush_large(self._transport, out)
        elif len(out) == 1 and type(out[0]) is bytes:
            self._transport.write(out.pop())
        else:
            self._out = []
            self._transport.write(b"".join(out))

    def _flush_large(self, transport: WriteTransport, out: list[Buffer]) -> None:
        # A transport may keep all of it until the last byte has left.
        self._flushing = out
        if len(out) == 1 or not _WRITELINES_PAUSES:
            for data in out:
                transport.write(data)
        else:
            transport.writelines(out)
        self._flushing = []

    def flush_soon(self, busy_poll: BusyPoll | AtOnce | None) -> None:
        """Send what is encoded, with what other connections have when this turn ends.

        At once while the loop looks for the next request of a client that waits for
        each answer: that client has nothing else to do.
        """
        if busy_poll is not None and busy_poll.is_on:
            self.flush()
        elif self._out:
            self._catch_up.add_encoded(self)

    def hold(self, size: int) -> list[Buffer]:
        """Encode nothing more until ``resume``: ``size`` bytes have not left yet.

        Returns the buffers that the transport now keeps as they are.
        """
        flushing = self._flushing
        self.is_held = True
        self._in_transport = max(size, sum(map(len, flushing)))
        self.unread_size += self._in_transport
        return [] if _copies(self._transport) else flushing

    def resume(self) -> None:
        """All has left: go on with the answers that are ready."""
        self.is_held = False
        self.unread_size -= self._in_transport
        self._in_transport = 0
        self.catch_up()

    def catch_up(self) -> None:
        """Send what is ready, as far as its turn has come."""
        self._is_due = False
        self._drain()
        self.flush()
        self._on_progress()

    def close(self) -> None:
        """Forget all answers: there is nobody to send them to."""
        self._transport = None
        self._on_progress = self._on_unanswerable = _ignore
        for waiting in self.waiting:
            if isinstance(waiting.answer, Parked):
                waiting.answer.listen(partial(self._discard, waiting.route))
        self.waiting.clear()
        self._out.clear()
        self.parked_size = self.unread_size = self._in_transport = 0

    def _answered(self, parked: Parked) -> None:
        """Not sent at once: whoever answers is in the middle of something."""
        waiting = self.waiting
        if not self._is_due and waiting and waiting[0].answer is parked:
            self._is_due = True
            self._catch_up.add(self)

    def _drain(self) -> None:
        """Encode from the head of the queue whatever is ready."""
        waiting = self.waiting
        while waiting and not self.is_held and self._transport is not None:
            route, correlation_id, answer, request, size = waiting[0]
            if isinstance(answer, list):
                waiting.popleft()
                self.unread_size -= size
                self._out.extend(answer)
                self._out_size += size
            elif answer.is_done:
                waiting.popleft()
                self.parked_size -= size
                response = answer.response
                if answer.error is not None:
                    response = self._failed(route, request, answer.error)
                if type(response) is bytes:  # nothing can go wrong with it
                    if answer.is_framed:
                        self._out.append(response)
                        self._out_size += len(response)
                    else:
                        self._out_size += route.write(
                            correlation_id, response, self._out
                        )
                elif response is not None:
                    self._out_size += self._encode(
                        route, correlation_id, response, request, self._out
                    )
            else:
                break
            if self._out_size >= FLUSH_BYTES:
                self.flush()

    def _failed(
        self, route: Route, request: Request | None, error: BaseException
    ) -> Response | None:
        """The response for ``error``. None, and reported, when there is none."""
        if isinstance(error, asyncio.CancelledError):
            error = MalformedRequest(f"{route.name} was cancelled")
        if isinstance(error, MalformedRequest):
            self._on_unanswerable(error)
            return None
        try:
            return self._failure(route, request, error)
        except MalformedRequest as unanswerable:
            self._on_unanswerable(unanswerable)
            return None

    def _encode(
        self,
        route: Route,
        correlation_id: int,
        response: Any,
        request: Request | None,
        out: list[Buffer],
    ) -> int:
        """Append the response to ``out``; returns its size."""
        if response is NO_RESPONSE:
            return 0
        try:
            return route.write(correlation_id, response, out)
        except Exception as error:  # a handler made a response that is none
            instead = self._failed(route, request, error)
            return route.write(correlation_id, instead, out) if instead else 0

    def _discard(self, route: Route, parked: Parked) -> None:
        """The connection is gone; what went wrong is recorded all the same."""
        error = parked.error
        if not isinstance(error, NoneType | MalformedRequest | asyncio.CancelledError):
            with suppress(MalformedRequest):
                self._failure(route, None, error)
