"""ListConfigResources 0-1: everything that has options (KIP-1142)."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from odradek.broker.metadata.resource_options import ResourceKind
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol import acls
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.messages.config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.requests.context import RequestContext


class ResourceType(IntEnum):
    """What can have options, numbered as on the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


FIRST_VERSION_WITH_TYPES = 1
_SECURED: dict[int, acls.ResourceType] = {
    ResourceType.TOPIC: acls.ResourceType.TOPIC,
    ResourceType.GROUP: acls.ResourceType.GROUP,
}
# In the order in which Apache Kafka lists them.
_LISTED = (
    ResourceType.GROUP,
    ResourceType.CLIENT_METRICS,
    ResourceType.BROKER_LOGGER,
    ResourceType.BROKER,
    ResourceType.TOPIC,
)


@handles(
    ListConfigResourcesRequest,
    versions=(0, 1),
    needs=needs.before(needs.cluster(acls.Operation.DESCRIBE_CONFIGS)),
)
def handle_list_config_resources(
    ctx: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    """The names of what has options, or can have some.

    Raises:
        UnsupportedVersion: a type that does not exist.
    """
    wanted = set(request.resource_types) or set(_LISTED)
    if ctx.api_version < FIRST_VERSION_WITH_TYPES:
        wanted = {ResourceType.CLIENT_METRICS}
    if wanted.difference(_LISTED):
        raise UnsupportedVersion("There is no such type of resources")
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in _LISTED
            if kind in wanted
            for name in _names(ctx, kind)
        ]
    )


def secured(kind: int, name: str) -> tuple[int, str]:
    """The type and the name by which lists say who may see or change the options."""
    found = _SECURED.get(kind)
    if found is None:
        return acls.ResourceType.CLUSTER, acls.CLUSTER_NAME
    return found, name


def _names(ctx: RequestContext, kind: ResourceType) -> Iterable[str]:
    services = ctx.services
    match kind:
        case ResourceType.TOPIC:
            return [topic.name for topic in services.metadata]
        case ResourceType.GROUP:
            return [name for name, _ in services.resources.all_of(ResourceKind.GROUP)]
        case ResourceType.CLIENT_METRICS:
            subscriptions = services.resources.all_of(ResourceKind.CLIENT_METRICS)
            return [name for name, _ in subscriptions]
    return [str(broker_id) for broker_id, *_ in ctx.known_brokers()]
