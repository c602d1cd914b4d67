"""What of a Fetch has to do with the other brokers of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.replica.partition.fetch_reader import HELD_BACK
from odradek.protocol.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from odradek.broker.cluster.throttles import Throttle
    from odradek.broker.replica.partition.fetch_reader import (
        FetchResult,
        PartitionFetch,
    )
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.requests.context import RequestContext
    from odradek.protocol.messages.fetch import PartitionData
    from odradek.protocol.topic_partition import TopicPartition

    Find = Callable[[TopicPartition], Partition]


def slowed_down(
    throttle: Throttle, find: Find, wanted: list[PartitionFetch], broker_id: int
) -> list[PartitionFetch]:
    """What a follower may have now: while too much was sent, only what is in sync."""
    if not throttle.is_exceeded:
        return wanted
    late = [
        each.topic_partition
        for each in wanted
        if not each.refusal
        and throttle.names(each.topic_partition)
        and broker_id not in find(each.topic_partition).leadership.replicas.in_sync
    ]
    return held_back(wanted, frozenset(late)) if late else wanted


def held_back(
    wanted: Iterable[PartitionFetch], partitions: Container[TopicPartition]
) -> list[PartitionFetch]:
    """The same, but that nothing is read of these ``partitions``."""
    return [
        each._replace(refusal=HELD_BACK) if each.topic_partition in partitions else each
        for each in wanted
    ]


def count_sent(
    throttle: Throttle,
    wanted: Sequence[PartitionFetch],
    results: Sequence[FetchResult],
    broker_id: int,
) -> None:
    """A follower gets these results."""
    slowed_down_size = 0
    for each, result in zip(wanted, results, strict=True):
        size = len(result.records)
        if size:
            throttle.copied.record(each.topic_partition, broker_id, size)
            if throttle.is_on and throttle.names(each.topic_partition):
                slowed_down_size += size
    if slowed_down_size:
        throttle.record(slowed_down_size)


def preferred_replicas(
    ctx: RequestContext, rack: str, wanted: Iterable[PartitionFetch]
) -> dict[TopicPartition, int]:
    """Of these partitions, which a consumer in that rack has other replicas near of."""
    cluster = ctx.services.cluster
    if cluster is None or cluster.read_replicas is None:
        return {}
    select, find = (
        cluster.read_replicas.preferred,
        ctx.services.replica_manager.partition,
    )
    preferred = {}
    for each in wanted:
        if each.refusal:
            continue
        try:
            partition = find(each.topic_partition)
        except KafkaError:
            continue  # the read will say so
        found = select(cluster, ctx.listener_name, rack, partition, each.fetch_offset)
        if found is not None:
            preferred[each.topic_partition] = found
    return preferred


def name_preferred(
    topics: Mapping[str, Iterable[PartitionData]],
    preferred: Mapping[TopicPartition, int],
) -> None:
    """Say in an answer whom to ask instead."""
    for (name, partition), broker_id in preferred.items():
        for data in topics.get(name, ()):
            if data.partition_index == partition and not data.error_code:
                data.preferred_read_replica = broker_id
