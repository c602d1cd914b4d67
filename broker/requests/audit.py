"""The audit log: who changed what, and what was refused; one event a line.

Logger ``odradek.audit``. The events of requests that change topics, options, groups,
users, tokens or quotas, and of topics that were made because somebody asked for them,
carry ``api``, ``principal``, ``client``, ``address``, ``request`` and, where something
was refused, ``refused``. Secrets are not in them: bytes are told by their length, the
values of sensitive options not at all.
"""

from __future__ import annotations

import inspect
import logging
import re
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from odradek.broker.runtime.parked import Parked
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode, KafkaError, MalformedRequest
from odradek.protocol.schema import Struct
from odradek.protocol.uuids import ZERO_UUID, to_text

from .context import NOBODY

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from odradek.broker.metadata.topic import NewTopic
    from odradek.broker.requests.context import RequestContext
    from odradek.protocol.schema import Request, Response

    from .registry import Answer, Body, Settled

    HandlerFunction = Callable[[RequestContext, Any], Answer]

AUDITED = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.DELETE_RECORDS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.DELETE_GROUPS,
        ApiKey.OFFSET_DELETE,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.ELECT_LEADERS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
    }
)
# Coordinators of other brokers ask it for every transaction.
_OF_BROKERS = frozenset({ApiKey.WRITE_TXN_MARKERS})
AUTO_CREATED = "AutoCreateTopics"  # stands where the name of an API would
# Parts of words: a misspelt secret (ssl.key.pasword) is refused, and one all the same.
_SECRET = re.compile(
    r"pas|pwd|wor|secr|jaas|tok|cred|priv|certificate|ssl\.k\w*\.k", re.IGNORECASE
)
_LIST_MAX = 20
_OPERATOR = "operator"  # no user of the broker, so of no type
_UNREAD = "an answer that cannot be read"

_logger = logging.getLogger("odradek.audit")


def with_audit(
    api_key: int,
    function: HandlerFunction,
    response_class: type[Response],
    *,
    is_alone: bool,
) -> HandlerFunction:
    """The handler ``function``, audited if its API is. ``is_alone``: in no cluster."""
    if api_key not in AUDITED:
        return function
    noted = audited(function, response_class)
    return noted if is_alone or api_key not in _OF_BROKERS else _but_of(noted, function)


def _but_of(noted: HandlerFunction, function: HandlerFunction) -> HandlerFunction:
    """``noted``, and ``function`` for who may act as a broker of the cluster."""

    @wraps(function)
    def handle(context: RequestContext, request: Request) -> Answer:
        authorizer, asker = context.services.authorizer, context.connection
        is_broker = authorizer is None or authorizer.access_of(
            asker.principal, asker.peer_host
        ).may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
        return (function if is_broker else noted)(context, request)

    return handle


def audited(
    function: HandlerFunction, response_class: type[Response]
) -> HandlerFunction:
    """The handler ``function``, whose answers are noted when they are there.

    They may be the bytes of a ``response_class``, as somebody else has made them.
    """

    @wraps(function)
    def handle(context: RequestContext, request: Request) -> Answer:
        try:
            answer = function(context, request)
        except KafkaError as error:
            _note(context, request, [ErrorCode(error.code).name])
            raise
        if inspect.iscoroutine(answer):
            return _after(answer, context, request, response_class)
        if isinstance(answer, Parked):
            told = Parked()

            def note(done: Parked) -> None:
                if done.error is None:
                    _note(context, request, _refusals(done.result()))
                told.follow(done)

            answer.listen(note)
            return told
        _note(context, request, _refusals(answer))
        return answer

    return handle


async def _after(
    answering: Coroutine[Any, Any, Settled],
    context: RequestContext,
    request: Request,
    response_class: type[Response],
) -> Body:
    try:
        answer = await answering
        if isinstance(answer, Parked):
            answer = await answer
    except KafkaError as error:
        _note(context, request, [ErrorCode(error.code).name])
        raise
    told: Any = answer
    if isinstance(answer, bytes):
        read = decoder(response_class, context.api_version)
        try:
            told, _ = read(memoryview(answer), 0)
        except MalformedRequest:  # what was changed is changed: the client may read it
            _note(context, request, [_UNREAD])
            return answer
    _note(context, request, _refusals(told))
    return answer


class _Asker(Protocol):
    """Who wants a change, from where."""

    @property
    def client_id(self) -> str | None: ...

    @property
    def principal(self) -> str: ...

    @property
    def peer_host(self) -> str: ...


class _Operator(NamedTuple):
    """Whoever may use the admin socket of a data directory."""

    client_id: str | None = "odradek"
    principal: str = _OPERATOR
    peer_host: str = "admin.sock"


def note_of_operator(request: Request, error: KafkaError | None) -> None:
    """Something was changed, or not, by a command of who runs the broker."""
    refused = [] if error is None else [ErrorCode(error.code).name]
    api = type(request).__name__.removesuffix("Request")
    _write(_Operator(), api, _told(request), refused)


def note_auto_created(context: RequestContext, new: Sequence[NewTopic]) -> None:
    """Topics were made because a client asked for them, by whatever request."""
    topics = [
        {"name": each.name, "num_partitions": each.partition_count} for each in new
    ]
    _write(context, AUTO_CREATED, {"topics": topics}, [])


def _note(context: RequestContext, request: Request, refused: list[str]) -> None:
    api = type(request).__name__.removesuffix("Request")
    _write(context, api, _told(request), refused)


def _write(
    context: _Asker, api: str, asked: dict[str, Any], refused: list[str]
) -> None:
    outcome = f"refused ({', '.join(refused)})" if refused else "done"
    who = context.client_id or "a client"
    if context.principal not in (NOBODY, _OPERATOR):
        who = f"{context.principal} ({who})"
    extra: dict[str, Any] = {
        "api": api,
        "principal": context.principal,
        "client": context.client_id,
        "address": context.peer_host,
        "request": asked,
    }
    if refused:
        extra["refused"] = refused
    _logger.info(
        "%s by %s at %s %s: %s",
        api,
        who,
        context.peer_host,
        outcome,
        _in_words(asked),
        extra=extra,
    )


def _in_words(value: Any) -> str:
    """What was asked, for people: names and values, what is inside in parentheses."""
    if isinstance(value, dict):
        return ", ".join(
            f"{name.replace('_', ' ')} {_nested(each)}"
            for name, each in value.items()
            if each is not False
        )
    if isinstance(value, list):
        return ", ".join(map(_nested, value))
    return "yes" if value is True else str(value)


def _nested(value: Any) -> str:
    words = _in_words(value)
    return f"({words})" if isinstance(value, dict) else words


def _told(value: Any) -> Any:
    """A value of a request as JSON has it; long lists are cut."""
    if isinstance(value, Struct):
        told = {}
        for field in value.fields:
            inner = getattr(value, field.name)
            if inner not in (None, [], "", ZERO_UUID):
                is_uuid = field.kind == "uuid"
                told[field.name] = to_text(inner) if is_uuid else _told(inner)
        if "value" in told and _is_secret(str(told.get("name", ""))):
            told["value"] = "hidden"
        return told
    if isinstance(value, list):
        told_list = [_told(each) for each in value[:_LIST_MAX]]
        more = len(value) - _LIST_MAX
        return [*told_list, f"{more} more"] if more > 0 else told_list
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(value)} bytes"
    return value


def _is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None


def _refusals(value: Any) -> list[str]:
    """The names of the errors anywhere in a response, each once."""
    found: dict[str, None] = {}
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, Struct):
            for field in each.fields:
                inner = getattr(each, field.name)
                if field.name == "error_code" and inner:
                    found[ErrorCode(inner).name] = None
                elif isinstance(inner, list | Struct):
                    waiting.append(inner)
    return sorted(found)
