"""StreamsGroupHeartbeat: who joins, what has changed, who shall have which tasks.

One heartbeat does all that can be done now, in this order:

1. The member is found, or made. What it says of itself is noted.
2. What its application computes is noted, if it is the first to say it.
3. The topics of that are looked at. Other members, topics or options begin another
   epoch of the group.
4. If the epoch has no target yet, one is found, for all members; for those of a group
   that was empty after a while, in which others may join.
5. The member takes a step towards its part of the target (`reconcile`).

Nothing but heartbeats moves a group, and the timers of members that are silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    LEFT_EPOCH,
)
from odradek.broker.coordinator.group.state.streams import records
from odradek.broker.coordinator.group.state.streams.member import (
    StreamsHolding,
    StreamsMemberInfo,
)
from odradek.broker.coordinator.group.state.streams.tasks import NO_TASKS
from odradek.protocol.errors import GroupMaxSizeReached, InvalidRequest

from .answers import Told, left_answer, streams_beat_answer
from .asked import described, owned_tasks, topology_said
from .check import check_epoch
from .draft import StreamsDraft
from .finding import find_group, known_group, known_member
from .sessions import await_revocation, keep_session, remove_member, tell
from .tasks.reconcile import WantedTasks, reconcile
from .tasks.target import assign, begin_delay

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.streams.configured import (
        ConfiguredTopology,
    )
    from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
    from odradek.broker.coordinator.group.state.streams.tasks import Task, Tasks
    from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest

    from .asked import StreamsBeat
    from .tasks.target import Delay

_JOINING = StreamsHolding()


class _Place(NamedTuple):
    """A member, as it was and as it describes itself now; None: it was none."""

    member_id: str
    known: StreamsMemberInfo | None
    info: StreamsMemberInfo
    holding: StreamsHolding
    owned: Tasks | None


def decide_streams_beat(shard: GroupShard, beat: StreamsBeat) -> Decision:
    """Do what a heartbeat asks for.

    Raises:
        GroupIdNotFound, GroupMaxSizeReached, UnknownMemberId, FencedMemberEpoch,
        InvalidRequest, StreamsInvalidTopology.
    """
    request = beat.request
    if request.member_epoch == LEFT_EPOCH:
        return _decide_leaving(shard, request)
    found = find_group(shard, request.group_id, request.member_epoch == JOINING_EPOCH)
    draft = StreamsDraft(shard, found.group)
    draft.records += found.before
    place = _place_of(shard, draft, beat)
    if place.info != place.known:
        draft.describe(place.member_id, place.info)
    said = request.topology
    draft.note_topology(None if said is None else topology_said(said))
    configured = draft.look_at_topics()
    _check_tasks(configured, place.owned)
    draft.bump_if_other(place.info != place.known)
    begin_delay(shard, draft)
    delay = assign(shard, draft, configured)
    holding = _advance(shard, draft, place, delay)
    if request.shutdown_application:
        _end_application(draft.group, place.member_id)
    told = Told(
        place.member_id,
        place.info,
        holding,
        with_tasks=request.member_epoch == JOINING_EPOCH
        or holding.assigned != place.holding.assigned
        or _has_other(place.owned, holding),
    )
    answer = streams_beat_answer(shard, draft, request, told, configured, delay)
    return Decision(answer, draft.records, reads_state=True)


def _has_other(owned: Tasks | None, holding: StreamsHolding) -> bool:
    """Whether a member says to have other tasks than it has been told to have.

    The answer that told it may be lost. Apache Kafka does not tell it again, and nobody
    works on the tasks until they move.
    """
    return owned is not None and owned != holding.assigned.without_epochs()


def _decide_leaving(
    shard: GroupShard, request: StreamsGroupHeartbeatRequest
) -> Decision:
    group = known_group(shard, request.group_id)
    member = known_member(group, request.member_id)
    if request.shutdown_application:
        _end_application(group, member.member_id)
    tell(group.group_id, group.epoch, f"{member.member_id} has left")
    decision = remove_member(shard, group, member.member_id)
    decision.response = left_answer(member.member_id, LEFT_EPOCH)
    return decision


def _end_application(group: StreamsGroup, member_id: str) -> None:
    """Let all members hear that one of them wants the whole application to end."""
    if group.ends_for is None:
        tell(group.group_id, group.epoch, f"{member_id} asks the application to end")
        group.ends_for = member_id


def _place_of(shard: GroupShard, draft: StreamsDraft, beat: StreamsBeat) -> _Place:
    """The member; who joins may be none yet."""
    group, request = draft.group, beat.request
    owned = owned_tasks(request)
    if request.member_epoch != JOINING_EPOCH:
        member = known_member(group, request.member_id)
        check_epoch(member.holding, request.member_epoch, owned)
    elif request.member_id in group.members:
        member = group.members[request.member_id]
    else:
        _check_size(shard, group)
        tell(group.group_id, draft.epoch, f"{request.member_id} joins")
        info = described(StreamsMemberInfo(), beat)
        return _Place(request.member_id, None, info, _JOINING, owned)
    info = described(member.info, beat)
    return _Place(member.member_id, member.info, info, member.holding, owned)


def _check_size(shard: GroupShard, group: StreamsGroup) -> None:
    limit = shard.config.group_streams_max_size
    if len(group.members) >= limit:
        raise GroupMaxSizeReached(
            f"The streams group has reached its maximum capacity of {limit} members."
        )


def _check_tasks(configured: ConfiguredTopology, owned: Tasks | None) -> None:
    """See that a member has only tasks that there are."""
    if configured.problem is not None or owned is None:
        return
    for ids in owned:
        for subtopology_id, partitions in ids.items():
            part = (configured.subtopologies or {}).get(subtopology_id)
            if part is None:
                raise InvalidRequest(
                    f"Subtopology {subtopology_id} does not exist in the topology."
                )
            for partition in sorted(partitions):
                if not 0 <= partition < part.task_count:
                    raise InvalidRequest(
                        f"Task {partition} for subtopology {subtopology_id} is "
                        "invalid. Number of tasks for this subtopology: "
                        f"{part.task_count}"
                    )


def _advance(
    shard: GroupShard, draft: StreamsDraft, place: _Place, delay: Delay | None
) -> StreamsHolding:
    """What the member has from now on; its session goes on."""
    group, process_id = draft.group, place.info.process_id
    is_waiting = delay is not None and delay.is_initial

    def may_work(task: Task) -> bool:
        return group.worker(task) is None and not group.follows(process_id, task)

    def may_follow(task: Task) -> bool:
        return group.worker(task) != process_id and not group.follows(process_id, task)

    holding = reconcile(
        place.holding,
        WantedTasks(
            NO_TASKS if is_waiting else draft.target_of(place.member_id),
            draft.assignment_epoch,
            may_work,
            may_follow,
            place.owned,
        ),
    )
    group_id = group.group_id
    if holding is not place.holding:
        draft.put(records.HOLDING_KEY, place.member_id, holding)
        await_revocation(shard, group_id, place.member_id, place.info, holding)
    keep_session(shard, group_id, place.member_id)
    return holding
