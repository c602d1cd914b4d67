"""Producers as the logs of partitions know them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.messages.txn_admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeProducersTopic,
)
from odradek.protocol.topic_partition import TopicPartition

from .cluster import may_pass
from .errors import error_of
from .leaders import by_leader

if TYPE_CHECKING:
    from collections.abc import Collection

    from odradek.protocol.errors import KafkaError

    from .cluster import Cluster

_NONE = -1


class ActiveProducer(NamedTuple):
    """A producer in one partition; -1 for what there is not.

    ``start_offset`` is where its open transaction begins, None when it has none.
    """

    place: TopicPartition
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    start_offset: int | None


class Producers(NamedTuple):
    """What was found, and the partitions of which nothing can be said."""

    found: dict[TopicPartition, list[ActiveProducer]]
    failed: dict[TopicPartition, KafkaError]


def describe_producers(
    cluster: Cluster, places: Collection[TopicPartition]
) -> Producers:
    """Who writes to these partitions with a producer id, as their leaders know it."""
    producers = Producers({}, {})
    wanted = dict.fromkeys(places)
    for node_id, led in by_leader(cluster, wanted, producers.failed).items():
        topics: dict[str, list[int]] = {}
        for topic, partition in led:
            topics.setdefault(topic, []).append(partition)
        request = DescribeProducersRequest(
            topics=[
                DescribeProducersTopic(name=name, partition_indexes=numbers)
                for name, numbers in topics.items()
            ]
        )
        ask = partial(cluster.request, request, DescribeProducersResponse, node_id)
        for topic_found in cluster.retry.run(ask, may_pass).topics:
            for each in topic_found.partitions:
                place = TopicPartition(topic_found.name, each.partition_index)
                if each.error_code:
                    error = error_of(each.error_code, each.error_message)
                    producers.failed[place] = error
                    continue
                producers.found[place] = [
                    ActiveProducer(
                        place,
                        state.producer_id,
                        state.producer_epoch,
                        state.last_sequence,
                        state.last_timestamp,
                        state.coordinator_epoch,
                        _or_none(state.current_txn_start_offset),
                    )
                    for state in each.active_producers
                ]
    return producers


def _or_none(offset: int) -> int | None:
    return None if offset == _NONE else offset
