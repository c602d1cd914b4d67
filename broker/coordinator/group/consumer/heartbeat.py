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
from odradek.broker.coordinator.group.state.consumer import records
from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    LEFT_FOR_A_WHILE_EPOCH,
    Holding,
    MemberInfo,
    partitions_of,
)
from odradek.protocol.errors import GroupMaxSizeReached, UnreleasedInstanceId

from .answers import beat_answer, owned_partitions
from .check import NOT_SAID, check_epoch
from .draft import Draft
from .finding import check_instance, find_group, unknown_member
from .leave import decide_leaving
from .patterns import (
    begin_resolving,
    check_pattern,
    forget_unused,
    wants_resolving,
)
from .reconcile import Wanted, reconcile
from .sessions import await_revocation, forget, renew_session, tell
from .target import assign

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import ConsumerMember
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.consumer_groups import (
        ConsumerGroupHeartbeatRequest,
    )

    from .patterns import MayDescribe

_JOINING = Holding()


class Beat(NamedTuple):
    """One heartbeat, and who sent it. ``may_describe`` None: it may see every topic."""

    request: ConsumerGroupHeartbeatRequest
    client_id: str
    client_host: str
    may_describe: MayDescribe | None = None


class _Place(NamedTuple):
    """Where a member stands before its heartbeat; a new one has said nothing yet."""

    member_id: str
    info: MemberInfo | None = None
    holding: Holding = _JOINING
    replaced_id: str | None = None


class _Noted(NamedTuple):
    """What has changed in what a member says."""

    reads_others: bool = False
    begins_epoch: bool = False


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
    group, before = find_group(shard, request.group_id, is_joining)
    draft = Draft(shard, group)
    draft.records += before
    _check_size(shard, group, request)
    owned = owned_partitions(request.topic_partitions)
    place = _place_of(draft, request, owned)
    if place.replaced_id:
        forget(shard, group.group_id, place.replaced_id)
    info = _described(place.info or MemberInfo(), beat)
    noted = _note(draft, place, info)
    if noted.begins_epoch or draft.has_other_topics():
        draft.bump()
    elif not group.epoch:
        draft.write_epoch()
    assign(shard, draft)
    wanted = _wanted(shard, draft, place, info)
    holding = reconcile(
        place.holding,
        wanted._replace(owned=owned, has_subscription_changed=noted.reads_others),
    )
    if holding is not place.holding or place.info is None or place.replaced_id:
        draft.put(records.HOLDING_KEY, place.member_id, holding)
        await_revocation(shard, group.group_id, place.member_id, info, holding)
    renew_session(shard, group.group_id, place.member_id)
    if wants_resolving(shard, group, info.pattern):
        begin_resolving(shard, group.group_id, beat.may_describe)
    is_told = is_joining or _says_all(request)
    is_told = is_told or _is_other(place.holding, holding)
    answer = beat_answer(shard, request, holding, with_assignment=is_told)
    return Decision(answer, draft.records, reads_state=True)


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


# 1. The member


def _check_size(
    shard: GroupShard, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest
) -> None:
    limit = shard.config.group_consumer_max_size
    if (
        request.member_epoch == JOINING_EPOCH
        and len(group.members) >= limit
        and request.member_id not in group.members
    ):
        raise GroupMaxSizeReached(
            f"The consumer group has reached its maximum capacity of {limit} members."
        )


def _place_of(
    draft: Draft,
    request: ConsumerGroupHeartbeatRequest,
    owned: dict[bytes, frozenset[int]] | None,
) -> _Place:
    group = draft.group
    if request.instance_id is not None:
        known = group.static_member(request.instance_id)
        if request.member_epoch == JOINING_EPOCH:
            if known is None:
                return _joins(draft, request)
            return _take_over(draft, known, request)
        member = check_instance(group, request.instance_id, request.member_id)
    else:
        found = group.members.get(request.member_id)
        if found is None:
            if request.member_epoch == JOINING_EPOCH:
                return _joins(draft, request)
            raise unknown_member(request.group_id, request.member_id)
        member = found
    if request.member_epoch != JOINING_EPOCH:
        check_epoch(member.holding, request.member_epoch, owned)
    return _Place(member.member_id, member.info, member.holding)


def _joins(draft: Draft, request: ConsumerGroupHeartbeatRequest) -> _Place:
    tell(draft.group.group_id, draft.epoch, f"{request.member_id} joins")
    return _Place(request.member_id)


def _take_over(
    draft: Draft, known: ConsumerMember, request: ConsumerGroupHeartbeatRequest
) -> _Place:
    """Put a static member in the place of one that has left for a while."""
    if known.holding.epoch != LEFT_FOR_A_WHILE_EPOCH:
        raise UnreleasedInstanceId(
            f"Static member {request.member_id} with instance id {request.instance_id}"
            " cannot join the group because the instance id is owned by "
            f"{known.member_id} member."
        )
    target = draft.target_of(known.member_id)
    draft.remove(known.member_id)
    draft.describe(request.member_id, known.info)
    draft.put(records.TARGET_KEY, request.member_id, target)
    draft.targets[request.member_id] = target
    holding = known.holding._replace(epoch=JOINING_EPOCH, previous_epoch=JOINING_EPOCH)
    return _Place(request.member_id, known.info, holding, known.member_id)


# 2. What it says


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


def _note(draft: Draft, place: _Place, info: MemberInfo) -> _Noted:
    """Write what a member says of itself, if it is not what it said before."""
    if info == place.info:
        return _Noted()
    before = place.info or MemberInfo()
    has_other_pattern = info.pattern != before.pattern
    if has_other_pattern and not draft.group.subscribers_by(info.pattern):
        check_pattern(info.pattern)
    draft.describe(place.member_id, info)
    forget_unused(draft)
    if info.topic_names != before.topic_names:
        return _Noted(reads_others=True, begins_epoch=True)
    # What a new pattern matches is not known yet.
    is_known = not info.pattern or info.pattern in draft.group.patterns
    return _Noted(has_other_pattern, has_other_pattern and is_known)


# 4. What it has


def _wanted(shard: GroupShard, draft: Draft, place: _Place, info: MemberInfo) -> Wanted:
    """What the member shall have, and which of it is free."""
    group, mine = draft.group, (None, place.member_id, place.replaced_id)
    topics = shard.known_topics(group.topics_of(info))
    return Wanted(
        draft.target_of(place.member_id),
        draft.assignment_epoch,
        frozenset(each.topic_id for each in topics),
        is_free=lambda topic_id, number: group.owner_of(topic_id, number) in mine,
    )
