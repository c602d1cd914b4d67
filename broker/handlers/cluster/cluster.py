"""DescribeCluster 0-2 (KIP-700), and UnregisterBroker 0: there is one broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.handlers.authorized_operations import cluster_operations
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    BrokerIdNotRegistered,
    InvalidRequest,
    MismatchedEndpointType,
    UnsupportedEndpointType,
)
from odradek.protocol.messages.cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from odradek.protocol.messages.metadata import OPERATIONS_NOT_ASKED

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext

BROKERS = 1
CONTROLLERS = 2


@handles(DescribeClusterRequest, versions=(0, 2), needs=needs.NOTHING)
def handle_describe_cluster(
    ctx: RequestContext, request: DescribeClusterRequest
) -> DescribeClusterResponse:
    """Show this broker. Version 1 asks for brokers or controllers (KIP-919)."""
    if request.endpoint_type == CONTROLLERS:
        raise MismatchedEndpointType(
            "The request was sent to an endpoint of type BROKER, but we wanted an "
            "endpoint of type CONTROLLER"
        )
    if request.endpoint_type != BROKERS:
        raise UnsupportedEndpointType(
            f"There is no endpoint type {request.endpoint_type}; 1 are the brokers"
        )
    asked = request.include_cluster_authorized_operations
    services = ctx.services
    return DescribeClusterResponse(
        cluster_id=services.cluster_id,
        controller_id=services.node_id,
        brokers=[
            DescribeClusterBroker(broker_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in ctx.known_brokers()
        ],
        cluster_authorized_operations=cluster_operations(ctx)
        if asked
        else OPERATIONS_NOT_ASKED,
    )


@handles(
    UnregisterBrokerRequest,
    versions=(0, 0),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
def handle_unregister_broker(
    ctx: RequestContext, request: UnregisterBrokerRequest
) -> UnregisterBrokerResponse:
    """Refuse it: the broker that answers is the only one.

    Raises:
        BrokerIdNotRegistered: another broker is meant.
        InvalidRequest: this one is.
    """
    if request.broker_id != ctx.services.node_id:
        raise BrokerIdNotRegistered(
            f"Broker ID {request.broker_id} is not currently registered"
        )
    raise InvalidRequest(f"Broker {request.broker_id} runs: it is the one that answers")
