"""Is a heartbeat one at all? What is asked before anything is known of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    LEFT_FOR_A_WHILE_EPOCH,
)
from odradek.broker.metadata.topic_names import INTERNAL_TOPICS, check_name
from odradek.protocol.errors import (
    FencedMemberEpoch,
    InvalidRequest,
    InvalidTopic,
    StreamsInvalidTopology,
)

from .asked import NOT_SAID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from odradek.broker.coordinator.group.state.streams.member import StreamsHolding
    from odradek.broker.coordinator.group.state.streams.tasks import (
        HeldIds,
        TaskIds,
        Tasks,
    )
    from odradek.protocol.messages.streams_groups import (
        StreamsGroupHeartbeatRequest,
        StreamsHeartbeatSubtopology,
        StreamsHeartbeatTopology,
    )


def check_request(request: StreamsGroupHeartbeatRequest) -> None:
    """See that a heartbeat says what one has to say.

    Raises:
        InvalidRequest, StreamsInvalidTopology: the message says what is wrong.
    """
    _check_supported(request)
    _check_not_empty("MemberId", request.member_id)
    _check_not_empty("GroupId", request.group_id)
    _check_not_empty("RackId", request.rack_id)
    epoch = request.member_epoch
    if epoch == JOINING_EPOCH:
        _check_joining(request)
    elif epoch == LEFT_FOR_A_WHILE_EPOCH:
        raise InvalidRequest("InstanceId can't be null.")
    elif epoch < LEFT_FOR_A_WHILE_EPOCH:
        raise InvalidRequest(
            f"MemberEpoch is {epoch}, but must be greater than or equal to -2."
        )
    if request.rebalance_timeout_ms < NOT_SAID:
        # Apache Kafka takes it, and nobody can mean it.
        raise InvalidRequest("RebalanceTimeoutMs must not be negative.")
    said = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if None in said and said != (None, None, None):
        raise InvalidRequest("If one task-type is non-null, all must be non-null.")
    if epoch != JOINING_EPOCH and request.topology is not None:
        raise InvalidRequest("Topology can only be provided when (re-)joining.")


def _check_supported(request: StreamsGroupHeartbeatRequest) -> None:
    """What the protocol has room for, and no broker does yet."""
    if request.instance_id is not None:
        raise InvalidRequest("Static membership is not yet supported.")
    if request.task_offsets is not None:
        raise InvalidRequest("TaskOffsets are not supported yet.")
    if request.task_end_offsets is not None:
        raise InvalidRequest("TaskEndOffsets are not supported yet.")
    if request.warmup_tasks:
        raise InvalidRequest("WarmupTasks are not supported yet.")
    if request.topology is not None:
        for each in request.topology.subtopologies:
            if each.source_topic_regex:
                raise InvalidRequest(
                    "Regular expressions for source topics are not supported yet."
                )


def _check_joining(request: StreamsGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == NOT_SAID:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    for name, tasks in (
        ("ActiveTasks", request.active_tasks),
        ("StandbyTasks", request.standby_tasks),
        ("WarmupTasks", request.warmup_tasks),
    ):
        if tasks is None or tasks:
            raise InvalidRequest(f"{name} must be empty when (re-)joining.")
    if request.topology is None:
        raise InvalidRequest("Topology must be non-null when (re-)joining.")
    _check_topology(request.topology)


def _check_topology(topology: StreamsHeartbeatTopology) -> None:
    """What Apache Kafka refuses, and what it falls over."""
    if topology.epoch < 0:
        raise StreamsInvalidTopology("Topology epoch must be non-negative.")
    seen = set()
    for each in topology.subtopologies:
        if each.subtopology_id in seen:
            raise StreamsInvalidTopology(
                f"Subtopology {each.subtopology_id} is described more than once."
            )
        seen.add(each.subtopology_id)
        for topic in each.state_changelog_topics:
            if topic.partitions:
                raise StreamsInvalidTopology(
                    f"Changelog topic {topic.name} must have an undefined partition "
                    f"count, but it is set to {topic.partitions}."
                )
        for topic in each.repartition_source_topics:
            if topic.partitions < 0:
                raise StreamsInvalidTopology(
                    f"Repartition topic {topic.name} has {topic.partitions} partitions."
                )
        _check_copartitioned(each)


def _check_copartitioned(part: StreamsHeartbeatSubtopology) -> None:
    sources = range(len(part.source_topics))
    repartitioned = range(len(part.repartition_source_topics))
    for each in part.copartition_groups:
        if each.source_topic_regex or not (
            all(index in sources for index in each.source_topics)
            and all(index in repartitioned for index in each.repartition_source_topics)
        ):
            raise StreamsInvalidTopology(
                f"A copartition group of subtopology {part.subtopology_id} names "
                "topics that the subtopology does not have."
            )


def topics_named(topology: StreamsHeartbeatTopology) -> list[str]:
    """Every topic that a topology names, each once."""
    return list(dict.fromkeys(_topics_named(topology)))


def _topics_named(topology: StreamsHeartbeatTopology) -> Iterator[str]:
    for each in topology.subtopologies:
        yield from each.source_topics
        yield from each.repartition_sink_topics
        yield from (topic.name for topic in each.repartition_source_topics)
        yield from (topic.name for topic in each.state_changelog_topics)


def check_topics(names: Sequence[str]) -> None:
    """See that an application may have topics of these names.

    Raises:
        StreamsInvalidTopology: one is the broker's own, or no name of a topic.
    """
    internal = [name for name in names if name in INTERNAL_TOPICS]
    if internal:
        raise StreamsInvalidTopology(
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams "
            "topology is prohibited."
        )
    invalid = [name for name in names if not _is_valid(name)]
    if invalid:
        raise StreamsInvalidTopology(
            f"Topic names {','.join(invalid)} are not valid topic names."
        )


def _is_valid(name: str) -> bool:
    try:
        check_name(name)
    except InvalidTopic:
        return False
    return True


def _check_not_empty(name: str, value: str | None) -> None:
    if value is not None and not value.strip():
        raise InvalidRequest(f"{name} can't be empty.")


def check_epoch(holding: StreamsHolding, epoch: int, owned: Tasks | None) -> None:
    """See that a member is in the epoch that it is known to be in.

    It may be one behind: then the answer that said so was lost, and it has nothing
    that it was not given.

    Raises:
        FencedMemberEpoch: it is in another one.
    """
    known = holding.epoch
    if epoch == known:
        return
    if epoch > known:
        relation = "greater"
    elif epoch == holding.previous_epoch and _was_given(owned, holding):
        return
    else:
        relation = "smaller"
    raise FencedMemberEpoch(
        f"The streams group member has a {relation} member epoch ({epoch}) than the "
        f"one known by the group coordinator ({known}). The member must abandon all "
        "its partitions and rejoin."
    )


def _was_given(owned: Tasks | None, holding: StreamsHolding) -> bool:
    if owned is None:
        return False
    assigned = holding.assigned
    return (
        _is_part_of(owned.active, assigned.active)
        and _is_part_of(owned.standby, assigned.standby)
        and _is_part_of(owned.warmup, assigned.warmup)
    )


def _is_part_of(ids: TaskIds, of: TaskIds | HeldIds) -> bool:
    nothing: Iterable[int] = ()
    return all(
        partition in of.get(subtopology_id, nothing)
        for subtopology_id, partitions in ids.items()
        for partition in partitions
    )
