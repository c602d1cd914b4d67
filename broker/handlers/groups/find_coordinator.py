"""FindCoordinator: which broker coordinates a group, a transaction, a share partition.

There is one broker, which coordinates everything; whoever asks first has the topic
made that the coordinator's records go into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    InvalidRequest,
    KafkaError,
)
from odradek.protocol.messages.groups import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from odradek.broker.cluster.view import ClusterView
    from odradek.broker.coordinator.group.service import GroupCoordinator
    from odradek.broker.coordinator.share.service import ShareCoordinator
    from odradek.broker.coordinator.transaction.service import TransactionCoordinator
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer

    Found = GroupCoordinator | TransactionCoordinator | ShareCoordinator

FIRST_VERSION_WITH_MANY_KEYS = 4
FIRST_VERSION_WITH_SHARES = 6
GROUP, TRANSACTION, SHARE = 0, 1, 2
_SECURED = {
    GROUP: ResourceType.GROUP,
    TRANSACTION: ResourceType.TRANSACTIONAL_ID,
}
NOWHERE = -1


@handles(
    FindCoordinatorRequest,
    versions=(0, 6),
    needs=needs.inside(
        needs.group(Operation.DESCRIBE),
        needs.transactional_id(Operation.DESCRIBE),
        needs.cluster(Operation.CLUSTER_ACTION),
    ),
)
def handle_find_coordinator(
    ctx: RequestContext, request: FindCoordinatorRequest
) -> Answer:
    """Say for each key that it is here, or why it is nowhere."""
    coordinator: Found
    if request.key_type == GROUP:
        coordinator = ctx.services.groups
    elif request.key_type == TRANSACTION:
        coordinator = ctx.services.transactions
    elif request.key_type == SHARE and ctx.api_version >= FIRST_VERSION_WITH_SHARES:
        ctx.require(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
        if all(_what_is_wrong(key) for key in request.coordinator_keys):
            return _answer(ctx, request, None)
        coordinator = ctx.services.share_states
    else:
        error = InvalidRequest(
            f"there are no coordinators of key type {request.key_type}"
        )
        return _answer(ctx, request, error)
    if coordinator.has_topic:
        return _answer(ctx, request, None)
    return _make_and_answer(ctx, request, coordinator)


async def _make_and_answer(
    ctx: RequestContext,
    request: FindCoordinatorRequest,
    coordinator: Found,
) -> FindCoordinatorResponse:
    try:
        await coordinator.create_topic()
    except KafkaError:
        return _answer(ctx, request, CoordinatorNotAvailable())
    return _answer(ctx, request, None)


def _answer(
    ctx: RequestContext, request: FindCoordinatorRequest, error: KafkaError | None
) -> FindCoordinatorResponse:
    if ctx.api_version >= FIRST_VERSION_WITH_MANY_KEYS:
        return FindCoordinatorResponse(
            coordinators=[
                _coordinator(ctx, key, error, request.key_type)
                for key in request.coordinator_keys
            ]
        )
    found = _coordinator(ctx, request.key, error, request.key_type)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        # Kafka spells success out here, and nowhere else.
        error_message=found.error_message or "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _what_is_wrong(key: str) -> KafkaError | None:
    from odradek.broker.coordinator.share.state import ShareKey  # few ask for one

    try:
        ShareKey.parse(key)
    except InvalidRequest as error:
        return error
    return None


def _coordinator(
    ctx: RequestContext, key: str, error: KafkaError | None, key_type: int
) -> Coordinator:
    resource_type = _SECURED.get(key_type)
    if resource_type is not None and not ctx.may(
        Operation.DESCRIBE, resource_type, key
    ):
        error = needs.DENIED[resource_type]()
    if key_type == SHARE and error is None:
        error = _what_is_wrong(key)
    if error is not None:
        return Coordinator(
            key=key,
            node_id=NOWHERE,
            port=NOWHERE,
            error_code=error.code,
            error_message=str(error),
        )
    if ctx.services.cluster is not None:
        return _of_cluster(ctx, ctx.services.cluster, key, key_type)
    host, port = ctx.advertised_address
    return Coordinator(
        key=key,
        node_id=ctx.services.node_id,
        host=host,
        port=port,
        error_code=ErrorCode.NONE,
        error_message="",
    )


def _of_cluster(
    ctx: RequestContext, cluster: ClusterView, key: str, key_type: int
) -> Coordinator:
    """Where the partition is led that has the records of ``key``."""
    services = ctx.services
    broker = None
    try:
        if key_type == GROUP:
            place = services.groups.partition_of(key)
        elif key_type == TRANSACTION:
            place = services.transactions.partition_of(key)
        else:
            from odradek.broker.coordinator.share.state import ShareKey

            place = services.share_states.partition_of(ShareKey.parse(key))
        topic = services.metadata.known(place.topic)
        placed = cluster.placed(topic.topic_id, place.partition)
        if placed is not None:
            broker = cluster.broker(placed.leader, ctx.listener_name)
    except KafkaError:
        broker = None
    if broker is None:
        error = CoordinatorNotAvailable()
        return Coordinator(
            key=key,
            node_id=NOWHERE,
            port=NOWHERE,
            error_code=error.code,
            error_message=str(error),
        )
    return Coordinator(
        key=key,
        node_id=broker.broker_id,
        host=broker.host,
        port=broker.port,
        error_code=ErrorCode.NONE,
        error_message="",
    )
