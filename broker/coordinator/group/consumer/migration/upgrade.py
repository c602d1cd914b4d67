"""A classic group becomes a consumer group while it has members (KIP-848).

The first member that joins by the consumer protocol brings it about. The others stay
members with what they have, and go on by the classic protocol (`mixed`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.classic.answers import (
    answer_join,
    answer_sync,
    refused_join,
    refused_sync,
)
from odradek.broker.coordinator.group.consumer.draft import FIRST_EPOCH
from odradek.broker.coordinator.group.consumer.sessions import renew_session
from odradek.broker.coordinator.group.consumer.targets.topic_hash import topic_hash
from odradek.broker.coordinator.group.state.consumer import records
from odradek.broker.coordinator.group.state.consumer.member import (
    ClassicPart,
    Holding,
    HoldingState,
    MemberInfo,
    partitions_of,
)
from odradek.broker.coordinator.group.state.consumer.records import (
    ConsumerRecord,
    GroupEpoch,
    TargetEpoch,
)
from odradek.broker.coordinator.group.state.consumer.replay import replay_consumer
from odradek.broker.coordinator.group.state.records import GroupRecord
from odradek.protocol.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    has_user_data,
)
from odradek.protocol.errors import ErrorCode, GroupIdNotFound, MalformedRequest

if TYPE_CHECKING:
    from odradek.broker.coordinator.decision import CoordinatorRecord
    from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
    from odradek.broker.coordinator.group.state.classic_member import ClassicMember
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.shard import GroupShard

POLICIES = ("bidirectional", "upgrade")
# Assignors that clients bring with them. What theirs say besides partitions is where
# these were before, which the members say themselves: librdkafka's leader sends it back
# to them, or does not. Apache Kafka refuses those groups then.
KNOWN_ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
# The next heartbeat finds a target, however soon that is.
LONG_AGO_MS = 0

_logger = logging.getLogger(__name__)


def upgraded(
    shard: GroupShard, classic: ClassicGroup
) -> tuple[ConsumerGroup, list[CoordinatorRecord]]:
    """The consumer group that it becomes, and the records that make it so.

    Raises:
        GroupIdNotFound: it cannot; the message says why.
    """
    epoch = max(classic.generation_id, FIRST_EPOCH)
    infos: dict[str, MemberInfo] = {}
    holdings: dict[str, Holding] = {}
    taken: set[tuple[bytes, int]] = set()
    try:
        _check(shard, classic)
        for member_id, member in classic.members.items():
            infos[member_id] = _info(classic, member)
            assigned = _assigned(shard, member, epoch, taken)
            holdings[member_id] = Holding(epoch, epoch, HoldingState.STABLE, assigned)
    except MalformedRequest as error:
        raise _refusal(
            classic, "its embedded consumer protocol is malformed"
        ) from error
    group_id = classic.group_id
    written = [
        ConsumerRecord(records.MEMBER_KEY, group_id, *of) for of in infos.items()
    ]
    names = {name for info in infos.values() for name in info.topic_names}
    found = GroupEpoch(epoch, topic_hash(shard.topics, names))
    written.append(ConsumerRecord(records.EPOCH_KEY, group_id, "", found))
    for member_id, holding in holdings.items():
        target = partitions_of(holding.assigned)
        written.append(ConsumerRecord(records.TARGET_KEY, group_id, member_id, target))
    target_epoch = TargetEpoch(epoch, LONG_AGO_MS)
    written.append(ConsumerRecord(records.TARGET_EPOCH_KEY, group_id, "", target_epoch))
    written += [
        ConsumerRecord(records.HOLDING_KEY, group_id, *of) for of in holdings.items()
    ]
    # As it will be: the one of the shard comes when all of this is written.
    groups: dict[str, ConsumerGroup] = {}
    for record in written:
        replay_consumer(groups, record)
    return groups[group_id], [GroupRecord(group_id, None), *written]


def begin_sessions(shard: GroupShard, classic: ClassicGroup) -> None:
    """Send back who waits for the classic group that was; its members stay alive."""
    group_id = classic.group_id
    _logger.info("group %s goes on by the consumer protocol", group_id)
    group = shard.consumer_groups.get(group_id)
    members = {} if group is None else group.members
    for member_id in classic.members.keys() & members.keys():
        renew_session(shard, group_id, member_id, members[member_id].info)
    for key in ("join", group_id), ("sync", group_id):
        shard.timers.cancel(key)
    code = ErrorCode.REBALANCE_IN_PROGRESS
    for member in classic.members.values():
        answer_join(member, refused_join(code, member.member_id))
        answer_sync(member, refused_sync(code))


def _check(shard: GroupShard, classic: ClassicGroup) -> None:
    config = shard.config
    if config.group_consumer_migration_policy not in POLICIES:
        raise _refusal(classic, "online upgrade is disabled")
    if classic.protocol_type != PROTOCOL_TYPE:
        raise _refusal(classic, "it does not use the consumer embedded protocol")
    if len(classic.members) > config.group_consumer_max_size:
        raise _refusal(classic, "its size exceeds the consumer group maximum size")
    if classic.protocol_name not in KNOWN_ASSIGNORS and any(
        has_user_data(each.assignment) for each in classic.members.values()
    ):
        raise _refusal(
            classic,
            "an unsupported custom assignor is in use. Switch to a default assignor "
            "before re-attempting the upgrade",
        )


def _refusal(classic: ClassicGroup, why: str) -> GroupIdNotFound:
    _logger.info("group %s cannot become a consumer group: %s", classic.group_id, why)
    return GroupIdNotFound(
        f"Cannot upgrade classic group {classic.group_id} to consumer group because "
        f"{why}."
    )


def _info(classic: ClassicGroup, member: ClassicMember) -> MemberInfo:
    metadata = member.metadata_for(classic.protocol_name or "")
    if not metadata and member.protocols:
        metadata = member.protocols[0][1]
    said = decode_subscription(metadata)
    return MemberInfo(
        member.group_instance_id,
        said.rack_id,
        member.client_id,
        member.client_host,
        tuple(sorted(set(said.topics))),
        "",
        member.rebalance_timeout_ms,
        None,
        ClassicPart(member.session_timeout_ms, member.protocols),
    )


def _assigned(
    shard: GroupShard,
    member: ClassicMember,
    epoch: int,
    taken: set[tuple[bytes, int]],
) -> dict[bytes, dict[int, int]]:
    """What a member has been assigned, of topics that are there; each place once."""
    assigned: dict[bytes, dict[int, int]] = {}
    for name, partition in decode_assignment(member.assignment):
        topic = shard.topics.get(name)
        if topic is None or (topic.topic_id, partition) in taken:
            continue
        taken.add((topic.topic_id, partition))
        assigned.setdefault(topic.topic_id, {})[partition] = epoch
    return assigned
