"""Whether all brokers of a cluster are let in to clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.client.address import Address
from odradek.client.errors import raise_for
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.messages.cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)

from .finding import Finding

if TYPE_CHECKING:
    from odradek.client.connection import Connection

_FIRST_WITH_FENCED: Final = 2
_ADVICE: Final = (
    "The controllers keep clients away from a broker that they do not hear of: start"
    " it, or see its log, and its /readyz. odradek cluster describe shows what that"
    " leaves without enough replicas."
)


def fenced_brokers(target: str, connection: Connection) -> Finding | None:
    """Those that are registered and not let in. None: there are none, or nobody knows.

    Metadata do not have them: a client finds out when there is no leader.
    """
    versions = connection.api_versions.get(ApiKey.DESCRIBE_CLUSTER, (0, 0))
    if versions[1] < _FIRST_WITH_FENCED:
        return None
    request = DescribeClusterRequest(include_fenced_brokers=True)
    try:
        answer = connection.request(request, DescribeClusterResponse)
        raise_for(answer.error_code, answer.error_message)
    except (OSError, KafkaError, MalformedRequest):
        return None  # what else is asked of it will show that
    fenced = [
        f"broker {each.broker_id} ({Address(each.host, each.port)})"
        for each in sorted(answer.brokers, key=lambda broker: broker.broker_id)
        if each.is_fenced
    ]
    if not fenced:
        return None
    return Finding("brokers", target, False, f"fenced: {', '.join(fenced)}", _ADVICE)
