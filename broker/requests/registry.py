"""Which function answers which request, and which versions are offered.

A handler is registered where it is written:

    @handles(ListGroupsRequest, versions=(0, 5), needs=inside(group(DESCRIBE)))
    def handle_list_groups(ctx, request) -> ListGroupsResponse: ...

There is none without its needs (`needs`). It returns the response, or its body as
bytes or a list of buffers (done), a ``Parked`` or a future of it (its change is made,
only the answer waits) or a coroutine of one of these (the connection starts nothing
else until it ends), or ``NO_RESPONSE``. Versions that are advertised but not handled
are answered UNSUPPORTED_VERSION, with the builder that ``@answers_errors`` names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import RESPONSES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine

    from odradek.broker.runtime.parked import Parked
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.primitives import Buffer
    from odradek.protocol.schema import Request, Response

    from .context import ConnectionInfo
    from .needs import Needs
    from .short_ways import ShortWays

_GSSAPI_TOKEN = 0x60  # the first byte of a token (RFC 2743, section 3.1)

ErrorBuilder = Callable[[Any, "KafkaError"], "Response | None"]

RefusedReader = Callable[[memoryview, int], "tuple[Any, int]"]

_Maker = TypeVar("_Maker", bound=Callable[..., Any])
_Builder = TypeVar("_Builder", bound=Callable[..., Any])


class NoResponse:
    """The answer of a request that gets none, like a Produce with acks=0."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NO_RESPONSE"


NO_RESPONSE: Final = NoResponse()

# What is sent: a response, its body as bytes or buffers, or nothing.
Body: TypeAlias = "Response | bytes | list[Buffer] | NoResponse"
# What is changed is changed; perhaps the answer waits.
Settled: TypeAlias = "Body | Parked[Body]"
# What a handler returns: see above.
Answer: TypeAlias = "Settled | asyncio.Future[Settled] | Coroutine[Any, Any, Settled]"
# (ctx, request) -> answer. The type of the request is that of the registered message,
# which a callable type cannot say for all messages at once.
HandlerFunction = Callable[..., "Answer"]
_Function = TypeVar("_Function", bound=HandlerFunction)


class Handler(NamedTuple):
    """One registered API: what it reads, what it answers, who does it."""

    request_class: type[Request]
    response_class: type[Response]
    function: HandlerFunction
    min_version: int
    max_version: int
    advertised_min: int
    advertised_max: int
    needs: Needs

    def handles_version(self, version: int) -> bool:
        """Whether the function is called for requests of this version."""
        return self.min_version <= version <= self.max_version

    def advertises_version(self, version: int) -> bool:
        """Whether clients are told that this version works."""
        return self.advertised_min <= version <= self.advertised_max


class Offer(NamedTuple):
    """What clients are told of an API, and the modules that its requests need."""

    advertised_min: int
    advertised_max: int
    modules: tuple[str, ...]


# (services, version, whose it is) -> (connection, frame -> answer, or None)
Shortcut = Callable[["ConnectionInfo", memoryview], Any]
ShortcutMaker = Callable[[Any, int, "ShortWays"], Shortcut]

_handlers: dict[int, Handler] = {}
_error_builders: dict[type[Request], ErrorBuilder] = {}
_refused_readers: dict[type[Request], RefusedReader] = {}
_shortcuts: dict[type[Request], tuple[int, ShortcutMaker]] = {}


def handles(
    request_class: type[Request],
    *,
    versions: tuple[int, int],
    needs: Needs,
    advertised: tuple[int, int] | None = None,
) -> Callable[[_Function], _Function]:
    """Register the decorated function for ``versions`` of ``request_class``.

    ``advertised`` is what ApiVersions says, where it differs from ``versions``;
    ``needs`` is what the client must be allowed to do.
    """
    offered = advertised or versions

    def register(function: _Function) -> _Function:
        api_key = int(request_class.api_key)
        registered = _handlers.get(api_key)
        if registered is not None:
            raise ValueError(f"two handlers of API {api_key}: {registered.function}")
        _handlers[api_key] = Handler(
            request_class,
            RESPONSES[api_key],
            function,
            *versions,
            *offered,
            needs,
        )
        return function

    return register


def answers_errors(
    request_class: type[Request],
) -> Callable[[_Builder], _Builder]:
    """Register ``(request, error) -> response`` for when the whole request fails.

    Without one, the top-level error code of the response is filled, and a
    response that has none is not sent: the connection is closed instead.
    """

    def register(builder: _Builder) -> _Builder:
        _error_builders[request_class] = builder
        return builder

    return register


def reads_refused(
    request_class: type[Request],
) -> Callable[[_Builder], _Builder]:
    """Register ``(frame, position) -> (request, position)`` for refused versions.

    It reads the versions that are advertised but older than the message class
    knows, just enough of them for the error response.
    """

    def register(reader: _Builder) -> _Builder:
        _refused_readers[request_class] = reader
        return reader

    return register


def shortcut(
    request_class: type[Request], *, first_version: int
) -> Callable[[_Maker], _Maker]:
    """Register what makes, for services and a version, a short way to the answer.

    It is also told whose it is: what it remembers, ``ShortWays.admits`` must have let
    in. It is called with a whole frame before anything of it is decoded. When it
    returns None it has changed nothing, and the handler is called as for any other
    request.
    """

    def register(maker: _Maker) -> _Maker:
        _shortcuts[request_class] = first_version, maker
        return maker

    return register


def offers() -> dict[int, Offer]:
    """What was registered until now, as `make docs` notes it."""
    found = {}
    for api_key, handler in sorted(_handlers.items()):
        request_class = handler.request_class
        functions: list[Any] = [handler.function]
        functions += [
            registered[request_class]
            for registered in (_error_builders, _refused_readers)
            if request_class in registered
        ]
        if request_class in _shortcuts:
            functions.append(_shortcuts[request_class][1])
        modules = {".".join(each.__module__.split(".")[-2:]) for each in functions}
        found[api_key] = Offer(
            handler.advertised_min, handler.advertised_max, tuple(sorted(modules))
        )
    return found


def registered_handlers() -> dict[int, Handler]:
    """The handlers by API key. The registry itself, not a copy."""
    return _handlers


def unsupported(api_key: int) -> str:
    """What is wrong with a request for an API that nobody here answers."""
    if api_key >> 8 == _GSSAPI_TOKEN:
        return (
            "it logs in by SASL (GSSAPI, as before Kafka 0.10), and there is no "
            "authentication here: set security.protocol=PLAINTEXT in the client"
        )
    try:
        words = ApiKey(api_key).name.title().replace("_", "")
    except ValueError:
        return f"there is no API with key {api_key}: is it a Kafka client?"
    return f"{words} (API key {api_key}) is not supported"


def error_builder(request_class: type[Request]) -> ErrorBuilder | None:
    """The builder registered for ``request_class``, if there is one."""
    return _error_builders.get(request_class)


def refused_reader(request_class: type[Request]) -> RefusedReader | None:
    """The reader registered for refused versions, if there is one."""
    return _refused_readers.get(request_class)


def shortcut_maker(request_class: type[Request], version: int) -> ShortcutMaker | None:
    """What makes the short way for this version, if there is one."""
    first_version, maker = _shortcuts.get(request_class, (0, None))
    return maker if version >= first_version else None
