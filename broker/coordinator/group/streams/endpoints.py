"""Where the state of which partitions can be queried, for the instances to tell.

An instance of an application may say at which address it answers queries about its
state. Each is told of the addresses of all, with the partitions that these work on, or
follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.messages.streams_groups import (
    StreamsEndpoint,
    StreamsEndpointPartitions,
    StreamsTopicPartitions,
)

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.configured import (
        ConfiguredTopology,
    )
    from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
    from odradek.broker.coordinator.group.state.streams.member import (
        StreamsHolding,
        StreamsMemberInfo,
    )
    from odradek.broker.coordinator.group.state.streams.tasks import HeldIds, TaskIds

    Described = tuple[StreamsMemberInfo, StreamsHolding]


def endpoint_partitions(
    shard: GroupShard,
    group: StreamsGroup,
    member_id: str,
    described: Described,
    configured: ConfiguredTopology,
) -> list[StreamsEndpointPartitions]:
    """The partitions of each member with an address, the one that asks at last.

    It is as ``described``, which is not replayed yet.
    """
    members: list[Described] = [
        (each.info, each.holding)
        for each in group.members.values()
        if each.member_id != member_id
    ]
    return [
        StreamsEndpointPartitions(
            user_endpoint=StreamsEndpoint(host=endpoint.host, port=endpoint.port),
            active_partitions=_partitions(shard, holding.assigned.active, configured),
            standby_partitions=_partitions(shard, holding.assigned.standby, configured),
        )
        for info, holding in (*members, described)
        if (endpoint := info.endpoint) is not None
    ]


def _partitions(
    shard: GroupShard, tasks: TaskIds | HeldIds, configured: ConfiguredTopology
) -> list[StreamsTopicPartitions]:
    """The input of tasks: of each topic, those of its partitions that there are.

    Apache Kafka counts from the first task on, and falls over a topic that is gone.
    """
    found = []
    for subtopology_id, numbers in sorted(tasks.items()):
        part = (configured.subtopologies or {}).get(subtopology_id)
        if part is None:
            continue
        internal = (each.name for each in part.repartition_sources)
        for topic in shard.known_topics((*part.source_topics, *internal)):
            count = len(topic.partitions)
            found.append(
                StreamsTopicPartitions(
                    topic=topic.name,
                    partitions=sorted(number for number in numbers if number < count),
                )
            )
    return found
