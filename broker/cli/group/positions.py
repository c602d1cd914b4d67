"""Where a group goes on to read: what it has committed, or where it begins to share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from odradek.client.group_offsets import (
    commit_offsets,
    committed_offsets,
    delete_offsets,
)
from odradek.client.groups import CLASSIC, SHARE, describe_group
from odradek.protocol.errors import GroupIdNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from odradek.client.cluster import Cluster
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.topic_partition import TopicPartition

    Offsets = Mapping[TopicPartition, int]
    Refusals = Mapping[TopicPartition, KafkaError]


class Positions(Protocol):
    """The places of one group; what is refused is told for each partition."""

    def known(self) -> Offsets:
        """Where the group is, in the partitions where it is anywhere."""

    def set(self, offsets: Offsets) -> Refusals:
        """Let it go on there."""

    def forget(self, places: Iterable[TopicPartition]) -> Refusals:
        """Let it be nowhere in these."""


def type_of(cluster: Cluster, group_id: str) -> str:
    """The type of the group; of one that is not there, whatever commits make of it."""
    try:
        return describe_group(cluster, group_id).group_type
    except GroupIdNotFound:
        return CLASSIC


def positions_of(cluster: Cluster, group_id: str, group_type: str) -> Positions:
    """Those of a group of this type."""
    kind = SharePositions if group_type == SHARE else CommittedPositions
    return kind(cluster, group_id)


class CommittedPositions:
    """The offsets that consumers commit."""

    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self._cluster = cluster
        self._group_id = group_id

    def known(self) -> Offsets:
        """What is committed."""
        found = committed_offsets(self._cluster, self._group_id)
        return {place: each.offset for place, each in found.items()}

    def set(self, offsets: Offsets) -> Refusals:
        """Commit these."""
        return commit_offsets(self._cluster, self._group_id, offsets)

    def forget(self, places: Iterable[TopicPartition]) -> Refusals:
        """Forget what is committed there."""
        return delete_offsets(self._cluster, self._group_id, list(places))


class SharePositions:
    """The starts of a share group: the first record of a partition that is not done."""

    def __init__(self, cluster: Cluster, group_id: str) -> None:
        self._cluster = cluster
        self._group_id = group_id

    def known(self) -> Offsets:
        """The starts, where records were read."""
        from odradek.client.share_groups import share_places

        found = share_places(self._cluster, self._group_id)
        return {
            place: each.start for place, each in found.items() if each.start is not None
        }

    def set(self, offsets: Offsets) -> Refusals:
        """Begin there; what was done behind that is done no more."""
        from odradek.client.share_groups import move_share_group

        return move_share_group(self._cluster, self._group_id, offsets)

    def forget(self, places: Iterable[TopicPartition]) -> Refusals:
        """Forget the topics of these: all of their partitions."""
        from odradek.client.share_groups import forget_share_topics

        wanted = list(places)
        names = dict.fromkeys(place.topic for place in wanted)
        refused = forget_share_topics(self._cluster, self._group_id, names)
        return {
            place: refused[place.topic] for place in wanted if place.topic in refused
        }
