"""What the broker knows now, for a test that wants to see it.

``state`` (``topics``, ``groups``: names, if not all): items of the kinds "broker" (who
waits, and how many are connected), "partition" (its offsets), "group" (members,
assignments, committed offsets with their lag) and "transaction".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.group.share.assignor import NAME as SIMPLE
from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
from odradek.broker.coordinator.group.state.share.group import ShareGroup
from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
from odradek.broker.coordinator.group.streams.tasks.assignor import NAME as STICKY
from odradek.protocol.topic_partition import TopicPartition

from .fields import Fields
from .topics import known_topic
from .waiting.group_members import (
    assigned_of,
    client_of,
    generation_of,
    instance_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence

    from odradek.broker.coordinator.group.state.offsets import GroupOffsets
    from odradek.broker.coordinator.group.state.shard import Group
    from odradek.broker.coordinator.transaction.transaction import Transaction
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.network.listener import Listener
    from odradek.broker.operate.admin_socket import AdminRequest, Request
    from odradek.broker.requests.services import Services

    from .waiting.changes import Changes

    Item = Mapping[str, Any]
    Items = AsyncGenerator[Item, None]


def state_requests(
    services: Services, listeners: Sequence[Listener], changes: Changes
) -> dict[str, AdminRequest]:
    """What answers each."""

    async def state(request: Request) -> Items:
        fields = Fields(request)
        names = fields.texts("topics", None)
        group_ids = fields.texts("groups", None)
        fields.end()
        topics = [
            each for each in services.metadata if not each.is_internal and names is None
        ]
        topics += [known_topic(services, name) for name in names or ()]
        places = [
            TopicPartition(topic.name, of.partition)
            for topic in topics
            for of in topic.partitions
        ]
        await services.replica_manager.open(places)
        yield _broker(services, listeners, changes)
        for topic in topics:
            for item in _partitions(services, topic):
                yield item
        for item in _groups(services, group_ids):
            yield item
        for item in _transactions(services):
            yield item

    return {"state": state}


def _broker(
    services: Services, listeners: Sequence[Listener], changes: Changes
) -> Item:
    manager = services.replica_manager
    return {
        "kind": "broker",
        "connections": sum(len(each.connections) for each in listeners),
        "purgatory": {
            "produce": manager.produces.delayed_count,
            "fetch": manager.fetches.delayed_count - changes.told_count,
            "delete_records": manager.deletions.delayed_count,
        },
        "fetch_sessions": len(services.fetch_sessions),
        "waits": changes.count,
    }


def _partitions(services: Services, topic: Topic) -> Iterator[Item]:
    for info in topic.partitions:
        place = TopicPartition(topic.name, info.partition)
        view = services.replica_manager.partition(place).view
        yield {
            "kind": "partition",
            "topic": topic.name,
            "partition": info.partition,
            "log_start_offset": view.log_start_offset,
            "last_stable_offset": view.last_stable_offset,
            "high_watermark": view.high_watermark,
            "log_end_offset": view.log_end_offset,
        }


def _groups(services: Services, wanted: Sequence[str] | None) -> Iterator[Item]:
    for shard in services.groups.runtime.shards():
        for group in shard.state.all_groups():
            if wanted is None or group.group_id in wanted:
                yield _group(services, group, shard.state.offsets)


def _group(services: Services, group: Group, offsets: GroupOffsets) -> Item:
    assigned = assigned_of(group, services.metadata)
    pending = offsets.pending_of_group(group.group_id)
    return {
        "kind": "group",
        "group": group.group_id,
        "state": group.state.value,
        "generation": generation_of(group),
        "protocol": _assignor(services, group),
        "members": [
            {
                "member": each.member_id,
                "instance": instance_of(each),
                "client": client_of(each)[0],
                "host": client_of(each)[1],
                "assigned": [list(place) for place in assigned[each.member_id]],
            }
            for each in group.members.values()
        ],
        "offsets": [
            {
                "topic": topic,
                "partition": partition,
                "offset": committed.offset,
                "lag": _lag(
                    services, TopicPartition(topic, partition), committed.offset
                ),
            }
            for (topic, partition), committed in sorted(
                offsets.of_group(group.group_id).items()
            )
        ],
        "pending": [list(place) for place in sorted(pending)],
    }


def _assignor(services: Services, group: Group) -> str | None:
    """How the group's partitions are shared."""
    if isinstance(group, ClassicGroup):
        return group.protocol_name
    if isinstance(group, ShareGroup):
        return SIMPLE
    if isinstance(group, StreamsGroup):
        return STICKY
    from odradek.broker.coordinator.group.consumer.targets.target import (
        preferred_assignor,
    )

    infos = [each.info for each in group.members.values()]
    return preferred_assignor(infos, services.config.group_consumer_assignors)


def _lag(services: Services, place: TopicPartition, offset: int) -> int | None:
    """As Kafka's tools say it; None for a partition that is gone."""
    if services.metadata.partition(place) is None:
        return None
    view = services.replica_manager.partition(place).view
    return max(0, view.high_watermark - offset)


def _transactions(services: Services) -> Iterator[Item]:
    for shard in services.transactions.runtime.shards():
        for each in list(shard.state.transactions.values()):
            yield _transaction(each)


def _transaction(transaction: Transaction) -> Item:
    return {
        "kind": "transaction",
        "id": transaction.transactional_id,
        "state": transaction.state.label,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "timeout_ms": transaction.timeout_ms,
        "start_ms": transaction.start_ms,
        "partitions": [list(place) for place in sorted(transaction.partitions)],
    }
