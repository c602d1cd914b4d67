"""ShareGroupHeartbeat: who joins, what has changed, who shall read what.

One heartbeat does all that can be done now, in this order:

1. The member is found, or made.
2. What it says of itself is noted. Other topics begin another epoch of the group.
3. Partitions without a state get one (`beginning`): the answer waits for that.
4. If the epoch has no target yet, one is found, for all members.
5. The member has its part of the target. Nobody has to give anything up first: who had
   a partition may go on with the records that it was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    LEFT_EPOCH,
)
from odradek.broker.coordinator.group.state.share import records
from odradek.broker.coordinator.group.state.share.member import (
    ShareHolding,
    ShareMemberInfo,
)
from odradek.protocol.errors import GroupMaxSizeReached

from .answers import left_answer, share_beat_answer
from .check import check_epoch
from .draft import ShareDraft
from .finding import find_group, known_group, known_member
from .sessions import keep_session, remove_member, tell

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.coordinator.group.state.share.group import ShareGroup
    from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest

_JOINING = ShareHolding()


class ShareBeat(NamedTuple):
    """One heartbeat, and who sent it."""

    request: ShareGroupHeartbeatRequest
    client_id: str
    client_host: str


def decide_share_beat(shard: GroupShard, beat: ShareBeat) -> Decision:
    """Do what a heartbeat asks for.

    Raises:
        GroupIdNotFound, GroupMaxSizeReached, UnknownMemberId, FencedMemberEpoch.
    """
    request = beat.request
    if request.member_epoch == LEFT_EPOCH:
        return _decide_leaving(shard, request)
    draft = _noted(shard, beat)
    missing = draft.without_state()
    if missing:
        from .beginning import decide_beginning

        keep_session(shard, request.group_id, request.member_id)
        return decide_beginning(shard, draft, missing, beat)
    return _advance(shard, draft, request)


def decide_share_beat_as_it_is(shard: GroupShard, beat: ShareBeat) -> Decision:
    """The same, with what has a state now; a later heartbeat sees to the rest.

    Raises:
        GroupIdNotFound, GroupMaxSizeReached, UnknownMemberId, FencedMemberEpoch.
    """
    return _advance(shard, _noted(shard, beat), beat.request)


def _noted(shard: GroupShard, beat: ShareBeat) -> ShareDraft:
    """What the member says of itself, and the epoch that begins with it."""
    request = beat.request
    is_joining = request.member_epoch == JOINING_EPOCH
    group = find_group(shard, request.group_id, is_joining)
    draft = ShareDraft(shard, group)
    known: ShareMemberInfo | None = None
    if not is_joining:
        member = known_member(group, request.member_id)
        check_epoch(member.holding, request.member_epoch)
        known = member.info
    elif request.member_id in group.members:
        known = group.members[request.member_id].info
    else:
        _check_size(shard, group)
        tell(group.group_id, draft.epoch, f"{request.member_id} joins")
    info = _described(known or ShareMemberInfo(), beat)
    if info != known:
        draft.describe(request.member_id, info)
    reads_others = known is None or info.topic_names != known.topic_names
    if reads_others or draft.has_other_topics():
        draft.bump()
    return draft


def _check_size(shard: GroupShard, group: ShareGroup) -> None:
    limit = shard.config.group_share_max_size
    if len(group.members) >= limit:
        raise GroupMaxSizeReached(
            f"The share group has reached its maximum capacity of {limit} members."
        )


def _described(known: ShareMemberInfo, beat: ShareBeat) -> ShareMemberInfo:
    """The member as it describes itself now: what it does not say is as before."""
    request, names = beat.request, known.topic_names
    if request.subscribed_topic_names is not None:
        names = tuple(sorted(set(request.subscribed_topic_names)))
    rack_id = known.rack_id if request.rack_id is None else request.rack_id
    return ShareMemberInfo(rack_id, beat.client_id, beat.client_host, names)


def _advance(
    shard: GroupShard, draft: ShareDraft, request: ShareGroupHeartbeatRequest
) -> Decision:
    """The member has its part of the target; its session goes on."""
    draft.assign()
    member_id = request.member_id
    member = draft.group.members.get(member_id)
    before = _JOINING if member is None else member.holding
    after = before
    if before.epoch != draft.assignment_epoch:
        after = ShareHolding(
            draft.assignment_epoch, before.epoch, draft.target_of(member_id)
        )
    if member_id in draft.changed:
        after = _only_subscribed(shard, draft.changed[member_id], after)
    if after != before:
        draft.put(records.HOLDING_KEY, member_id, after)
    keep_session(shard, request.group_id, member_id)
    is_told = (
        request.member_epoch == JOINING_EPOCH
        or request.subscribed_topic_names is not None
        or after.assigned != before.assigned
    )
    answer = share_beat_answer(
        shard,
        request,
        after,
        with_assignment=is_told,
        assigns_in_ms=draft.assigns_in_ms,
    )
    return Decision(answer, draft.records, reads_state=True)


def _only_subscribed(
    shard: GroupShard, info: ShareMemberInfo, holding: ShareHolding
) -> ShareHolding:
    """Nothing of a topic that the member does not read any more, whoever else will."""
    topics = shard.known_topics(info.topic_names)
    wanted = {each.topic_id for each in topics}
    if wanted >= holding.assigned.keys():
        return holding
    assigned = {key: of for key, of in holding.assigned.items() if key in wanted}
    return holding._replace(assigned=assigned)


def _decide_leaving(shard: GroupShard, request: ShareGroupHeartbeatRequest) -> Decision:
    group = known_group(shard, request.group_id)
    member = known_member(group, request.member_id)
    tell(group.group_id, group.epoch, f"{member.member_id} has left")
    decision = remove_member(shard, group, member.member_id)
    decision.response = left_answer(member.member_id, LEFT_EPOCH)
    return decision
