"""How far a group is behind: what it has committed beside where the logs end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.client.cluster import Cluster
    from odradek.client.groups import GroupDescription, GroupMember
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.topic_partition import TopicPartition


class PartitionLag(NamedTuple):
    """One partition: None for what is not there or cannot be told."""

    place: TopicPartition
    committed: int | None
    log_end: int | None
    owner: GroupMember | None
    error: KafkaError | None
    told_lag: int | None = None
    """That of a share group, which has done some of the records behind its start."""

    @property
    def lag(self) -> int | None:
        """The offsets between the committed one and the end of the log."""
        if self.told_lag is not None:
            return self.told_lag
        if self.committed is None or self.log_end is None:
            return None
        return self.log_end - self.committed


class GroupLag(NamedTuple):
    """A group with the partitions that it reads or has read."""

    group: GroupDescription
    partitions: Sequence[PartitionLag]

    @property
    def total(self) -> int:
        """The sum of what is known. A commit behind the end makes up for nothing."""
        return sum(max(each.lag or 0, 0) for each in self.partitions)

    def as_json(self) -> dict[str, Any]:
        """All of it, for `json`."""
        group = self.group
        node_id, address = group.coordinator
        return {
            "group": group.group_id,
            "state": group.state,
            "type": group.group_type,
            "protocolType": group.protocol_type,
            "assignor": group.assignor,
            "epoch": group.epoch,
            "coordinator": {
                "id": node_id,
                "host": address.host,
                "port": address.port,
            },
            "members": [_member_json(each) for each in group.members],
            "partitions": [_partition_json(each) for each in self.partitions],
            "totalLag": self.total,
        }


def group_lag(cluster: Cluster, group_id: str, with_offsets: bool = True) -> GroupLag:
    """The group; with its partitions, committed or assigned, unless not wanted.

    Raises:
        GroupIdNotFound: there is no such group.
    """
    from odradek.client.group_offsets import committed_offsets
    from odradek.client.groups import SHARE, describe_group
    from odradek.client.list_offsets import LATEST, list_offsets

    group = describe_group(cluster, group_id)
    if not with_offsets:
        return GroupLag(group, ())
    if group.group_type == SHARE:
        return _share_lag(cluster, group)
    committed = committed_offsets(cluster, group_id)
    owners = {
        place: member for member in group.members for place in member.assignment or ()
    }
    places = sorted({*committed, *owners})
    ends = list_offsets(cluster, dict.fromkeys(places, LATEST))
    return GroupLag(
        group,
        [
            PartitionLag(
                place,
                committed[place].offset if place in committed else None,
                ends.found[place].offset if place in ends.found else None,
                owners.get(place),
                ends.failed.get(place),
            )
            for place in places
        ],
    )


def _share_lag(cluster: Cluster, group: GroupDescription) -> GroupLag:
    """A share group: several members may read a partition, so it has no owner."""
    from odradek.client.list_offsets import LATEST, list_offsets
    from odradek.client.share_groups import SharePlace, share_places

    known = share_places(cluster, group.group_id)
    read = {place for member in group.members for place in member.assignment or ()}
    places = sorted({*known, *read})
    ends = list_offsets(cluster, dict.fromkeys(places, LATEST))
    nowhere = SharePlace(None, None)
    rows = []
    for place in places:
        start, lag = known.get(place, nowhere)
        end = ends.found[place].offset if place in ends.found else None
        error = ends.failed.get(place)
        rows.append(PartitionLag(place, start, end, None, error, lag))
    return GroupLag(group, rows)


def _member_json(member: GroupMember) -> dict[str, Any]:
    found = {
        "memberId": member.member_id,
        "groupInstanceId": member.instance_id,
        "clientId": member.client_id,
        "host": member.host,
        "epoch": member.epoch,
        "assignment": _places_json(member.assignment),
        "targetAssignment": _places_json(member.target),
    }
    if member.tasks is not None:
        found |= {
            "processId": member.tasks.process_id,
            "activeTasks": member.tasks.active,
            "standbyTasks": member.tasks.standby,
            "warmupTasks": member.tasks.warmup,
        }
    return found


def _places_json(places: Sequence[TopicPartition] | None) -> Any:
    if places is None:
        return None
    return [{"topic": topic, "partition": number} for topic, number in places]


def _partition_json(each: PartitionLag) -> dict[str, Any]:
    topic, partition = each.place
    return {
        "topic": topic,
        "partition": partition,
        "currentOffset": each.committed,
        "logEndOffset": each.log_end,
        "lag": each.lag,
        "memberId": each.owner and each.owner.member_id,
        "error": each.error and str(each.error),
    }
