"""Dispatches the requests of connections while somebody has a quota.

Each request is counted, and an answer says how long its client must be quiet
(``throttle_time_ms``); for that time its connection is not read (KIP-219). Without any
quota connections dispatch directly, and none of this costs anything.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.metadata.client_quotas import ANONYMOUS, QuotaKey
from odradek.broker.requests.dispatch import Exchange
from odradek.broker.requests.registry import NO_RESPONSE, error_builder
from odradek.broker.runtime.parked import Parked
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ThrottlingQuotaExceeded

from .client_meters import ClientMeters
from .mutations import mutation_count
from .rate import Windows

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Dispatcher, Route
    from odradek.broker.requests.services import Services

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

    def dispatch(self, connection: ConnectionInfo, frame: memoryview) -> Exchange:
        """As `Dispatcher.dispatch`.

        Raises:
            MalformedRequest: there is nothing to answer; the connection closes.
        """
        header, _ = self._dispatcher.read_header(frame)
        client_id = header.client_id or ""
        strict_from = STRICT_FROM.get(header.api_key)  # type: ignore[call-overload]
        if strict_from is not None and header.api_version >= strict_from:
            wait_ms = self._meters.mutation_wait_ms(ANONYMOUS, client_id)
            if wait_ms:
                return self._refuse(connection, frame, wait_ms)
        began = time.perf_counter()
        exchange = self._dispatcher.dispatch_whole(connection, frame)
        percent_s = (time.perf_counter() - began) * 100
        meter = partial(self._meters.record, user=ANONYMOUS, client_id=client_id)
        wait_ms = meter(QuotaKey.REQUEST, amount=percent_s)
        if header.api_key == ApiKey.PRODUCE:
            wait_ms = max(wait_ms, meter(QuotaKey.PRODUCE, amount=len(frame)))
        elif strict_from is not None:
            count = mutation_count(exchange.request, self._services)
            waits = self._meters.record_mutations(ANONYMOUS, client_id, count)
            if header.api_version < strict_from:
                wait_ms = max(wait_ms, waits)
        if header.api_key == ApiKey.FETCH:
            finish = partial(self._fetched, connection, exchange.route, meter, wait_ms)
            return exchange._replace(answer=_after(exchange.answer, finish))
        if not wait_ms:
            return exchange
        connection.mute(wait_ms)
        finish = partial(_with_wait, exchange.route, wait_ms)
        return exchange._replace(answer=_after(exchange.answer, finish))

    def is_address_over_quota(self, address: str) -> bool:
        """Count a new connection from ``address``: whether that is one too many."""
        return self._meters.record_connection(address) > 0

    def _fetched(
        self,
        connection: ConnectionInfo,
        route: Route,
        meter: Callable[..., int],
        wait_ms: int,
        answer: Any,
    ) -> Any:
        wait_ms = max(wait_ms, meter(QuotaKey.FETCH, amount=_size(route, answer)))
        if not wait_ms:
            return answer
        connection.mute(wait_ms)
        return _with_wait(route, wait_ms, answer)

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


def _after(answer: Any, finish: Callable[[Any], Any]) -> Any:
    """The answer that ``finish`` makes of one that is there, or will be."""
    if inspect.iscoroutine(answer):
        return _awaited(answer, finish)
    if isinstance(answer, asyncio.Future):
        answer = Parked.behind(answer)
    if not isinstance(answer, Parked):
        return finish(answer)
    told = Parked()

    def follow(done: Parked) -> None:
        if done.error is not None:
            told.set_exception(done.error)
        else:
            told.set_result(finish(done.result()))

    answer.listen(follow)
    return told


async def _awaited(
    answering: Coroutine[Any, Any, Any], finish: Callable[[Any], Any]
) -> Any:
    return _after(await answering, finish)


def _with_wait(route: Route, wait_ms: int, answer: Any) -> Any:
    """The response with its throttle time."""
    if answer is NO_RESPONSE:
        return answer
    response = answer
    if isinstance(answer, bytes | list):
        body = answer if isinstance(answer, bytes) else b"".join(answer)
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
