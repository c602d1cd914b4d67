"""What administrators ask: describe, list and delete groups, forget offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.coordinator.decision import Decision
from odradek.protocol.consumer_protocol import PROTOCOL_TYPE
from odradek.protocol.errors import ErrorCode, GroupIdNotFound, NonEmptyGroup
from odradek.protocol.messages.group_admin import (
    DescribedGroup,
    DescribedGroupMember,
    ListedGroup,
)

from .gone import group_gone
from .state.classic_states import ClassicState
from .state.records import OffsetRecord
from .state.subscription import topics_read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.coordinator.decision import CoordinatorRecord

    from .state.consumer.group import ConsumerState
    from .state.shard import Group, GroupShard
    from .state.share.group import ShareState
    from .state.streams.group import StreamsState

CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"
FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND = 6
_SAY_WHAT_THEY_READ = (PROTOCOL_TYPE, STREAMS)


class GroupFilter(NamedTuple):
    """Which groups are listed; empty lets everything pass. In lower case."""

    states: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()

    @classmethod
    def of(cls, states: Sequence[str], types: Sequence[str]) -> GroupFilter:
        """The filter of a request, which may write names in any case."""
        return cls(
            frozenset(each.lower() for each in states),
            frozenset(each.lower() for each in types),
        )

    def lets_pass(
        self,
        group_type: str,
        state: ClassicState | ConsumerState | ShareState | StreamsState,
    ) -> bool:
        """Whether a group of this type in this state is listed."""
        if self.types and group_type not in self.types:
            return False
        if not self.states:
            return True
        # Apache Kafka has NotReady of streams groups as not_ready here.
        name = state.value.lower()
        is_found = name in self.states
        return is_found or (name == "notready" and "not_ready" in self.states)


def decide_describe(shard: GroupShard, group_id: str, api_version: int) -> Decision:
    """Tell what a group does; before version 6 an unknown one is dead, not missing."""
    group = shard.group(group_id)
    if group is None:
        is_other = shard.group_of_any_type(group_id) is not None
        why = "is not a classic group." if is_other else "not found."
        described = _not_described(group_id, api_version, f"Group {group_id} {why}")
        return Decision(described, reads_state=True)
    is_stable = group.is_in(ClassicState.STABLE)
    protocol = (group.protocol_name or "") if is_stable else ""
    described = DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol,
        members=[
            DescribedGroupMember(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                member_metadata=each.metadata_for(protocol) if is_stable else b"",
                member_assignment=each.assignment if is_stable else b"",
            )
            for each in group.members.values()
        ],
    )
    return Decision(described, reads_state=True)


def _not_described(group_id: str, api_version: int, why: str) -> DescribedGroup:
    described = DescribedGroup(
        error_code=ErrorCode.NONE,
        group_id=group_id,
        group_state=ClassicState.DEAD.value,
        members=[],
    )
    if api_version >= FIRST_VERSION_WITH_GROUP_ID_NOT_FOUND:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = why
    return described


def decide_list(shard: GroupShard, wanted: GroupFilter) -> Decision:
    """List the groups of the shard."""
    groups = [
        ListedGroup(
            group_id=group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=CLASSIC,
        )
        for group_id, group in shard.groups.items()
        if wanted.lets_pass(CLASSIC, group.state)
    ]
    groups += (
        ListedGroup(
            group_id=group_id,
            protocol_type=each.protocol_type,
            group_state=each.state.value,
            group_type=group_type,
        )
        for group_type, of_type in (
            (CONSUMER, shard.consumer_groups),
            (SHARE, shard.share_groups),
            (STREAMS, shard.streams_groups),
        )
        for group_id, each in of_type.items()
        if wanted.lets_pass(group_type, each.state)
    )
    return Decision(groups, reads_state=True)


def decide_delete(shard: GroupShard, group_id: str) -> Decision:
    """Forget a group without members, and everything that it has committed.

    Raises:
        GroupIdNotFound, NonEmptyGroup.
    """
    if group_id in shard.share_groups:
        from .share.removal import decide_delete_share

        return decide_delete_share(shard, group_id)
    group = _found(shard, group_id)
    if not group.is_empty:
        raise NonEmptyGroup
    records: list[CoordinatorRecord] = [*all_offsets_gone(shard, group_id)]
    records += group_gone(shard, group_id)
    return Decision(ErrorCode.NONE, records)


def all_offsets_gone(shard: GroupShard, group_id: str) -> list[OffsetRecord]:
    """Tombstones for everything that a group has committed, and has pending."""
    everything = dict.fromkeys(shard.offsets.of_group(group_id))
    everything.update(dict.fromkeys(shard.offsets.pending_of_group(group_id)))
    return [OffsetRecord(group_id, *place, None) for place in everything]


def decide_delete_offsets(
    shard: GroupShard,
    group_id: str,
    wanted: Sequence[tuple[str, int]],
    answer: Callable[[list[int]], Any],
) -> Decision:
    """Forget offsets of topics that no member reads.

    Raises:
        GroupIdNotFound: there is no such group, or it is a share group.
        NonEmptyGroup: it has members of which nobody knows what they read.
    """
    if group_id in shard.share_groups:
        raise GroupIdNotFound
    group = _found(shard, group_id)
    if not group.is_empty and group.protocol_type not in _SAY_WHAT_THEY_READ:
        raise NonEmptyGroup
    read = topics_read(group) if group.members else frozenset()
    codes: list[int] = []
    records: list[OffsetRecord] = []
    for topic, partition in wanted:
        if read is None or topic in read:  # who does not say may read anything
            codes.append(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
            continue
        codes.append(ErrorCode.NONE)
        offsets = shard.offsets
        if offsets.get(group_id, topic, partition) or offsets.is_pending(
            group_id, topic, partition
        ):
            records.append(OffsetRecord(group_id, topic, partition, None))
    return Decision(answer(codes), records, reads_state=True)


def _found(shard: GroupShard, group_id: str) -> Group:
    group = shard.group_of_any_type(group_id)
    if group is None or group.is_gone:
        raise GroupIdNotFound
    return group
