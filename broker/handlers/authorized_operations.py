"""What a client may do, as the bit field that some answers carry (KIP-430).

Without an authorizer everybody may do everything that the resource knows. With one it
is what the client may do of it, and who may not describe the cluster is told nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext


def _bits(*operations: Operation) -> int:
    return sum(1 << operation for operation in operations)


ALL_ON_TOPIC = _bits(
    Operation.READ,
    Operation.WRITE,
    Operation.CREATE,
    Operation.DELETE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
ALL_ON_GROUP = _bits(
    Operation.READ,
    Operation.DELETE,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
ALL_ON_CLUSTER = _bits(
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)


def cluster_operations(ctx: RequestContext) -> int:
    """What the client may do with the cluster."""
    if not ctx.sees(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        return 0
    return ctx.operations(ResourceType.CLUSTER, CLUSTER_NAME, ALL_ON_CLUSTER)
