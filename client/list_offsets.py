"""Offsets by time: where partitions begin and end, and what came since a moment."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from protocol.errors import (
    FencedLeaderEpoch,
    KafkaError,
    LeaderNotAvailable,
    NetworkException,
    NotLeaderOrFollower,
    OffsetNotAvailable,
    UnknownLeaderEpoch,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from protocol.topic_partition import TopicPartition

from .errors import error_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .cluster import Cluster

LATEST = -1
EARLIEST = -2
NO_OFFSET = -1
READ_UNCOMMITTED = 0
READ_COMMITTED = 1
_CONSUMER = -1
_SETTLE_S = 3.0
_PASSING = (
    LeaderNotAvailable,
    NotLeaderOrFollower,
    FencedLeaderEpoch,
    UnknownLeaderEpoch,
    OffsetNotAvailable,
    NetworkException,
)


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


class _Unsettled(Exception):
    """Partitions whose leader may be another one soon."""


def list_offsets(
    cluster: Cluster,
    wanted: Mapping[TopicPartition, int],
    settle_s: float = _SETTLE_S,
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

    def ask_for_rest() -> None:
        rest = {
            place: time for place, time in wanted.items() if place not in listing.found
        }
        listing.failed.clear()
        for node_id, places in _by_leader(cluster, rest, listing).items():
            try:
                request = _request(places, isolation_level, cluster.timeout_s)
                _ask_leader(cluster, node_id, request, listing)
            except OSError as error:
                for place in places:
                    listing.failed[place] = NetworkException(str(error))
        if any(isinstance(error, _PASSING) for error in listing.failed.values()):
            raise _Unsettled

    # In the end what is known is known, and the rest has its error.
    with suppress(_Unsettled):
        cluster.retry.run(
            ask_for_rest, lambda error: isinstance(error, _Unsettled), settle_s
        )
    return listing


def _by_leader(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], listing: Listing
) -> dict[int, dict[TopicPartition, int]]:
    if not wanted:
        return {}
    metadata = cluster.metadata(sorted({place.topic for place in wanted}))
    leaders: dict[int, dict[TopicPartition, int]] = {}
    for place, time in wanted.items():
        try:
            leaders.setdefault(metadata.leader_of(place), {})[place] = time
        except KafkaError as error:
            listing.failed[place] = error
    return leaders


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
