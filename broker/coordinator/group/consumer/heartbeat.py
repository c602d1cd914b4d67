"""ConsumerGroupHeartbeat: who joins, what has changed, who shall read what, who does.

One heartbeat does all that can be done now, in this order:

1. The member is found, made, or put in the place of the one that had its instance id.
2. What it says of itself is noted. Other topics begin another epoch of the group.
3. If the epoch has no target yet, one is found, for all members.
4. The member takes a step towards its part of the target (`reconcile`).

Nothing but heartbeats moves a group, and the timers of members that are silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.known import unknown_member
from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    LEFT_FOR_A_WHILE_EPOCH,
    MemberInfo,
    partitions_of,
)
from odradek.protocol.errors import UnreleasedInstanceId

from .answers import beat_answer, owned_partitions
from .check import NOT_SAID, check_epoch
from .draft import Draft
from .fencing import tell
from .finding import check_instance, find_group
from .leave import decide_leaving
from .membership import Place, advance, begin_epoch, check_size, note, take_over
from .targets.patterns import begin_resolving, wants_resolving

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.member import (
        ConsumerMember,
        Holding,
    )
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.consumer_groups import (
        ConsumerGroupHeartbeatRequest,
    )

    from .targets.patterns import MayDescribe


class Beat(NamedTuple):
    """One heartbeat, and who sent it. ``may_describe`` None: it may see every topic."""

    request: ConsumerGroupHeartbeatRequest
    client_id: str
    client_host: str
    may_describe: MayDescribe | None = None


def decide_beat(shard: GroupShard, beat: Beat) -> Decision:
    """Do what a heartbeat asks for.

    Raises:
        GroupIdNotFound, GroupMaxSizeReached, UnknownMemberId, FencedMemberEpoch,
        UnreleasedInstanceId, FencedInstanceId, InvalidRegularExpression.
    """
    request = beat.request
    if request.member_epoch < JOINING_EPOCH:
        return decide_leaving(shard, request)
    is_joining = request.member_epoch == JOINING_EPOCH
    found = find_group(shard, request.group_id, is_joining)
    group = found.group
    draft = Draft(shard, group)
    draft.records += found.before
    check_size(shard, group, request.member_id)
    owned = owned_partitions(request.topic_partitions)
    place = _place_of(draft, request, owned)
    info = _described(place.info or MemberInfo(), beat)
    noted = note(draft, place, info)
    begin_epoch(draft, noted)
    holding = advance(shard, draft, place, info, noted, owned)
    if wants_resolving(shard, group, info.pattern):
        begin_resolving(shard, group.group_id, beat.may_describe)
    is_told = is_joining or _says_all(request)
    is_told = is_told or _is_other(place.holding, holding)
    answer = beat_answer(shard, request, holding, with_assignment=is_told)
    # Who has the instance id of another one has to be known: the other one was fenced.
    # A group that was a classic one is not both, whatever is lost.
    may_be_lost = request.instance_id is None and not found.is_converted
    return Decision(
        answer,
        draft.records,
        reads_state=not may_be_lost,
        then=found.then,
        may_be_lost=may_be_lost,
    )


def _place_of(
    draft: Draft,
    request: ConsumerGroupHeartbeatRequest,
    owned: dict[bytes, frozenset[int]] | None,
) -> Place:
    """The member; who joins may be none yet."""
    group, is_joining = draft.group, request.member_epoch == JOINING_EPOCH
    member: ConsumerMember | None
    if request.instance_id is None:
        member = group.members.get(request.member_id)
    elif is_joining:
        member = group.static_member(request.instance_id)
    else:
        member = check_instance(group, request.instance_id, request.member_id)
    if member is None:
        if not is_joining:
            raise unknown_member(request.group_id, request.member_id)
        tell(group.group_id, draft.epoch, f"{request.member_id} joins")
        return Place(request.member_id)
    if not is_joining:
        check_epoch(member.holding, request.member_epoch, owned)
    elif request.instance_id is not None:
        _check_released(member, request)
        return take_over(draft, member, request.member_id)
    return Place.of(member)


def _check_released(
    known: ConsumerMember, request: ConsumerGroupHeartbeatRequest
) -> None:
    """See that a static member may take the place of the one that has its name.

    One of the classic protocol it may shut out, as these do it among themselves.
    """
    if known.is_classic or known.holding.epoch == LEFT_FOR_A_WHILE_EPOCH:
        return
    raise UnreleasedInstanceId(
        f"Static member {request.member_id} with instance id {request.instance_id} "
        "cannot join the group because the instance id is owned by "
        f"{known.member_id} member."
    )


def _described(known: MemberInfo, beat: Beat) -> MemberInfo:
    """The member as it describes itself now: what it does not say is as before."""
    request = beat.request
    said: dict[str, object] = {}
    if known.client_id != beat.client_id or known.client_host != beat.client_host:
        said.update(client_id=beat.client_id, client_host=beat.client_host)
    if request.instance_id is not None:
        said["instance_id"] = request.instance_id
    if request.rack_id is not None:
        said["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != NOT_SAID:
        said["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.subscribed_topic_names is not None:
        said["topic_names"] = tuple(sorted(set(request.subscribed_topic_names)))
    if request.subscribed_topic_regex is not None:
        said["pattern"] = request.subscribed_topic_regex
    if request.server_assignor is not None:
        said["assignor"] = request.server_assignor
    if known.classic is not None:
        said["classic"] = None
    return known._replace(**said) if said else known  # type: ignore[arg-type]


def _says_all(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether a member says all of itself, as one that is not sure of its state."""
    return (
        request.rebalance_timeout_ms != NOT_SAID
        and request.topic_partitions is not None
        and not (
            request.subscribed_topic_names is None
            and request.subscribed_topic_regex is None
        )
    )


def _is_other(before: Holding, after: Holding) -> bool:
    """Whether a member may read other partitions than before."""
    return before.assigned is not after.assigned and (
        partitions_of(before.assigned) != partitions_of(after.assigned)
    )
