"""What is made of answers on their way, whatever form they have.

A handler answers at once, later, or by a coroutine, with a response or with its bytes
(`registry`). Here that is one thing: a function that is called with the answer when it
is there, and says what is sent in its place.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from odradek.broker.requests.dispatch import Exchange
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.parked import Parked

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from odradek.broker.requests.dispatch import Route
    from odradek.protocol.primitives import Buffer

    # Called with a response, a `Raw` or NO_RESPONSE; gives one of them, parked perhaps.
    Finish = Callable[[Any], Any]


class Raw:
    """An answer that is sent as it is: not the frame that the client expects."""

    def __init__(self, data: bytes) -> None:
        self.data = data


class RawRoute:
    """A `Route` whose answers may be `Raw`."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self.response_class = route.response_class
        self.handler = route.handler
        self.api_version = route.api_version
        self.head_size = route.head_size

    @property
    def name(self) -> str:
        """As `Route.name`."""
        return self._route.name

    def write(self, correlation_id: int, response: Any, out: list[Buffer]) -> int:
        """As `Route.write`."""
        if isinstance(response, Raw):
            out.append(response.data)
            return len(response.data)
        return self._route.write(correlation_id, response, out)


def exchanged(route: Route, correlation_id: int, answer: Any, request: Any) -> Exchange:
    """For a connection: an answer that may be `Raw`."""
    return Exchange(RawRoute(route), correlation_id, answer, request)  # type: ignore[arg-type]


def body_of(route: Route, answer: Any, is_framed: bool) -> Any:
    """The response that an answer is, decoded if need be; `Raw` and none stay so."""
    if isinstance(answer, list):
        answer = b"".join(answer)
    if isinstance(answer, bytes):
        body = answer[route.head_size :] if is_framed else answer
        return route.response_class.decode(body, route.api_version)
    return answer


def frame_of(route: Route, correlation_id: int, answer: Any) -> bytes:
    """The bytes that an answer would be sent as."""
    if answer is NO_RESPONSE:
        return b""
    out: list[Buffer] = []
    RawRoute(route).write(correlation_id, answer, out)
    return b"".join(out)


def after(route: Route, exchange: Exchange | bytes, finish: Finish) -> Any:
    """The answer that ``finish`` makes of the one in ``exchange``, when it is there."""
    if isinstance(exchange, bytes):
        return finish(body_of(route, exchange, True))
    return _after(route, exchange.answer, finish)


def _after(route: Route, answer: Any, finish: Finish) -> Any:
    if inspect.iscoroutine(answer):
        return _awaited(route, answer, finish)
    if isinstance(answer, asyncio.Future):
        answer = Parked.behind(answer)
    if not isinstance(answer, Parked):
        return finish(body_of(route, answer, False))
    told: Parked[Any] = Parked()

    def pass_on(done: Parked[Any]) -> None:
        if done.error is not None:
            told.set_exception(done.error)
            return
        try:
            told.follow(finish(body_of(route, done.response, done.is_framed)))
        except Exception as error:
            told.set_exception(error)

    answer.listen(pass_on)
    return told


async def _awaited(
    route: Route, answering: Coroutine[Any, Any, Any], finish: Finish
) -> Any:
    return _after(route, await answering, finish)
