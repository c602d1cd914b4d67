"""Follows requests that somebody wants to see, from the whole frame to the socket.

While nobody asks there is nothing of this in the way of any request. While somebody
does, connections give their frames to the tracer instead of the dispatcher; it looks
which are wanted and passes all of them on. Only while one of these is on its way are
the stations of its walk watched.

Invariants: a request is given to its handler by the dispatcher itself, and answered by
what that returns. What happens belongs to the request that is being handled, or to the
one that owns what it happens to. When the last one who asks has gone, every connection
is as before.
"""

from __future__ import annotations

import asyncio
import inspect
import time
import types
from typing import TYPE_CHECKING, Any

from odradek.broker.network.connection import Connection
from odradek.broker.network.entry import Layers
from odradek.broker.requests.answer_errors import errors_in
from odradek.broker.requests.dispatch import Exchange
from odradek.broker.runtime.parked import Parked
from odradek.protocol.headers import decode_request_header

from .answer_stations import AnswerStations
from .request_trace import RequestTrace
from .stations import Moment
from .walks import WALKS
from .watch import NoWatch, watch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Sequence

    from odradek.broker.network.listener import Listener
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Entry
    from odradek.broker.requests.services import Services

    from .stations import Station
    from .wanted import Wanted


class Ask:
    """Somebody who wants to see ``count`` requests; ``done`` has those that ended."""

    def __init__(self, wanted: Wanted, count: int) -> None:
        self.wanted = wanted
        self.left = count  # not begun yet
        self.begun: list[RequestTrace] = []
        self.done: asyncio.Queue[RequestTrace | None] = asyncio.Queue()

    def end(self) -> None:
        """The time is over."""
        self.done.put_nowait(None)


class Tracer:
    """The requests of one broker that are watched, and who wants to see them."""

    def __init__(
        self,
        services: Services,
        listeners: Sequence[Listener],
        now_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        """``now_ns`` never goes back."""
        self._services = services
        self._layers = Layers(listeners[0].network.dispatcher, listeners)
        self._now_ns = now_ns
        self._dispatcher = listeners[0].network.dispatcher
        self._asks: list[Ask] = []
        self._traces: list[RequestTrace] = []  # on their way
        self._current: RequestTrace | None = None  # being handled
        self._calls = _by_code(at_return=False)
        self._returns = _by_code(at_return=True)
        self._opened: list[tuple[types.FrameType, RequestTrace | None]] = []
        self._answers = AnswerStations(self._traces, self._end)
        codes = {*self._calls, *self._returns, *self._answers.codes}
        self._watch = watch_of(codes, self._see)

    @property
    def is_idle(self) -> bool:
        """Whether nobody asks, so that nothing of this is in the way."""
        return not self._asks

    # Who asks

    def begin(self, ask: Ask) -> None:
        """Look for what is asked.

        Raises:
            NoWatch: others watch the broker.
        """
        if not self._traces:  # better now than in the middle of a request
            self._watch.start()
            self._watch.stop()
        if not self._asks:
            self._layers.put(self._dispatch)
        self._asks.append(ask)

    def end(self, ask: Ask) -> None:
        """He wants to see no more. What is on its way for him alone is forgotten."""
        self._asks.remove(ask)
        wanted = {id(trace) for each in self._asks for trace in each.begun}
        self._traces[:] = [each for each in self._traces if id(each) in wanted]
        self._rest()
        if not self._asks:
            self._layers.take_away(self._dispatch)

    # Requests

    def _dispatch(
        self, inner: Entry, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """As `Dispatcher.dispatch`, which does it in the end."""
        asks = [] if self._current is not None else self._asks_for(frame)
        if not asks:
            return inner(connection, frame)
        try:
            self._watch.start()
        except NoWatch:  # others have begun to: the request is not their business
            return inner(connection, frame)
        trace = RequestTrace(_head(connection, frame), self._now_ns)
        for ask in asks:
            ask.left -= 1
            ask.begun.append(trace)
        self._traces.append(trace)
        self._note_arrival(trace, len(frame))
        try:
            exchange = self._handled(trace, inner, connection, frame)
        except BaseException as error:
            self._end(trace, f"not answered: {error}")
            raise
        return self._handled_over(trace, frame, exchange)

    def _asks_for(self, frame: memoryview) -> list[Ask]:
        dispatcher, services = self._dispatcher, self._services
        return [
            ask
            for ask in self._asks
            if ask.left and ask.wanted.is_meant(frame, dispatcher, services)
        ]

    def _note_arrival(self, trace: RequestTrace, size: int) -> None:
        caller = inspect.currentframe()
        function: Any = Connection.buffer_updated
        text = "the whole frame is there"
        while caller is not None:
            if caller.f_code is Connection._go_on.__code__:
                function, text = Connection._go_on, "it has waited for its turn"
            caller = caller.f_back
        trace.note(function, f"{text}: {size} bytes", trace.noted_ns)
        trace.spent_ns = self._now_ns() - trace.noted_ns

    def _handled(
        self, trace: RequestTrace, function: Callable[..., Any], *arguments: Any
    ) -> Any:
        """Call ``function``; what happens meanwhile is of that request."""
        before, self._current = self._current, trace
        try:
            return function(*arguments)
        finally:
            self._current = before

    def _handled_over(
        self, trace: RequestTrace, frame: memoryview, exchange: Exchange | bytes
    ) -> Exchange | bytes:
        """What the connection gets, which puts it into its queue at once."""
        api = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
        trace.route = self._dispatcher.routes[api]
        answer = exchange if isinstance(exchange, bytes) else exchange.answer
        trace.answer, trace.is_framed = answer, isinstance(exchange, bytes)
        self._answers.expect(trace)
        if isinstance(answer, Parked):
            trace.own((answer,))
        elif inspect.iscoroutine(answer):
            assert isinstance(exchange, Exchange)
            text = "its handler waits before it has changed anything, or for the disk"
            trace.note(trace.route.handler.function, text, self._now_ns())
            return exchange._replace(answer=self._awaited(trace, answer))
        return exchange

    async def _awaited(
        self, trace: RequestTrace, coroutine: Coroutine[Any, Any, Any]
    ) -> Any:
        return await self._followed(trace, coroutine)

    @types.coroutine
    def _followed(
        self, trace: RequestTrace, coroutine: Coroutine[Any, Any, Any]
    ) -> Generator[Any, Any, Any]:
        """Go on with ``coroutine``; what it does in its turns is of that request."""
        resume: Callable[[Any], Any] = coroutine.send
        value: Any = None
        while True:
            try:
                waits_for = self._handled(trace, resume, value)
            except StopIteration as ended:
                return ended.value
            try:
                resume, value = coroutine.send, (yield waits_for)
            except BaseException as error:
                resume, value = coroutine.throw, error

    # What is seen

    def _see(self, frame: types.FrameType, is_return: bool, value: Any) -> None:
        now_ns = self._now_ns()
        try:
            stations = self._returns if is_return else self._calls
            for station in stations.get(frame.f_code, ()):
                self._pass(station, Moment(frame, value), now_ns)
            if is_return and self._opened and self._opened[-1][0] is frame:
                self._current = self._opened.pop()[1]
            self._answers.see(frame, is_return, value, now_ns)
        except Exception as error:  # it would be raised in the function that is watched
            self._services.bugs.record("a trace", error)
        spent_ns = self._now_ns() - now_ns
        for trace in self._traces:
            if trace is self._current or trace.noted_ns == now_ns:
                trace.spent_ns += spent_ns

    def _pass(self, station: Station, moment: Moment, now_ns: int) -> None:
        for trace in self._concerned(station, moment):
            if station not in WALKS[trace.head["api"]]:
                continue
            text = station.text(moment)
            if text is not None:
                trace.seen.add(station.function)
                trace.seen.difference_update(station.renews)
                trace.note(station.place or station.function, text, now_ns)
                trace.is_long = trace.is_long or station.is_long_way
            if station.own is not None:
                trace.own(station.own(moment))
            if station.opens:
                self._opened.append((moment.frame, self._current))
                self._current = trace

    def _concerned(self, station: Station, moment: Moment) -> list[RequestTrace]:
        if station.of is None:
            return [] if self._current is None else [self._current]
        things = list(station.of(moment))
        return [
            trace
            for trace in self._traces
            if trace.owns(things)
            and station.function not in trace.seen
            and (station.behind is None or station.behind in trace.seen)
        ]

    # The end

    def _end(self, trace: RequestTrace, outcome: str) -> None:
        if trace not in self._traces:
            return
        trace.outcome = outcome
        trace.error = self._error_of(trace)
        self._traces.remove(trace)
        for ask in self._asks:
            if trace in ask.begun:
                ask.done.put_nowait(trace)
        # Not here: this may be called by what is watched.
        asyncio.get_running_loop().call_soon(self._rest)

    def _error_of(self, trace: RequestTrace) -> str | None:
        answer, is_framed = trace.answer, trace.is_framed
        if isinstance(answer, Parked):
            if answer.error is not None:
                return type(answer.error).__name__
            answer, is_framed = answer.response, answer.is_framed
        if answer is None or inspect.iscoroutine(answer):
            return None
        return ", ".join(errors_in(trace.route, answer, is_framed)) or None

    def _rest(self) -> None:
        if not self._traces:
            self._watch.stop()


def _by_code(*, at_return: bool) -> dict[types.CodeType, tuple[Station, ...]]:
    found: dict[types.CodeType, tuple[Station, ...]] = {}
    for station in dict.fromkeys(each for walk in WALKS.values() for each in walk):
        if station.at_return is at_return:
            code = station.function.__code__
            found[code] = (*found.get(code, ()), station)
    return found


def _head(connection: ConnectionInfo, frame: memoryview) -> dict[str, Any]:
    header, _ = decode_request_header(frame)
    return {
        "api": header.api_key,
        "version": header.api_version,
        "correlationId": header.correlation_id,
        "clientId": header.client_id,
        "peer": f"{connection.peer_host}:{connection.peer_port}",
        "size": len(frame),
    }
