"""Where leader epochs ended: what says whether offsets still mean the same records."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from protocol.errors import (
    FencedLeaderEpoch,
    KafkaError,
    LeaderNotAvailable,
    NetworkException,
    NotLeaderOrFollower,
    UnknownLeaderEpoch,
)
from protocol.messages.list_offsets import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from protocol.topic_partition import TopicPartition

from .errors import error_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .cluster import Cluster

UNKNOWN = -1
_SETTLE_S = 3.0
_PASSING = (
    LeaderNotAvailable,
    NotLeaderOrFollower,
    FencedLeaderEpoch,
    UnknownLeaderEpoch,
    NetworkException,
)


class EpochEnd(NamedTuple):
    """The last epoch up to the one asked for, and its end; both -1 if unknown."""

    leader_epoch: int
    end_offset: int


class EpochEnds(NamedTuple):
    """What was found, and the partitions for which nothing can be said."""

    found: dict[TopicPartition, EpochEnd]
    failed: dict[TopicPartition, KafkaError]


class _Unsettled(Exception):
    """Partitions whose leader may be another one soon."""


def epoch_ends(
    cluster: Cluster,
    epochs: Mapping[TopicPartition, int],
    settle_s: float = _SETTLE_S,
) -> EpochEnds:
    """Where the log of each partition's leader leaves the given epoch (KIP-320).

    Each leader is asked; where it is changing, again for ``settle_s``.
    """
    ends = EpochEnds({}, {})

    def ask_for_rest() -> None:
        rest = {place: n for place, n in epochs.items() if place not in ends.found}
        ends.failed.clear()
        for node_id, places in _by_leader(cluster, rest, ends).items():
            try:
                _ask_leader(cluster, node_id, places, ends)
            except OSError as error:
                for place in places:
                    ends.failed[place] = NetworkException(str(error))
        if any(isinstance(error, _PASSING) for error in ends.failed.values()):
            raise _Unsettled

    # In the end what is known is known, and the rest has its error.
    with suppress(_Unsettled):
        cluster.retry.run(
            ask_for_rest, lambda error: isinstance(error, _Unsettled), settle_s
        )
    return ends


def _by_leader(
    cluster: Cluster, epochs: Mapping[TopicPartition, int], ends: EpochEnds
) -> dict[int, dict[TopicPartition, int]]:
    if not epochs:
        return {}
    metadata = cluster.metadata(sorted({place.topic for place in epochs}))
    leaders: dict[int, dict[TopicPartition, int]] = {}
    for place, epoch in epochs.items():
        try:
            leaders.setdefault(metadata.leader_of(place), {})[place] = epoch
        except KafkaError as error:
            ends.failed[place] = error
    return leaders


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
