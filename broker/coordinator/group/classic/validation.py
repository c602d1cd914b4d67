"""Is this one a member of this classic group, in this generation?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    FencedInstanceId,
    IllegalGeneration,
    InconsistentGroupProtocol,
    UnknownMemberId,
)

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
    from odradek.broker.coordinator.group.state.classic_member import ClassicMember
    from odradek.broker.coordinator.group.state.shard import GroupShard


def known_group(shard: GroupShard, group_id: str) -> ClassicGroup:
    """The group of one who says to be a member.

    Raises:
        UnknownMemberId: there is no such group.
        CoordinatorNotAvailable: it was deleted.
    """
    group = shard.group(group_id)
    if group is None:
        raise UnknownMemberId(f"there is no group {group_id}")
    if group.is_in(ClassicState.DEAD):
        raise CoordinatorNotAvailable
    return group


def check_member(
    group: ClassicGroup, member_id: str, group_instance_id: str | None
) -> ClassicMember:
    """The member; a static one is who has its instance id now.

    Raises:
        UnknownMemberId: there is no such one.
        FencedInstanceId: another member has taken its instance id.
    """
    if group_instance_id is not None:
        known_id = group.static_members.get(group_instance_id)
        if known_id is None:
            raise UnknownMemberId
        if known_id != member_id:
            raise FencedInstanceId
    member = group.members.get(member_id)
    if member is None:
        raise UnknownMemberId
    return member


def check_generation(group: ClassicGroup, generation_id: int) -> None:
    """See that the member is not behind, nor ahead.

    Raises:
        IllegalGeneration: it is.
    """
    if generation_id != group.generation_id:
        raise IllegalGeneration


def check_protocol(
    group: ClassicGroup, protocol_type: str | None, protocol_name: str | None
) -> None:
    """See that the member speaks of the same protocol; neither side need say.

    Raises:
        InconsistentGroupProtocol: it does not.
    """
    said = (protocol_type, group.protocol_type), (protocol_name, group.protocol_name)
    for theirs, ours in said:
        if None not in (theirs, ours) and theirs != ours:
            raise InconsistentGroupProtocol
