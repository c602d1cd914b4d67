"""From the bytes of a request to its handler, and from errors to answers.

A ``Route`` is one API in one version: the functions compiled to read its
request and to write its response, and the handler between them. Routes are made
when first asked for, and kept.
"""

from __future__ import annotations

import time
from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.requests.audit import with_audit
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder, encoder
from odradek.protocol.errors import (
    ErrorCode,
    KafkaError,
    MalformedRequest,
    UnknownServerError,
    UnsupportedVersion,
)
from odradek.protocol.headers import (
    RequestHeader,
    decode_request_header,
    has_flexible_header,
)
from odradek.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)

from .context import ConnectionInfo, RequestContext
from .needs import guarded
from .registry import Handler, error_builder, refused_reader, unsupported
from .request_times import SAMPLED, RequestTimes
from .short_ways import UsersShortWays

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from odradek.protocol.primitives import Buffer
    from odradek.protocol.schema import Request, Response

    from .services import Services

    Whole = Callable[[ConnectionInfo, memoryview], "Exchange"]
    Entry = Callable[[ConnectionInfo, memoryview], "Exchange | bytes"]

_ALONE = frozenset({ApiKey.FETCH, ApiKey.SHARE_FETCH, ApiKey.SASL_HANDSHAKE})
_new = tuple.__new__  # NamedTuple's own constructor costs three times as much
_API = Struct(">4s")  # key and version
_VERSION_END = 4  # in a request: behind API key and version
_CORRELATION_ID = Struct(">i")
# Of an answer: length of the frame, correlation id, and that there are no tags.
_HEAD = Struct(">ii")
_FLEXIBLE_HEAD = Struct(">iix")


class Route:
    """How requests of one API in one version are read, handled and answered."""

    __slots__ = (
        "_pack_head",
        "api_version",
        "decode",
        "encode",
        "function",
        "handler",
        "head_size",
        "request_count",
        "response_class",
        "times",
    )

    def __init__(
        self,
        handler: Handler,
        api_version: int,
        function: Callable[..., Any],
        decode: Callable[[memoryview, int], tuple[Any, int]],
        response_version: int,
        times: RequestTimes | None = None,
    ) -> None:
        self.handler = handler
        self.api_version = api_version
        self.function = function
        self.decode = decode
        self.response_class = handler.response_class
        self.request_count = 0
        self.times = times or RequestTimes()
        self.encode = encoder(handler.response_class, response_version)
        is_flexible = has_flexible_header(handler.response_class, response_version)
        head = _FLEXIBLE_HEAD if is_flexible else _HEAD
        self.head_size, self._pack_head = head.size, head.pack

    @property
    def name(self) -> str:
        """The API and its version, for people."""
        return _name(self.handler, self.api_version)

    @property
    def api_name(self) -> str:
        """The API alone."""
        return _api_name(self.handler)

    def write(self, correlation_id: int, response: Any, out: list[Buffer]) -> int:
        """Append the whole frame of ``response`` to ``out``; returns its size.

        Records are not copied: they stay buffers of their own. A response may also be
        its body, as bytes or as a list of buffers of which the first is bytes.
        """
        head_size = self.head_size
        if type(response) is bytes:
            size = head_size + len(response)
            out.append(self._pack_head(size - 4, correlation_id) + response)
            return size
        buffers = response if type(response) is list else self.encode(response)
        size = head_size + sum(map(len, buffers))
        out.append(self._pack_head(size - 4, correlation_id) + buffers[0])
        out.extend(buffers[1:])
        return size


class Exchange(NamedTuple):
    """A request that was read and given to its handler, and what that returned."""

    route: Route
    correlation_id: int
    answer: Any
    request: Any


class Dispatcher:
    """Gives every request to its handler."""

    def __init__(self, services: Services, handlers: Mapping[int, Handler]) -> None:
        self._services = services
        self._handlers = handlers
        self.routes: dict[tuple[int, int], Route] = {}
        self.times: dict[str, RequestTimes] = {}  # by the name of the API
        self.short_ways = UsersShortWays(services.authorizer)
        # For what takes no short way: this, or what measures around it.
        self.whole: Whole = self.dispatch_whole
        # What connections give their frames to: this, or what was put around it.
        self.entry: Entry = self.dispatch
        self.layers: list[Callable[..., Exchange | bytes]] = []
        services.live.watch(lambda _: self.short_ways.forget())
        services.resources.watch(lambda _: self.short_ways.forget())

    def dispatch(
        self, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """Read the request in ``frame`` and call its handler.

        By a short way, when its client has one that this request is for. That may
        give the whole frame of the answer at once, which is then all there is.

        Raises:
            MalformedRequest: there is nothing to answer; the connection closes.
        """
        try:
            (api,) = _API.unpack_from(frame)
            way = connection.short_ways.by_api[api]
        except (KeyError, struct_error):  # not known yet, or too short
            return self.dispatch_first(connection, frame)
        if way is None:
            return self.whole(connection, frame)
        route, shortcut = way
        began_s = 0.0 if route.request_count & SAMPLED else time.perf_counter()
        try:
            answer = shortcut(connection, frame)
        except Exception as error:
            _, position = decode_request_header(frame)
            request, _ = route.decode(frame, position)
            answer = self.failure(route, request, error)
        if answer is None:
            return self.whole(connection, frame)
        route.request_count += 1
        if began_s:
            answer = route.times.note(answer, began_s)
        if type(answer) is bytes:
            return answer
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame, _VERSION_END)
        return _new(Exchange, (route, correlation_id, answer, None))

    def dispatch_whole(self, connection: ConnectionInfo, frame: memoryview) -> Exchange:
        """By header, decoder and handler."""
        route, header, request = self.read(frame)
        began_s = 0.0 if route.request_count & SAMPLED else time.perf_counter()
        route.request_count += 1
        api_key, api_version, correlation_id, client_id = header
        context = RequestContext(
            self._services, connection, api_key, api_version, correlation_id, client_id
        )
        try:
            answer = route.function(context, request)
        except MalformedRequest:
            raise
        except Exception as error:
            answer = self.failure(route, request, error)
        if began_s:
            answer = route.times.note(answer, began_s)
        return _new(Exchange, (route, correlation_id, answer, request))

    def read_header(self, frame: memoryview) -> tuple[RequestHeader, int]:
        """The header in ``frame``, also of an API that was never asked for."""
        header, position = decode_request_header(frame)
        if header[:2] in self.routes:
            return header, position
        # To look for the handler may load it, and then its headers can be read.
        self._handlers.get(header.api_key)
        return decode_request_header(frame)

    def read(self, frame: memoryview) -> tuple[Route, RequestHeader, Request]:
        """What is asked, and where it belongs.

        Raises:
            MalformedRequest: it cannot be read.
        """
        header, position = decode_request_header(frame)
        route = self.routes.get((header.api_key, header.api_version))
        if route is None:
            header, position = self.read_header(frame)
            route = self.route_of(header)
        try:
            request, _ = route.decode(frame, position)
        except MalformedRequest as error:
            raise type(error)(f"{route.name}: {error}") from error
        except Exception as error:
            self._services.bugs.record(f"the decoder of {route.name}", error)
            raise MalformedRequest(f"{route.name} cannot be read") from error
        return route, header, request

    def route_of(self, header: RequestHeader) -> Route:
        """Where a request with this header belongs, whatever else is in it.

        Raises:
            MalformedRequest: nobody here answers it.
        """
        route = self.routes.get((header.api_key, header.api_version))
        if route is None:
            route = self._find_route(header)
            self.routes[header.api_key, header.api_version] = route
        return route

    def forget_times(self) -> None:
        """Let the times of the requests until now count half."""
        for times in self.times.values():
            times.histogram.halve()

    def failure(
        self, route: Route, request: Request | None, error: BaseException
    ) -> Response:
        """The answer to a request that failed as a whole with ``error``.

        What is no ``KafkaError`` is a bug, recorded as such. ``request`` is None
        when it has not been kept while its answer was parked.

        Raises:
            MalformedRequest: this response has no place for an error.
        """
        if not isinstance(error, KafkaError):
            self._services.bugs.record(route.name, error)
            error = UnknownServerError()
        build = error_builder(route.handler.request_class)
        if build is not None and request is not None:
            response = build(request, error)
        else:
            response = top_level_error(route.response_class, error)
        if response is None:
            raise MalformedRequest(f"{route.name} cannot say: {error}") from error
        return response

    def dispatch_first(
        self, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """Of its API the first one for the short ways that the connection has."""
        if connection.short_ways.is_stale:
            connection.short_ways = self.short_ways.of(connection)
            return self.dispatch(connection, frame)  # others may have been first
        exchange = self.whole(connection, frame)
        ways, route = connection.short_ways, exchange.route
        if not ways.is_stale:
            ways.learn(bytes(frame[:_VERSION_END]), route, self._services)
        return exchange

    def _function_of(self, handler: Handler) -> Callable[..., Any]:
        function, key = handler.function, handler.request_class.api_key
        cluster = self._services.cluster
        if cluster is not None and cluster.forwarding.takes(key):
            function = cluster.forwarding.forward  # the controllers look at it
        elif self._services.authorizer is not None:
            function = guarded(function, handler.needs)
        is_alone = cluster is None
        return with_audit(key, function, handler.response_class, is_alone=is_alone)

    def _find_route(self, header: RequestHeader) -> Route:
        handler = self._handlers.get(header.api_key)
        if handler is None:
            raise MalformedRequest(unsupported(header.api_key))
        version = header.api_version
        if handler.handles_version(version):
            function = self._function_of(handler)
            decode = decoder(
                handler.request_class,
                version,
                self._services.config.request_objects_max,
            )
            times = self.times.setdefault(_api_name(handler), RequestTimes())
            return Route(handler, version, function, decode, version, times)
        if header.api_key == ApiKey.API_VERSIONS:
            return Route(handler, version, _list_versions_of_itself, _read_nothing, 0)
        if handler.advertises_version(version):
            return Route(
                handler,
                version,
                _refuse,
                _decoder_of_refused(handler, version),
                version,
            )
        raise MalformedRequest(f"{_name(handler, version)} is not supported")


def _name(handler: Handler, version: int) -> str:
    return f"{_api_name(handler)} v{version}"


def _api_name(handler: Handler) -> str:
    return handler.request_class.__name__.removesuffix("Request")


def starts_alone(frame: memoryview) -> bool:
    """Whether this request is not started while answers before it have yet to come.

    The answer to a fetch may be many megabytes: a connection holds one at a time. That
    to a handshake wakes a client which logs in again (``in_pieces.py``).
    """
    return int.from_bytes(frame[:2], "big") in _ALONE


def top_level_error(
    response_class: type[Response], error: KafkaError
) -> Response | None:
    """``response_class`` with the code of ``error``, if it has a place for one."""
    response: Any = response_class()
    if not hasattr(response, "error_code"):
        return None
    response.error_code = int(error.code)
    if hasattr(response, "error_message"):
        response.error_message = str(error)
    result: Response = response
    return result


def _decoder_of_refused(
    handler: Handler, version: int
) -> Callable[[memoryview, int], tuple[Any, int]]:
    request_class = handler.request_class
    if version >= request_class.min_version:
        return decoder(request_class, version)
    read = refused_reader(request_class)
    if read is None:
        raise MalformedRequest(f"{_name(handler, version)} is not supported")

    def decode(frame: memoryview, position: int) -> tuple[Any, int]:
        # The header's reader leaves the client id, in versions that it does not know.
        return read(frame, _behind_client_id(frame, position))

    return decode


def _behind_client_id(frame: memoryview, position: int) -> int:
    size = int.from_bytes(frame[position : position + 2], "big", signed=True)
    return position + 2 + max(size, 0)


def _refuse(context: RequestContext, request: Request) -> None:
    raise UnsupportedVersion


def _read_nothing(frame: memoryview, position: int) -> tuple[None, int]:
    return None, len(frame)


def _list_versions_of_itself(context: RequestContext, request: None) -> Response:
    """Say only which versions of ApiVersions there are; the client asks again.

    Never a close, and never a highest version at or above the one it sent: some
    clients then try again without end.
    """
    key = ApiVersion(
        api_key=ApiKey.API_VERSIONS,
        min_version=ApiVersionsRequest.min_version,
        max_version=ApiVersionsRequest.max_version,
    )
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[key])
