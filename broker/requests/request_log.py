"""The request log (logger ``odradek.requests``, level debug): requests, and answers.

A connection that is opened while it is on goes through it; no other knows of it.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from typing import TYPE_CHECKING, Any

from odradek.broker.runtime.parked import Parked
from odradek.protocol.headers import decode_request_header

from .answer_errors import errors_in
from .registry import NO_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from odradek.protocol.headers import RequestHeader

    from .context import ConnectionInfo
    from .dispatch import Dispatcher, Exchange, Route

request_log = logging.getLogger("odradek.requests")


class LoggedDispatch:
    """`Dispatcher.entry`, with a line for each request, and one for its answer."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def dispatch(
        self, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """What was to be changed is changed when the first line is written."""
        began_s = time.perf_counter()
        exchange = self._dispatcher.entry(connection, frame)
        elapsed_ms = (time.perf_counter() - began_s) * 1000
        header, _ = decode_request_header(frame)
        route = self._dispatcher.routes[header.api_key, header.api_version]
        request_log.debug(
            "%s of %s:%d, correlation id %d, %d bytes, done in %.3f ms",
            route.name,
            connection.peer_host,
            connection.peer_port,
            header.correlation_id,
            len(frame),
            elapsed_ms,
        )
        logged = LoggedAnswer(connection, route, header, began_s)
        if isinstance(exchange, bytes):
            logged.note(exchange, is_framed=True)
            return exchange
        return exchange._replace(answer=logged.follow(exchange.answer))


class LoggedAnswer:
    """Writes one line when the answer to a request is there."""

    def __init__(
        self,
        connection: ConnectionInfo,
        route: Route,
        header: RequestHeader,
        began_s: float,
    ) -> None:
        self._whom = connection.peer_host, connection.peer_port
        self._route = route
        self._correlation_id = header.correlation_id
        self._began_s = began_s

    def follow(self, answer: Any) -> Any:
        """The same answer; the line is written before anybody else is told of it."""
        if inspect.iscoroutine(answer):
            return self._awaited(answer)
        if isinstance(answer, asyncio.Future):
            answer = Parked.behind(answer)
        if not isinstance(answer, Parked):
            self.note(answer)
            return answer
        told = answer.twin()

        def pass_on(done: Parked) -> None:
            self._note_parked(done)
            if done.error is not None:
                told.set_exception(done.error)
            else:
                told.set_result(done.response)

        answer.listen(pass_on)
        return told

    def note(self, answer: Any, is_framed: bool = False) -> None:
        """Here it is; with ``is_framed`` bytes are the whole frame."""
        if answer is not NO_RESPONSE:
            errors = errors_in(self._route, answer, is_framed)
            self._write(", ".join(errors) or "no error")

    def _note_parked(self, done: Parked) -> None:
        if done.error is not None:
            self._write(type(done.error).__name__)
        else:
            self.note(done.response, done.is_framed)

    def _write(self, outcome: str) -> None:
        request_log.debug(
            "answer to %s of %s:%d, correlation id %d: %s, after %.3f ms",
            self._route.name,
            *self._whom,
            self._correlation_id,
            outcome,
            (time.perf_counter() - self._began_s) * 1000,
        )

    async def _awaited(self, answering: Coroutine[Any, Any, Any]) -> Any:
        try:
            answer = await answering
        except Exception as error:
            self._write(type(error).__name__)
            raise
        return self.follow(answer)
