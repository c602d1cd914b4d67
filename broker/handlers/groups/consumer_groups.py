"""ConsumerGroupHeartbeat 0-1: groups of the consumer protocol (KIP-848) are not there.

Apache Kafka offers the API even where the protocol is turned off, and refuses it. Were
version 1 not offered, librdkafka would wait for it without a word; refused, every
client says what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.acls import Operation
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext

_REMEDY = "set group.protocol=classic in the client"


@handles(
    ConsumerGroupHeartbeatRequest,
    versions=(0, 1),
    needs=needs.before(needs.group(Operation.READ, "group_id")),
)
def handle_consumer_group_heartbeat(
    ctx: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    """Tell the log who wanted to join which group.

    Raises:
        UnsupportedVersion: always.
    """
    connection = ctx.connection
    ctx.services.client_log.warn_once(
        ("KIP-848", connection.peer_host, connection.peer_port, ctx.client_id),
        f"{ctx.client} wants to join group {request.group_id} by the consumer protocol "
        f"(KIP-848), which this broker does not have: {_REMEDY}",
    )
    raise UnsupportedVersion(
        f"This broker does not have the consumer protocol (KIP-848): {_REMEDY}"
    )
