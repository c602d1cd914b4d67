"""Where leader epochs ended: what says whether offsets still mean the same records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.messages.list_offsets import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.protocol.topic_partition import TopicPartition

from .errors import error_of
from .leaders import SETTLE_S, ask_leaders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.protocol.errors import KafkaError

    from .cluster import Cluster

UNKNOWN = -1


class EpochEnd(NamedTuple):
    """The last epoch up to the one asked for, and its end; both -1 if unknown."""

    leader_epoch: int
    end_offset: int


class EpochEnds(NamedTuple):
    """What was found, and the partitions for which nothing can be said."""

    found: dict[TopicPartition, EpochEnd]
    failed: dict[TopicPartition, KafkaError]


def epoch_ends(
    cluster: Cluster,
    epochs: Mapping[TopicPartition, int],
    settle_s: float = SETTLE_S,
) -> EpochEnds:
    """Where the log of each partition's leader leaves the given epoch (KIP-320).

    Each leader is asked; where it is changing, again for ``settle_s``.
    """
    ends = EpochEnds({}, {})

    def ask(node_id: int, places: Mapping[TopicPartition, int]) -> None:
        _ask_leader(cluster, node_id, places, ends)

    ask_leaders(cluster, epochs, ends, ask, settle_s)
    return ends


def _ask_leader(
    cluster: Cluster,
    node_id: int,
    epochs: Mapping[TopicPartition, int],
    ends: EpochEnds,
) -> None:
    topics: dict[str, list[OffsetForLeaderPartition]] = {}
    for place, epoch in epochs.items():
        asked = OffsetForLeaderPartition(partition=place.partition, leader_epoch=epoch)
        topics.setdefault(place.topic, []).append(asked)
    request = OffsetForLeaderEpochRequest(
        topics=[
            OffsetForLeaderTopic(topic=name, partitions=partitions)
            for name, partitions in topics.items()
        ]
    )
    response = cluster.request(request, OffsetForLeaderEpochResponse, node_id)
    for topic in response.topics:
        for each in topic.partitions:
            place = TopicPartition(topic.topic, each.partition)
            if each.error_code:
                ends.failed[place] = error_of(each.error_code)
            else:
                ends.found[place] = EpochEnd(each.leader_epoch, each.end_offset)
