"""The cluster as one of its brokers describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.client.address import Address
from odradek.client.errors import raise_for
from odradek.client.quorum import Quorum, describe_quorum
from odradek.client.topics import describe_topics
from odradek.protocol.errors import ClusterAuthorizationFailed, UnsupportedVersion
from odradek.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from odradek.protocol.messages.cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)

from .view import FENCED, READY, BrokerView, ClusterView, FeatureView, PartitionView

if TYPE_CHECKING:
    from odradek.client.cluster import Cluster

_LAST_WITHOUT_FENCED = 1


def ask_brokers(cluster: Cluster) -> ClusterView:
    """What the brokers say; of the quorum only if they know of one, and we may ask.

    Raises:
        KafkaError, OSError: they cannot be asked.
    """
    shows_fenced = cluster.version_of(DescribeClusterRequest()) > _LAST_WITHOUT_FENCED
    request = DescribeClusterRequest(include_fenced_brokers=shows_fenced)
    described = cluster.request(request, DescribeClusterResponse)
    raise_for(described.error_code, described.error_message)
    topics = describe_topics(cluster)
    notes = [f"topic {name}: {error}" for name, error in topics.failed.items()]
    quorum: Quorum | None = None
    try:
        quorum = describe_quorum(cluster.request)
    except (ClusterAuthorizationFailed, UnsupportedVersion) as error:
        notes.append(f"the quorum is not shown: {error}")
    brokers = [
        BrokerView(
            each.broker_id,
            str(Address(each.host, each.port)),
            each.rack,
            FENCED if each.is_fenced else READY,
        )
        for each in sorted(described.brokers, key=lambda broker: broker.broker_id)
    ]
    partitions = [
        PartitionView(name, each.partition, each.leader, each.replicas, each.in_sync)
        for name, topic in sorted(topics.found.items())
        for each in topic.partitions
    ]
    return ClusterView(
        described.cluster_id,
        brokers,
        partitions,
        _features(cluster),
        quorum,
        notes=notes,
    )


def _features(cluster: Cluster) -> list[FeatureView]:
    """By name: what is agreed on, and what could be."""
    response = cluster.request(
        ApiVersionsRequest(client_software_name="odradek", client_software_version="1"),
        ApiVersionsResponse,
    )
    raise_for(response.error_code)
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    possible = {
        each.name: (each.min_version, each.max_version)
        for each in response.supported_features
    }
    return [
        FeatureView(name, levels.get(name, 0), possible.get(name))
        for name in sorted({*levels, *possible})
    ]
