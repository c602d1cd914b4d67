"""Measures the requests of those clients that have a quota.

Each request is counted, and an answer says how long its client must be quiet
(``throttle_time_ms``); for that time its connection is not read (KIP-219). What takes
no short way goes through ``dispatch``, of whatever client. Of a client without a quota
the short ways are those that it has when nobody has one: they let in nobody else. A
client with one has short ways of its own, with its meters around them. Without any
quota nothing of this is called.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.requests.dispatch import Exchange
from odradek.broker.requests.registry import NO_RESPONSE, error_builder
from odradek.broker.requests.short_ways import ShortWays
from odradek.broker.runtime.parked import Parked
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ThrottlingQuotaExceeded

from .client_meters import ClientMeters
from .mutations import mutation_count
from .rate import Windows
from .verdicts import Verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Dispatcher, Route
    from odradek.broker.requests.registry import Shortcut
    from odradek.broker.requests.services import Services
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.schema import Request

    from .verdicts import Verdict

HOSTS_MAX = 100  # of one client, whose short ways are kept
# From these versions on a request that is too much is refused, before only slowed.
STRICT_FROM = {
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.CREATE_PARTITIONS: 3,
    ApiKey.DELETE_TOPICS: 5,
}


class MeteredDispatcher:
    """Gives requests to ``dispatcher`` and counts what they cost."""

    def __init__(self, dispatcher: Dispatcher, services: Services) -> None:
        self._dispatcher = dispatcher
        self._services = services
        config = services.config
        self._meters = ClientMeters(
            services.quotas,
            services.clock,
            Windows(config.quota_window_num, config.quota_window_size_seconds * 1000),
            Windows(
                config.controller_quota_window_num,
                config.controller_quota_window_size_seconds * 1000,
            ),
        )
        self._verdicts = Verdicts(services.quotas, self._meters)

    def follow(self) -> None:
        """Quotas have changed: measure by those that there are now, or nothing."""
        dispatcher = self._dispatcher
        if self._services.quotas:
            dispatcher.whole = self.dispatch
            dispatcher.short_ways.admit(self._is_free)
        else:
            dispatcher.whole = dispatcher.dispatch_whole
            dispatcher.short_ways.admit(None)

    def dispatch(self, connection: ConnectionInfo, frame: memoryview) -> Exchange:
        """As `Dispatcher.dispatch_whole`.

        Raises:
            MalformedRequest: there is nothing to answer; the connection closes.
        """
        header, _ = self._dispatcher.read_header(frame)
        user, client_id = connection.user, header.client_id or ""
        verdict = self._verdicts.of(user, client_id)
        connection.short_ways = self._short_ways_of(connection, verdict)
        strict_from = STRICT_FROM.get(header.api_key)  # type: ignore[call-overload]
        if strict_from is not None and header.api_version >= strict_from:
            wait_ms = self._meters.mutation_wait_ms(user, client_id)
            if wait_ms:
                return self._refuse(connection, frame, wait_ms)
        began_s = time.perf_counter()
        exchange = self._dispatcher.dispatch_whole(connection, frame)
        elapsed_s = time.perf_counter() - began_s
        wait_ms = 0
        if strict_from is not None:
            count = mutation_count(exchange.request, self._services)
            waits = self._meters.record_mutations(user, client_id, count)
            if header.api_version < strict_from:
                wait_ms = waits
        if verdict.is_free and not wait_ms:
            return exchange
        measuring = Measuring(exchange.route, verdict, self._services.clock)
        answer = measuring.settle(
            connection, len(frame), elapsed_s, exchange.answer, wait_ms, False
        )
        return exchange._replace(answer=answer)

    def is_address_over_quota(self, address: str) -> bool:
        """Count a new connection from ``address``: whether that is one too many."""
        return self._meters.record_connection(address) > 0

    def _is_free(self, user: str, client_id: str | None, request: Request) -> bool:
        return self._verdicts.of(user, client_id).is_free

    def _short_ways_of(self, connection: ConnectionInfo, verdict: Verdict) -> ShortWays:
        """Those for connections on which this client has asked last."""
        all_ways = self._dispatcher.short_ways
        if verdict.is_free:
            return all_ways.of(connection)
        host = all_ways.host_of(connection)
        ways = verdict.short_ways.get(host)
        if ways is None or ways.is_stale:

            def is_same(user: str, client_id: str | None, request: Request) -> bool:
                return (client_id or "") == verdict.client_id

            def surround(route: Route, shortcut: Shortcut) -> Shortcut:
                measuring = Measuring(route, verdict, self._services.clock)
                return partial(measuring.take, shortcut)

            access = all_ways.access_of(connection)
            ways = ShortWays(verdict.user, is_same, surround, access)
            if len(verdict.short_ways) >= HOSTS_MAX:
                verdict.short_ways.clear()  # connections keep theirs
            verdict.short_ways[host] = all_ways.add(ways)
        return ways

    def _refuse(
        self, connection: ConnectionInfo, frame: memoryview, wait_ms: int
    ) -> Exchange:
        """The answer to a change of topics that has to wait."""
        route, header, request = self._dispatcher.read(frame)
        error = ThrottlingQuotaExceeded("The throttling quota has been exceeded.")
        build = error_builder(route.handler.request_class)
        assert build is not None, route.name
        response: Any = build(request, error)
        response.throttle_time_ms = wait_ms
        connection.mute(wait_ms)
        return Exchange(route, header.correlation_id, response, request)


class Measuring:
    """Counts what requests of one route cost one client, and lets it wait."""

    __slots__ = ("_clock", "_fetch", "_is_fetch", "_produce", "_request", "_route")

    def __init__(self, route: Route, verdict: Verdict, clock: Clock) -> None:
        api_key = route.handler.request_class.api_key
        self._route = route
        self._clock = clock
        self._request = verdict.request
        self._produce = verdict.produce if api_key == ApiKey.PRODUCE else None
        self._is_fetch = api_key in (ApiKey.FETCH, ApiKey.SHARE_FETCH)
        self._fetch = verdict.fetch

    def take(
        self, shortcut: Shortcut, connection: ConnectionInfo, frame: memoryview
    ) -> Any:
        """What ``shortcut`` answers, measured."""
        began_s = time.perf_counter()
        answer = shortcut(connection, frame)
        if answer is None:
            return None
        elapsed_s = time.perf_counter() - began_s
        return self.settle(connection, len(frame), elapsed_s, answer, 0, True)

    def settle(
        self,
        connection: ConnectionInfo,
        size: int,
        elapsed_s: float,
        answer: Any,
        wait_ms: int,
        is_framed: bool,
    ) -> Any:
        """The answer to a request of ``size`` bytes, with the time to be quiet.

        ``is_framed``: if it is bytes, they are the whole frame.
        """
        now_ms = self._clock.monotonic_ms()
        request, produce = self._request, self._produce
        if request is not None:
            wait_ms = max(wait_ms, request.record(elapsed_s * 100, now_ms))
        if produce is not None:
            wait_ms = max(wait_ms, produce.record(size, now_ms))
        if self._is_fetch and (wait_ms or self._fetch is not None):
            if type(answer) is list:
                return self._fetched(connection, wait_ms, answer, is_framed)
            return _after(answer, partial(self._fetched, connection, wait_ms))
        if not wait_ms:
            return answer
        connection.mute(wait_ms)
        finish = partial(_with_wait, self._route, wait_ms)
        return _after(answer, finish, is_framed)

    def _fetched(
        self, connection: ConnectionInfo, wait_ms: int, answer: Any, is_framed: bool
    ) -> Any:
        if self._fetch is not None:
            now_ms, size = self._clock.monotonic_ms(), _size(self._route, answer)
            wait_ms = max(wait_ms, self._fetch.record(size, now_ms))
        if not wait_ms:
            return answer
        connection.mute(wait_ms)
        return _with_wait(self._route, wait_ms, answer, is_framed)


def _after(
    answer: Any, finish: Callable[[Any, bool], Any], is_framed: bool = False
) -> Any:
    """The answer that ``finish`` makes of one that is there, or will be.

    ``finish`` is told whether it is the whole frame, when it is bytes.
    """
    if inspect.iscoroutine(answer):
        return _awaited(answer, finish)
    if isinstance(answer, asyncio.Future):
        answer = Parked.behind(answer)
    if not isinstance(answer, Parked):
        return finish(answer, is_framed)
    told = Parked()

    def follow(done: Parked) -> None:
        if done.error is not None:
            told.set_exception(done.error)
        else:
            told.set_result(finish(done.result(), done.is_framed))

    answer.listen(follow)
    return told


async def _awaited(
    answering: Coroutine[Any, Any, Any], finish: Callable[[Any, bool], Any]
) -> Any:
    return _after(await answering, finish)


def _with_wait(route: Route, wait_ms: int, answer: Any, is_framed: bool) -> Any:
    """The response with its throttle time."""
    if answer is NO_RESPONSE:
        return answer
    response = answer
    if isinstance(answer, bytes | list):
        body = answer if isinstance(answer, bytes) else b"".join(answer)
        if is_framed and isinstance(answer, bytes):
            body = body[route.head_size :]
        response = route.response_class.decode(body, route.api_version)
    if hasattr(response, "throttle_time_ms"):
        response.throttle_time_ms = max(response.throttle_time_ms, wait_ms)
    return response


def _size(route: Route, answer: Any) -> int:
    """The bytes of a response."""
    if isinstance(answer, bytes):
        return len(answer)
    buffers = answer if isinstance(answer, list) else route.encode(answer)
    return sum(map(len, buffers))
