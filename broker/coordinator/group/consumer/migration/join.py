"""JoinGroup of a consumer group: a member of the classic protocol among the others.

It is answered at once: the broker assigns, nobody leads, and what the member may read
it is told by SyncGroup. A generation is the member's epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.classic.answers import refused_join
from odradek.broker.coordinator.group.consumer.draft import Draft
from odradek.broker.coordinator.group.consumer.fencing import tell
from odradek.broker.coordinator.group.consumer.finding import check_instance
from odradek.broker.coordinator.group.consumer.membership import (
    Place,
    advance,
    begin_epoch,
    check_size,
    note,
    take_over,
)
from odradek.broker.coordinator.group.consumer.removal import make_way
from odradek.broker.coordinator.group.consumer.sessions import await_sync
from odradek.broker.coordinator.group.state.consumer.member import (
    ClassicPart,
    MemberInfo,
)
from odradek.protocol.consumer_protocol import PROTOCOL_TYPE, decode_subscription
from odradek.protocol.errors import (
    ErrorCode,
    InconsistentGroupProtocol,
    InvalidSessionTimeout,
    MalformedRequest,
)
from odradek.protocol.messages.groups import JoinGroupResponse
from odradek.protocol.uuids import hyphened, random_uuid

from .downgrade import becomes_classic, decide_downgrade
from .embedded import owned_of

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.classic.join import Joining
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.consumer_protocol import ConsumerProtocolSubscription

NO_MEMBER_ID = ""
NO_MIGRATION = "disabled"


def decide_mixed_join(shard: GroupShard, joining: Joining) -> Decision:
    """Let a member join, or join again.

    Raises:
        InvalidSessionTimeout, InconsistentGroupProtocol, GroupMaxSizeReached,
        UnknownMemberId, FencedInstanceId.
    """
    group = shard.consumer_groups[joining.group_id]
    said = _check(shard, group, joining)
    member_id = joining.member_id
    if member_id == NO_MEMBER_ID:
        name = joining.group_instance_id or joining.client_id
        member_id = f"{name}-{hyphened(random_uuid())}"
    check_size(shard, group, member_id)
    if (
        joining.member_id == NO_MEMBER_ID
        and joining.group_instance_id is None
        and joining.must_know_its_id
    ):
        return Decision(refused_join(ErrorCode.MEMBER_ID_REQUIRED, member_id))
    draft = Draft(shard, group)
    place = _place_of(draft, joining, member_id)
    info = _described(place.info or MemberInfo(), joining, said)
    noted = note(draft, place, info)
    begin_epoch(draft, noted)
    holding = advance(shard, draft, place, info, noted, owned_of(shard, said))
    await_sync(shard, group.group_id, place.member_id, info)
    answer = JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=holding.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=joining.protocols[0][0],
        leader="",
        member_id=place.member_id,
        members=[],
    )
    return Decision(answer, draft.records, reads_state=True)


def gives_way(shard: GroupShard, joining: Joining) -> bool:
    """Whether the group is no more: it is a classic one, which the member may join.

    So it is when it has no members; and when the last one of the consumer protocol is
    static, and it is this one that joins now: the classic group has it in its place.

    Raises:
        UnknownMemberId: there are no members, and who joins says to be one.
        KafkaError: the change cannot be written.
    """
    group = shard.consumer_groups[joining.group_id]
    if group.is_empty:
        make_way(shard, group, joining.member_id)
        return True
    if joining.group_instance_id is None or joining.member_id != NO_MEMBER_ID:
        return False
    replaced = group.static_member(joining.group_instance_id)
    if replaced is None or replaced.is_classic:
        return False
    replaced_id = replaced.member_id
    if not becomes_classic(shard, group, {replaced_id}, joining=1):
        return False
    said = _check(shard, group, joining)
    infos = {
        member_id: _described(member.info, joining, said)
        if member_id == replaced_id
        else member.info
        for member_id, member in group.members.items()
    }
    is_stale = group.epoch > group.assignment_epoch
    reason = "its target was an old one" if is_stale else None
    shard.carry_out(decide_downgrade(shard, group, infos, reason))
    return True


def _check(
    shard: GroupShard, group: ConsumerGroup, joining: Joining
) -> ConsumerProtocolSubscription:
    """What the member subscribes to, if it may join."""
    config = shard.config
    if config.group_consumer_migration_policy == NO_MIGRATION:
        raise InconsistentGroupProtocol
    if not (
        config.group_min_session_timeout_ms
        <= joining.session_timeout_ms
        <= config.group_max_session_timeout_ms
    ):
        raise InvalidSessionTimeout
    if joining.protocol_type != PROTOCOL_TYPE or not joining.protocols:
        raise InconsistentGroupProtocol
    names = {name for name, _ in joining.protocols}
    for member_id, member in group.members.items():
        classic = member.info.classic
        if classic is not None and member_id != joining.member_id:
            names &= {name for name, _ in classic.protocols}
    if not names:
        raise InconsistentGroupProtocol
    try:
        return decode_subscription(joining.protocols[0][1])
    except MalformedRequest as error:
        raise InconsistentGroupProtocol from error


def _place_of(draft: Draft, joining: Joining, member_id: str) -> Place:
    group, instance_id = draft.group, joining.group_instance_id
    if instance_id is None:
        member = group.members.get(member_id)
    else:
        member = group.static_member(instance_id)
        if member is not None and joining.member_id == NO_MEMBER_ID:
            return take_over(draft, member, member_id)
        if joining.member_id != NO_MEMBER_ID:
            member = check_instance(group, instance_id, member_id)
    if member is not None:
        return Place.of(member)
    tell(group.group_id, draft.epoch, f"{member_id} joins by the classic protocol")
    return Place(member_id)


def _described(
    known: MemberInfo, joining: Joining, said: ConsumerProtocolSubscription
) -> MemberInfo:
    return MemberInfo(
        joining.group_instance_id,
        said.rack_id if said.rack_id is not None else known.rack_id,
        joining.client_id,
        joining.client_host,
        tuple(sorted(set(said.topics))),
        "",
        joining.rebalance_timeout_ms,
        known.assignor,
        ClassicPart(joining.session_timeout_ms, joining.protocols),
    )
