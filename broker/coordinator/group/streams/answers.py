"""The answers to the heartbeats of members of streams groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.state.streams.configured import Status
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.streams_groups import (
    StreamsGroupHeartbeatResponse,
    StreamsStatus,
    StreamsTaskIds,
)

from .endpoints import endpoint_partitions
from .settings import heartbeat_interval_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.configured import (
        ConfiguredTopology,
    )
    from odradek.broker.coordinator.group.state.streams.member import (
        StreamsHolding,
        StreamsMemberInfo,
    )
    from odradek.broker.coordinator.group.state.streams.tasks import (
        HeldIds,
        HeldTasks,
        TaskIds,
    )
    from odradek.broker.coordinator.group.state.streams.topology import InternalTopic
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.messages.streams_groups import (
        StreamsGroupHeartbeatRequest,
    )

    from .draft import StreamsDraft
    from .tasks.target import Delay


class StreamsAnswer(NamedTuple):
    """What a member is told, and the topics that are to be made for it."""

    response: StreamsGroupHeartbeatResponse
    missing: tuple[InternalTopic, ...] = ()


class Told(NamedTuple):
    """A member as it is now, and whether it has to be told of its tasks."""

    member_id: str
    info: StreamsMemberInfo
    holding: StreamsHolding
    with_tasks: bool


def streams_beat_answer(
    shard: GroupShard,
    draft: StreamsDraft,
    request: StreamsGroupHeartbeatRequest,
    told: Told,
    configured: ConfiguredTopology,
    delay: Delay | None,
) -> StreamsAnswer:
    """The member's epoch, and what it has to know.

    Where tasks will be assigned later it is asked to come again then: nobody idles for
    a whole interval behind the delay.
    """
    group = draft.group
    interval_ms = heartbeat_interval_ms(shard, group.group_id)
    if delay is not None:
        interval_ms = max(1, min(interval_ms, delay.ms))
    response = StreamsGroupHeartbeatResponse(
        error_code=ErrorCode.NONE,
        member_id=told.member_id,
        member_epoch=told.holding.epoch,
        heartbeat_interval_ms=interval_ms,
        status=list(_statuses(draft, told, configured, delay)),
    )
    if told.with_tasks:
        _tell_tasks(response, told.holding.assigned)
        if told.info.endpoint is not None:
            group.endpoint_epoch += 1
    response.endpoint_information_epoch = group.endpoint_epoch
    if request.endpoint_information_epoch != group.endpoint_epoch:
        response.partitions_by_user_endpoint = endpoint_partitions(
            shard, group, told.member_id, (told.info, told.holding), configured
        )
    return StreamsAnswer(response, configured.missing)


def left_answer(member_id: str, epoch: int) -> StreamsAnswer:
    """The member has left."""
    response = StreamsGroupHeartbeatResponse(
        error_code=ErrorCode.NONE, member_id=member_id, member_epoch=epoch, status=[]
    )
    return StreamsAnswer(response)


def refused_streams_beat(error: KafkaError) -> StreamsAnswer:
    """Nothing has been done."""
    response = StreamsGroupHeartbeatResponse(
        error_code=error.code, error_message=str(error)
    )
    return StreamsAnswer(response)


def _tell_tasks(response: StreamsGroupHeartbeatResponse, assigned: HeldTasks) -> None:
    response.active_tasks = _ids(assigned.active)
    response.standby_tasks = _ids(assigned.standby)
    response.warmup_tasks = _ids(assigned.warmup)


def _ids(ids: TaskIds | HeldIds) -> list[StreamsTaskIds]:
    return [
        StreamsTaskIds(subtopology_id=key, partitions=sorted(partitions))
        for key, partitions in sorted(ids.items())
    ]


def _statuses(
    draft: StreamsDraft,
    told: Told,
    configured: ConfiguredTopology,
    delay: Delay | None,
) -> Iterator[StreamsStatus]:
    topology, said = draft.group.topology, told.info.topology_epoch
    if topology is not None and said < topology.epoch:
        yield _status(
            Status.STALE_TOPOLOGY,
            f"The member's topology epoch {said} is behind the group's topology epoch "
            f"{topology.epoch}.",
        )
    if delay is not None:
        yield _status(
            Status.ASSIGNMENT_DELAYED,
            f"Assignment delayed due to the configured {delay.cause}.",
        )
    if configured.problem is not None:
        yield _status(*configured.problem)
    ends_for = draft.group.ends_for
    if ends_for is not None:
        yield _status(
            Status.SHUTDOWN_APPLICATION,
            f"Streams group member {ends_for} encountered a fatal error and requested "
            "a shutdown for the entire application.",
        )


def _status(status: Status, detail: str) -> StreamsStatus:
    return StreamsStatus(status_code=status, status_detail=detail)
