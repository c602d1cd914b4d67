from typing import Any

import pytest

from odradek.broker.handlers import load
from odradek.broker.requests import needs
from odradek.broker.requests.context import ConnectionInfo, RequestContext
from odradek.broker.requests.registry import registered_handlers
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ClusterAuthorizationFailed, GroupAuthorizationFailed
from odradek.protocol.messages.groups import HeartbeatRequest
from tests.fakes.access import GROUP, entry, fake_authorizer

CLUSTER = ResourceType.CLUSTER
# Of these Apache Kafka asks nothing either: a token knows who may renew it.
FREE = {
    ApiKey.API_VERSIONS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
    ApiKey.PUSH_TELEMETRY,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
}


def test_every_api_but_these_needs_something() -> None:
    load()
    free = {
        key
        for key, handler in registered_handlers().items()
        if handler.needs == needs.NOTHING
    }
    assert free == FREE


def test_what_is_asked_before_names_a_field_that_the_request_has() -> None:
    load()
    for handler in registered_handlers().values():
        for need in handler.needs.before:
            is_cluster = need.resource_type is CLUSTER
            assert is_cluster or hasattr(handler.request_class(), need.field)


def asked(guard: needs.Needs, *entries: Any) -> Any:
    authorizer, _ = fake_authorizer(*entries)
    services: Any = type("Services", (), {"authorizer": authorizer})()
    connection = ConnectionInfo(principal="User:alice")
    ctx = RequestContext(services, connection, ApiKey.HEARTBEAT, 4)
    handle = needs.guarded(lambda ctx, request: "answer", guard)
    return handle(ctx, HeartbeatRequest(group_id="g"))


def test_who_may_gets_the_answer_and_who_may_not_the_error_of_the_type() -> None:
    guard = needs.before(needs.group(Operation.READ, "group_id"))
    assert asked(guard, entry(Operation.READ, "g", kind=GROUP)) == "answer"
    with pytest.raises(GroupAuthorizationFailed):
        asked(guard, entry(Operation.READ, "other", kind=GROUP))


def test_one_of_two_operations_will_do() -> None:
    guard = needs.before(
        needs.cluster(Operation.ALTER, otherwise=Operation.CLUSTER_ACTION)
    )
    for operation in (Operation.ALTER, Operation.CLUSTER_ACTION):
        allow = entry(operation, "kafka-cluster", kind=CLUSTER)
        assert asked(guard, allow) == "answer"
    with pytest.raises(ClusterAuthorizationFailed):
        asked(guard)


def test_what_asks_inside_has_no_guard() -> None:
    def handle(ctx: Any, request: Any) -> Any: ...

    assert needs.guarded(handle, needs.inside(needs.topic(Operation.READ))) is handle
