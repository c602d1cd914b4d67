"""JoinGroup: who becomes a member of a classic group, and when it is told so.

The answer is parked until a rebalance ends, unless nothing has to change. A member
without an id gets one; a dynamic one must come back with it from version 4 on, so
that a client whose answer was lost does not leave a dead member behind (KIP-394).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.classic_member import ClassicMember
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    GroupMaxSizeReached,
    InconsistentGroupProtocol,
    InvalidSessionTimeout,
    UnknownMemberId,
)
from odradek.protocol.uuids import hyphened, random_uuid

from . import static as classic_static
from .answers import answer_join, joined, refused_join
from .rebalance import (
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    begin_pending_session,
    cancel_session,
    maybe_complete_join,
    rebalance_or_complete_join,
    renew_session,
)
from .validation import check_member

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
    from odradek.broker.coordinator.group.state.classic_member import Protocols
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.messages.groups import JoinGroupRequest

FIRST_VERSION_WITH_MEMBER_ID_REQUIRED = 4
FIRST_VERSION_WITH_SKIP_ASSIGNMENT = 9
NO_MEMBER_ID = ""


class Joining(NamedTuple):
    """One JoinGroup, with bytes of its own."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    must_know_its_id: bool
    knows_skip_assignment: bool
    reason: str | None = None

    @classmethod
    def of(
        cls,
        request: JoinGroupRequest,
        api_version: int,
        client_id: str,
        client_host: str,
    ) -> Joining:
        """What a request says; before version 1 one timeout stands for both."""
        rebalance_timeout_ms = request.rebalance_timeout_ms
        if rebalance_timeout_ms < 0:
            rebalance_timeout_ms = request.session_timeout_ms
        return cls(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            client_id,
            client_host,
            rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocol_type,
            tuple((each.name, bytes(each.metadata)) for each in request.protocols),
            api_version >= FIRST_VERSION_WITH_MEMBER_ID_REQUIRED,
            api_version >= FIRST_VERSION_WITH_SKIP_ASSIGNMENT,
            request.reason,
        )


def decide_join(shard: GroupShard, joining: Joining) -> Decision:
    """Let a member join, or say why not.

    Raises:
        InvalidSessionTimeout, UnknownMemberId, InconsistentGroupProtocol,
        FencedInstanceId, GroupMaxSizeReached, CoordinatorNotAvailable.
    """
    config = shard.config
    if not (
        config.group_min_session_timeout_ms
        <= joining.session_timeout_ms
        <= config.group_max_session_timeout_ms
    ):
        raise InvalidSessionTimeout
    group = shard.group(joining.group_id)
    if group is None:
        if joining.member_id != NO_MEMBER_ID:
            raise UnknownMemberId
        if not joining.protocol_type or not joining.protocols:
            raise InconsistentGroupProtocol
        group = shard.get_or_create(joining.group_id)
    if group.is_in(ClassicState.DEAD):
        raise CoordinatorNotAvailable
    _check_size(shard, group, joining)
    names = [name for name, _ in joining.protocols]
    if not group.supports(joining.protocol_type, names):
        raise InconsistentGroupProtocol
    if joining.member_id == NO_MEMBER_ID:
        return _join_without_id(shard, group, joining)
    return _join_with_id(shard, group, joining)


def _check_size(shard: GroupShard, group: ClassicGroup, joining: Joining) -> None:
    """Refuse one more than ``group.max.size``; a member that is too many goes."""
    limit = shard.config.group_max_size
    member = group.members.get(joining.member_id)
    if group.is_in(ClassicState.EMPTY, ClassicState.DEAD):
        return
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        is_awaited = member is not None and member.awaiting_join is not None
        if is_awaited or len(group.awaiting_join()) < limit:
            return
    elif member is not None or len(group.members) < limit:
        return
    if member is not None:
        cancel_session(shard, group, member.member_id)
    group.remove(joining.member_id)
    maybe_complete_join(shard, group)
    raise GroupMaxSizeReached


def _join_without_id(
    shard: GroupShard, group: ClassicGroup, joining: Joining
) -> Decision:
    instance_id = joining.group_instance_id
    name = joining.client_id if instance_id is None else instance_id
    new_id = f"{name}-{hyphened(random_uuid())}"
    if instance_id is not None:
        known_id = group.static_members.get(instance_id)
        if known_id is not None:
            return classic_static.replace(shard, group, joining, known_id, new_id)
        return _add(shard, group, joining, new_id)
    if not joining.must_know_its_id:
        return _add(shard, group, joining, new_id)
    begin_pending_session(shard, group, new_id, joining.session_timeout_ms)
    return Decision(refused_join(ErrorCode.MEMBER_ID_REQUIRED, new_id))


def _join_with_id(shard: GroupShard, group: ClassicGroup, joining: Joining) -> Decision:
    member_id = joining.member_id
    # Only dynamic members are told to come back with their id.
    if joining.group_instance_id is None and member_id in group.pending_join_ids:
        return _add(shard, group, joining, member_id)
    member = check_member(group, member_id, joining.group_instance_id)
    has_changed = joining.protocols != member.protocols
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        return rejoin(shard, group, member, joining)
    if group.is_in(ClassicState.COMPLETING_REBALANCE):
        # Its answer may have been lost: the same answer again.
        if has_changed:
            return rejoin(shard, group, member, joining)
        return Decision(joined(group, member))
    if group.is_in(ClassicState.STABLE):
        # The leader comes back to have partitions assigned anew.
        if has_changed or group.is_leader(member_id):
            return rejoin(shard, group, member, joining)
        return Decision(joined(group, member, with_members=False))
    raise UnknownMemberId


def _add(
    shard: GroupShard, group: ClassicGroup, joining: Joining, member_id: str
) -> Decision:
    member = ClassicMember(
        member_id,
        joining.group_instance_id,
        joining.client_id,
        joining.client_host,
        joining.rebalance_timeout_ms,
        joining.session_timeout_ms,
        joining.protocol_type,
        joining.protocols,
        is_new=True,
        awaiting_join=Parked(),
    )
    if group.is_in(ClassicState.PREPARING_REBALANCE) and group.is_first_rebalance:
        group.new_member_added = True
    group.add(member)
    renew_session(shard, group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
    answer = member.awaiting_join
    rebalance_or_complete_join(shard, group, f"{member.label} joins{_because(joining)}")
    return Decision(answer)


def rejoin(
    shard: GroupShard, group: ClassicGroup, member: ClassicMember, joining: Joining
) -> Decision:
    """Let a member join the next generation, with what it says now."""
    group.update(
        member,
        joining.protocols,
        joining.rebalance_timeout_ms,
        joining.session_timeout_ms,
    )
    # Who asks again has given up on its first question.
    again = refused_join(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
    answer_join(member, again)
    answer = member.awaiting_join = Parked()
    rebalance_or_complete_join(
        shard, group, f"{member.label} joins again{_because(joining)}"
    )
    return Decision(answer)


def _because(joining: Joining) -> str:
    """What a client says of its reason; many say nothing."""
    return f": {joining.reason}" if joining.reason else ""
