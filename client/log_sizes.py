"""How large the logs of partitions are on their leaders' disks (KIP-113)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.messages.log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from odradek.protocol.topic_partition import TopicPartition

from .leaders import by_leader

if TYPE_CHECKING:
    from collections.abc import Collection

    from .cluster import Cluster


def log_sizes(
    cluster: Cluster, places: Collection[TopicPartition]
) -> dict[TopicPartition, int]:
    """Bytes of the logs, of those partitions whose leaders tell them.

    Who has no right to Describe on the cluster is told of none.

    Raises:
        KafkaError, OSError: a leader does not answer, or knows no such request.
    """
    sizes: dict[TopicPartition, int] = {}
    for node_id, led in by_leader(cluster, dict.fromkeys(places), {}).items():
        partitions: dict[str, list[int]] = {}
        for place in led:
            partitions.setdefault(place.topic, []).append(place.partition)
        request = DescribeLogDirsRequest(
            topics=[
                DescribableLogDirTopic(topic=topic, partitions=numbers)
                for topic, numbers in partitions.items()
            ]
        )
        answer = cluster.request(request, DescribeLogDirsResponse, node_id)
        for result in answer.results:
            for topic in result.topics:
                for each in topic.partitions:
                    if not each.is_future_key:
                        place = TopicPartition(topic.name, each.partition_index)
                        sizes[place] = each.partition_size
    return sizes
