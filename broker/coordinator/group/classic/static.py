"""A static member comes back after a restart, and gets a new member id (KIP-345).

Whoever had its instance id is fenced. If the group is stable and would vote for the
same assignor, nobody else need notice: the group is stored with the new id, in the
same generation. Should that fail, the old member is one again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.coordinator.group.state.records import GroupRecord
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode

from .answers import answer_join, answer_sync, joined, refused_join, refused_sync
from .rebalance import (
    cancel_session,
    maybe_complete_join,
    rebalance_or_complete_join,
    renew_session,
    tell,
)

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
    from odradek.broker.coordinator.group.state.classic_member import ClassicMember
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.errors import KafkaError

    from .join import Joining


def replace(
    shard: GroupShard,
    group: ClassicGroup,
    joining: Joining,
    old_id: str,
    new_id: str,
) -> Decision:
    """Let the member ``old_id`` go on as ``new_id``."""
    member = group.members[old_id]
    answer_join(member, refused_join(ErrorCode.FENCED_INSTANCE_ID, old_id))
    answer_sync(member, refused_sync(ErrorCode.FENCED_INSTANCE_ID))
    before = member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms
    client_before = member.client_id, member.client_host
    old_leader_id = group.leader_id
    cancel_session(shard, group, old_id)
    group.replace_static(old_id, new_id)
    group.update(
        member,
        joining.protocols,
        joining.rebalance_timeout_ms,
        joining.session_timeout_ms,
    )
    member.client_id, member.client_host = joining.client_id, joining.client_host
    member.is_new = False  # it has its id, and its own session
    renew_session(shard, group, member)
    answer = Parked()
    if (
        group.is_in(ClassicState.STABLE)
        and group.select_protocol() == group.protocol_name
    ):

        def undo(error: KafkaError) -> None:
            answer.set_result(refused_join(error.code, new_id))
            if group.members.get(new_id) is member:
                group.update(member, *before)
                member.client_id, member.client_host = client_before
                group.replace_static(new_id, old_id)
                cancel_session(shard, group, new_id)
                renew_session(shard, group, member)

        tell(group, f"{member.label} is back in the place of {old_id}")
        response = _unchanged(group, member, joining, old_leader_id)
        record = GroupRecord(group.group_id, group.stored())
        shard.write(record, lambda: answer.set_result(response), undo)
        return Decision(answer)
    member.awaiting_join = answer
    reason = f"{member.label} is back in the place of {old_id}"
    if group.is_in(ClassicState.PREPARING_REBALANCE):
        maybe_complete_join(shard, group)
    else:
        rebalance_or_complete_join(shard, group, reason)
    return Decision(answer)


def _unchanged(
    group: ClassicGroup,
    member: ClassicMember,
    joining: Joining,
    old_leader_id: str | None,
) -> object:
    """The present generation.

    A client that knows to skip the assignment may be told that it leads. Others would
    make a new one: they are told the old id of the leader, so that they follow.
    """
    if joining.knows_skip_assignment:
        is_leader = group.is_leader(member.member_id)
        return joined(group, member, with_members=is_leader, skip_assignment=is_leader)
    return joined(group, member, leader_id=old_leader_id or "", with_members=False)
