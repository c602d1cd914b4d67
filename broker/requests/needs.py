"""What a request needs of its principal, declared beside the handler of its API.

    needs=before(group(READ, "group_id"))            of the field that names it
    needs=before(cluster(ALTER))                     of the cluster
    needs=inside(transactional_id(WRITE), topic(WRITE))

What is needed ``before`` is asked when the handler is not called yet, and a denial is
the answer to all of the request. What is needed ``inside`` the handler asks itself
(``RequestContext.may``), for each of the names that the request has. Without an
authorizer nothing of this is called.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import (
    ClusterAuthorizationFailed,
    DelegationTokenAuthorizationFailed,
    GroupAuthorizationFailed,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
)

if TYPE_CHECKING:
    from odradek.protocol.errors import KafkaError

    from .context import RequestContext
    from .registry import Answer, HandlerFunction

DENIED: Final[dict[int, type[KafkaError]]] = {
    ResourceType.TOPIC: TopicAuthorizationFailed,
    ResourceType.GROUP: GroupAuthorizationFailed,
    ResourceType.CLUSTER: ClusterAuthorizationFailed,
    ResourceType.TRANSACTIONAL_ID: TransactionalIdAuthorizationFailed,
    ResourceType.DELEGATION_TOKEN: DelegationTokenAuthorizationFailed,
    ResourceType.USER: DelegationTokenAuthorizationFailed,
}
"""The error of who may not do something to a resource of this type."""


class Need(NamedTuple):
    """One operation on resources of one type.

    ``field`` of the request names the resource, where that is asked before the
    handler; the cluster has its name. ``otherwise`` is an operation that will do, too.
    """

    operation: Operation
    resource_type: ResourceType
    field: str = ""
    otherwise: Operation | None = None


class Needs(NamedTuple):
    """What an API needs; all of ``before``, and what the handler asks ``inside``."""

    before: tuple[Need, ...] = ()
    inside: tuple[Need, ...] = ()


NOTHING: Final = Needs()
"""Of an API that answers everybody."""


def before(*needs: Need) -> Needs:
    """All of these are asked before the handler is called."""
    return Needs(before=needs)


def inside(*needs: Need) -> Needs:
    """The handler asks for these."""
    return Needs(inside=needs)


def topic(operation: Operation) -> Need:
    """An operation on topics."""
    return Need(operation, ResourceType.TOPIC)


def group(operation: Operation, field: str = "") -> Need:
    """An operation on groups."""
    return Need(operation, ResourceType.GROUP, field)


def cluster(operation: Operation, otherwise: Operation | None = None) -> Need:
    """An operation on the cluster."""
    return Need(operation, ResourceType.CLUSTER, otherwise=otherwise)


def transactional_id(operation: Operation, field: str = "") -> Need:
    """An operation on transactional ids."""
    return Need(operation, ResourceType.TRANSACTIONAL_ID, field)


def user(operation: Operation) -> Need:
    """An operation on principals, by names like User:alice."""
    return Need(operation, ResourceType.USER)


def delegation_token(operation: Operation) -> Need:
    """An operation on delegation tokens, by their ids."""
    return Need(operation, ResourceType.DELEGATION_TOKEN)


def guarded(function: HandlerFunction, needs: Needs) -> HandlerFunction:
    """The handler ``function``, behind what is asked before it."""
    if not needs.before:
        return function

    @wraps(function)
    def handle(context: RequestContext, request: Any) -> Answer:
        for need in needs.before:
            operation, kind, field, otherwise = need
            name = getattr(request, field) if field else CLUSTER_NAME
            if otherwise is None or not context.sees(otherwise, kind, name):
                context.require(operation, kind, name)
        return function(context, request)

    return handle
