"""Offsets by time: where partitions begin and end, and what came since a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import KafkaError, OffsetNotAvailable
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.protocol.topic_partition import TopicPartition

from .errors import error_of
from .leaders import PASSING, SETTLE_S, ask_leaders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .cluster import Cluster

LATEST = -1
EARLIEST = -2
NO_OFFSET = -1
READ_UNCOMMITTED = 0
READ_COMMITTED = 1
_CONSUMER = -1
_PASSING = (*PASSING, OffsetNotAvailable)


class ListedOffset(NamedTuple):
    """An offset, with time and leader epoch of its record; -1 for what there is not.

    The epoch of the latest offset is the one in which the leader writes now.
    """

    offset: int
    timestamp_ms: int
    leader_epoch: int = -1


class Listing(NamedTuple):
    """What was found, and the partitions for which nothing can be said."""

    found: dict[TopicPartition, ListedOffset]
    failed: dict[TopicPartition, KafkaError]


def list_offsets(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, int],
    settle_s: float = SETTLE_S,
    *,
    committed: bool = False,
) -> Listing:
    """The first offset at or after a time in ms, or `EARLIEST` or `LATEST`.

    The latest is the high watermark, or the last stable offset for who reads what is
    ``committed`` only. Each partition's leader is asked; where the leader is
    changing, or none is there, again for ``settle_s``.
    """
    listing = Listing({}, {})
    isolation_level = READ_COMMITTED if committed else READ_UNCOMMITTED

    def ask(node_id: int, places: Mapping[TopicPartition, int]) -> None:
        request = _request(places, isolation_level, cluster.timeout_s)
        _ask_leader(cluster, node_id, request, listing)

    ask_leaders(cluster, wanted, listing, ask, settle_s, _PASSING)
    return listing


def _request(
    wanted: Mapping[TopicPartition, int], isolation_level: int, timeout_s: float
) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for place, time in wanted.items():
        asked = ListOffsetsPartition(partition_index=place.partition, timestamp=time)
        topics.setdefault(place.topic, []).append(asked)
    return ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=isolation_level,
        topics=[
            ListOffsetsTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
        timeout_ms=int(timeout_s * 1000),
    )


def _ask_leader(
    cluster: Cluster, node_id: int, request: ListOffsetsRequest, listing: Listing
) -> None:
    response = cluster.request(request, ListOffsetsResponse, node_id)
    for topic in response.topics:
        for each in topic.partitions:
            place = TopicPartition(topic.name, each.partition_index)
            if each.error_code:
                listing.failed[place] = error_of(each.error_code)
            else:
                listing.found[place] = ListedOffset(
                    each.offset, each.timestamp, each.leader_epoch
                )
