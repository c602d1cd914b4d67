"""Deleting the oldest records of partitions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.protocol.topic_partition import TopicPartition

from .cluster import may_pass
from .errors import error_of
from .leaders import by_leader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.protocol.errors import KafkaError

    from .cluster import Cluster

HIGH_WATERMARK = -1


class Deletion(NamedTuple):
    """Where partitions begin now, and those of which nothing was deleted."""

    log_starts: dict[TopicPartition, int]
    failed: dict[TopicPartition, KafkaError]


def delete_records(cluster: Cluster, before: Mapping[TopicPartition, int]) -> Deletion:
    """Forget the records before an offset, or `HIGH_WATERMARK` for all there are."""
    deletion = Deletion({}, {})
    for node_id, led in by_leader(cluster, before, deletion.failed).items():
        topics: dict[str, list[DeleteRecordsPartition]] = {}
        for place, offset in led.items():
            partition = DeleteRecordsPartition(
                partition_index=place.partition, offset=offset
            )
            topics.setdefault(place.topic, []).append(partition)
        request = DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(name=name, partitions=partitions)
                for name, partitions in topics.items()
            ],
            timeout_ms=int(cluster.timeout_s * 1000),
        )
        ask = partial(cluster.request, request, DeleteRecordsResponse, node_id)
        for topic in cluster.retry.run(ask, may_pass).topics:
            for each in topic.partitions:
                place = TopicPartition(topic.name, each.partition_index)
                if each.error_code:
                    deletion.failed[place] = error_of(each.error_code)
                else:
                    deletion.log_starts[place] = each.low_watermark
    return deletion
