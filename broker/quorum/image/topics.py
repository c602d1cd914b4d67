"""Records about topics and partitions, applied to a draft.

A partition's epoch rises by one with each change, its leader epoch with each change
that names a leader, also the one that it had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.metadata_records import NO_LEADER_CHANGE, ConfigResourceType
from odradek.protocol.uuids import ZERO_UUID

from .error import MetadataLogError
from .image import OptionResource, PartitionImage, TopicImage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.protocol.membership_records import ClearElrRecord
    from odradek.protocol.metadata_records import (
        PartitionChangeRecord,
        PartitionRecord,
        RemoveTopicRecord,
        TopicRecord,
    )

    from .draft import Draft

_UNCHANGED = -1  # of the leader's recovery state


def add_topic(draft: Draft, record: TopicRecord, _: int) -> None:
    """There is a topic."""
    draft.topics.put(record.topic_id, TopicImage(record.name, record.topic_id))
    draft.topic_ids.put(record.name, record.topic_id)


def add_partition(draft: Draft, record: PartitionRecord, _: int) -> None:
    """There is a partition."""
    draft.partitions(record.topic_id)[record.partition_id] = PartitionImage(
        tuple(record.replicas),
        tuple(record.isr),
        record.leader,
        record.leader_epoch,
        record.partition_epoch,
        tuple(record.removing_replicas),
        tuple(record.adding_replicas),
        record.leader_recovery_state,
        _directories(record.directories, len(record.replicas)),
        tuple(record.eligible_leader_replicas or ()),
        tuple(record.last_known_elr or ()),
    )


def change_partition(draft: Draft, record: PartitionChangeRecord, _: int) -> None:
    """Something of a partition is different."""
    partitions = draft.partitions(record.topic_id)
    old = partitions.get(record.partition_id)
    if old is None:
        name = draft.topic(record.topic_id).name
        raise MetadataLogError(f"there is no partition {name}-{record.partition_id}")
    new = old._replace(
        replicas=_or(record.replicas, old.replicas),
        isr=_or(record.isr, old.isr),
        partition_epoch=old.partition_epoch + 1,
        removing_replicas=_or(record.removing_replicas, old.removing_replicas),
        adding_replicas=_or(record.adding_replicas, old.adding_replicas),
        elr=_or(record.eligible_leader_replicas, old.elr),
        last_known_elr=_or(record.last_known_elr, old.last_known_elr),
    )
    if record.leader != NO_LEADER_CHANGE:
        new = new._replace(leader=record.leader, leader_epoch=old.leader_epoch + 1)
    if record.leader_recovery_state != _UNCHANGED:
        new = new._replace(leader_recovery_state=record.leader_recovery_state)
    if record.directories is not None:
        directories = _directories(record.directories, len(new.replicas))
        new = new._replace(directories=directories)
    partitions[record.partition_id] = new


def remove_topic(draft: Draft, record: RemoveTopicRecord, _: int) -> None:
    """A topic is gone, and its options are."""
    topic = draft.remove_topic(record.topic_id)
    draft.options.remove(OptionResource(ConfigResourceType.TOPIC, topic.name))


def clear_elr(draft: Draft, record: ClearElrRecord, _: int) -> None:
    """Partitions of a topic, or of all, have no eligible leaders but those in sync."""
    if record.topic_name:
        topic_id = draft.topic_ids.get(record.topic_name)
        if topic_id is None:
            raise MetadataLogError(f"there is no topic {record.topic_name}")
        topic_ids = [topic_id]
    else:
        topic_ids = list(draft.topics.now)
    for topic_id in topic_ids:
        partitions = draft.partitions(topic_id)
        for number, old in partitions.items():
            if old.elr or old.last_known_elr:
                partitions[number] = old._replace(
                    elr=(), last_known_elr=(), partition_epoch=old.partition_epoch + 1
                )


def _or(given: Sequence[int] | None, old: tuple[int, ...]) -> tuple[int, ...]:
    return old if given is None else tuple(given)


def _directories(given: Sequence[bytes], replica_count: int) -> tuple[bytes, ...]:
    """One for each replica; zeros where the record is older than they are."""
    return tuple(given) or (ZERO_UUID,) * replica_count
