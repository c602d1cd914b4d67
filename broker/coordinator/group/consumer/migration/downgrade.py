"""A consumer group becomes a classic one again: only members of that protocol are left.

They keep what was theirs, and are asked to join again, so that one of them assigns.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.classic.rebalance import (
    prepare_rebalance,
    renew_session,
)
from odradek.broker.coordinator.group.consumer.removal import records_gone
from odradek.broker.coordinator.group.consumer.timer_keys import forget
from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
from odradek.broker.coordinator.group.state.classic_member import ClassicMember
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.coordinator.group.state.records import GroupRecord
from odradek.protocol.consumer_protocol import PROTOCOL_TYPE

from .embedded import embedded_assignment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from odradek.broker.coordinator.group.state.classic_member import Protocols
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import MemberInfo
    from odradek.broker.coordinator.group.state.shard import GroupShard

POLICIES = ("bidirectional", "downgrade")


def becomes_classic(
    shard: GroupShard, group: ConsumerGroup, gone: Collection[str], joining: int = 0
) -> bool:
    """Whether the group is a classic one when these are gone, and so many have joined.

    Who joins does it by the classic protocol.
    """
    rest = [each for each in group.members.values() if each.member_id not in gone]
    config = shard.config
    return (
        0 < len(rest) + joining <= config.group_max_size
        and all(each.is_classic for each in rest)
        and config.group_consumer_migration_policy in POLICIES
    )


def decide_downgrade(
    shard: GroupShard,
    group: ConsumerGroup,
    infos: Mapping[str, MemberInfo],
    reason: str | None,
) -> Decision:
    """Make a classic group of these members; with a ``reason`` it rebalances.

    What each has is what it shall have, though others may not have given it up: they
    do that before they join again.
    """
    classic = _classic(shard, group, infos)
    written = records_gone(shard, group)
    written.append(GroupRecord(group.group_id, classic.stored()))
    protocols = {each.member_id: each.protocols for each in classic.members.values()}
    member_ids = list(group.members)
    then = partial(_go_on, shard, group.group_id, member_ids, protocols, reason)
    return Decision(records=written, then=then)


def _classic(
    shard: GroupShard, group: ConsumerGroup, infos: Mapping[str, MemberInfo]
) -> ClassicGroup:
    classic = ClassicGroup(group.group_id, shard.clock.now_ms())
    classic.generation_id = group.epoch
    for member_id, info in infos.items():
        assert info.classic is not None
        classic.add(
            ClassicMember(
                member_id,
                info.instance_id,
                info.client_id,
                info.client_host,
                max(0, info.rebalance_timeout_ms),
                info.classic.session_timeout_ms,
                PROTOCOL_TYPE,
                info.classic.protocols,
            )
        )
    classic.state = ClassicState.STABLE
    classic.protocol_name = classic.select_protocol()
    for member in classic.members.values():
        metadata = member.metadata_for(classic.protocol_name)
        target = group.target_of(member.member_id)
        member.assignment = embedded_assignment(shard, target, metadata)
    return classic


def _go_on(
    shard: GroupShard,
    group_id: str,
    member_ids: Iterable[str],
    protocols: Mapping[str, Protocols],
    reason: str | None,
) -> None:
    """Begin the sessions; what records do not say of members is known here."""
    for member_id in member_ids:
        forget(shard, group_id, member_id)
    classic = shard.group(group_id)
    if classic is None:
        return
    for member_id, member in classic.members.items():
        if member_id in protocols:
            classic.update(
                member,
                protocols[member_id],
                member.rebalance_timeout_ms,
                member.session_timeout_ms,
            )
        renew_session(shard, classic, member)
    if reason is not None and classic.is_in(ClassicState.STABLE):
        prepare_rebalance(shard, classic, reason)
