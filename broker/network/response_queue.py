"""The answers of one connection, in the order of its requests.

An answer that is there when it is added is encoded at once, and kept as ``unsent``
until its turn; one that comes later, by a future, is encoded when its turn comes.
What becomes ready in one turn of the loop leaves in one write. While the client does
not read (``hold``) nothing is sent, so no more than that is spent on it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from protocol.errors import MalformedRequest

from ..handlers.registry import NO_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Callable

    from protocol.primitives import Buffer
    from protocol.schema import Request, Response

    from ..handlers.dispatch import Route

# Past this, what is encoded goes to the transport before more is encoded: it is
# the transport that notices a client which does not read.
FLUSH_BYTES = 256 << 10
# Up to this, one copy is cheaper than a vector of small buffers.
JOIN_BYTES = 64 << 10


class WriteTransport(Protocol):
    """What of a transport the answers need."""

    def write(self, data: bytes) -> None:
        """Send ``data``."""

    def writelines(self, list_of_data: list[Buffer]) -> None:
        """Send all buffers, in their order."""


class Waiting(NamedTuple):
    """An answer whose turn has not come: buffers, or a future of a response.

    ``size`` is that of the request, or of the buffers.
    """

    route: Route
    correlation_id: int
    answer: Any
    request: Request | None
    size: int


class ResponseQueue:
    """Sends answers in order; counts the requests that wait for theirs."""

    __slots__ = (
        "_failure",
        "_is_flush_due",
        "_is_held",
        "_on_progress",
        "_on_unanswerable",
        "_out",
        "_out_size",
        "_transport",
        "parked_size",
        "unsent_size",
        "waiting",
    )

    def __init__(
        self,
        transport: WriteTransport,
        failure: Callable[[Route, Request | None, BaseException], Response],
        on_progress: Callable[[], None],
        on_unanswerable: Callable[[MalformedRequest], None],
    ) -> None:
        self._transport: WriteTransport | None = transport
        self._failure = failure
        self._on_progress = on_progress
        self._on_unanswerable = on_unanswerable
        self.waiting: deque[Waiting] = deque()
        self._out: list[Buffer] = []
        self._out_size = 0
        self._is_flush_due = False
        self._is_held = False
        self.parked_size = 0
        self.unsent_size = 0

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
        """Queue the answer to the request that came next: a response or a future.

        Returns whether it has to wait; else it leaves with the next ``flush``.
        ``request`` is what the error of a failed future is built from, ``size`` is
        counted as ``parked_size`` until the answer is there.
        """
        if isinstance(answer, asyncio.Future):
            self.parked_size += size
            answer.add_done_callback(self._answered)
        elif not self.waiting and not self._is_held:
            size = self._encode(route, correlation_id, answer, request, self._out)
            self._out_size += size
            if self._out_size >= FLUSH_BYTES:
                self.flush()
            return False
        else:
            response, answer = answer, []
            size = self._encode(route, correlation_id, response, request, answer)
            self.unsent_size += size
        self.waiting.append(Waiting(route, correlation_id, answer, request, size))
        return True

    def flush(self) -> None:
        """Send what is encoded."""
        self._is_flush_due = False
        out = self._out
        if not out or self._transport is None:
            return
        self._out = []
        size, self._out_size = self._out_size, 0
        if len(out) == 1 and isinstance(out[0], bytes):
            self._transport.write(out[0])
        elif size <= JOIN_BYTES:
            self._transport.write(b"".join(out))
        else:
            self._transport.writelines(out)

    def hold(self) -> None:
        """Encode nothing more until ``resume``: the client does not read."""
        self._is_held = True

    def resume(self) -> None:
        """Go on with the answers that are ready."""
        self._is_held = False
        self._drain()

    def close(self) -> None:
        """Forget all answers: there is nobody to send them to."""
        self._transport = None
        for waiting in self.waiting:
            if isinstance(waiting.answer, asyncio.Future):
                waiting.answer.add_done_callback(partial(self._discard, waiting.route))
        self.waiting.clear()
        self._out.clear()
        self.parked_size = self.unsent_size = 0

    def _answered(self, future: asyncio.Future[Any]) -> None:
        if self.waiting and self.waiting[0].answer is future:
            self._drain()

    def _drain(self) -> None:
        """Encode from the head of the queue whatever is ready."""
        waiting = self.waiting
        while waiting and not self._is_held and self._transport is not None:
            head = waiting[0]
            answer = head.answer
            if isinstance(answer, asyncio.Future):
                if not answer.done():
                    break
                self.parked_size -= head.size
                waiting.popleft()
                self._out_size += self._encode_result(head, answer)
            else:
                self.unsent_size -= head.size
                waiting.popleft()
                self._out.extend(answer)
                self._out_size += head.size
            if self._out_size >= FLUSH_BYTES:
                self.flush()
        if self._out and not self._is_flush_due:
            self._is_flush_due = True
            asyncio.get_running_loop().call_soon(self.flush)
        self._on_progress()

    def _encode_result(self, head: Waiting, future: asyncio.Future[Any]) -> int:
        response = self._result(head, future)
        if response is None:
            return 0
        return self._encode(
            head.route, head.correlation_id, response, head.request, self._out
        )

    def _result(self, head: Waiting, future: asyncio.Future[Any]) -> Any:
        """The response in ``future``, or the one for its error. None: cannot be."""
        if future.cancelled():
            self._on_unanswerable(MalformedRequest(f"{head.route.name} was cancelled"))
            return None
        error = future.exception()
        if error is None:
            return future.result()
        return self._failed(head.route, head.request, error)

    def _failed(
        self, route: Route, request: Request | None, error: BaseException
    ) -> Response | None:
        try:
            if isinstance(error, MalformedRequest):
                raise error
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

    def _discard(self, route: Route, future: asyncio.Future[Any]) -> None:
        """The connection is gone; what went wrong is recorded all the same."""
        if not future.cancelled():
            error = future.exception()
            if error is not None and not isinstance(error, MalformedRequest):
                with suppress(MalformedRequest):
                    self._failure(route, None, error)
