"""What leads a member further, by whichever protocol it has asked for it.

The steps of a heartbeat, and of a member of the classic protocol that joins again:
see `heartbeat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.state.consumer import records
from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    Holding,
    HoldingState,
    MemberInfo,
)
from odradek.protocol.errors import GroupMaxSizeReached

from .reconcile import Wanted, reconcile
from .sessions import await_revocation, renew_session
from .targets.patterns import check_pattern, forget_unused
from .targets.target import assign
from .timer_keys import forget

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.consumer.member import ConsumerMember
    from odradek.broker.coordinator.group.state.shard import GroupShard

    from .draft import Draft
    from .reconcile import Owned

_JOINING = Holding()


class Place(NamedTuple):
    """Where a member stands before it asks; a new one has said nothing yet."""

    member_id: str
    info: MemberInfo | None = None
    holding: Holding = _JOINING
    replaced_id: str | None = None

    @classmethod
    def of(cls, member: ConsumerMember) -> Place:
        """That of a member."""
        return cls(member.member_id, member.info, member.holding)


class Noted(NamedTuple):
    """What has changed in what a member says."""

    reads_others: bool = False
    begins_epoch: bool = False


def check_size(shard: GroupShard, group: ConsumerGroup, member_id: str) -> None:
    """See that there is room for who joins.

    Raises:
        GroupMaxSizeReached: there is none.
    """
    limit = shard.config.group_consumer_max_size
    if len(group.members) >= limit and member_id not in group.members:
        raise GroupMaxSizeReached(
            f"The consumer group has reached its maximum capacity of {limit} members."
        )


def take_over(draft: Draft, known: ConsumerMember, member_id: str) -> Place:
    """Put a static member in the place of another one, with what that shall have."""
    target = draft.target_of(known.member_id)
    draft.remove(known.member_id)
    draft.describe(member_id, known.info)
    draft.put(records.TARGET_KEY, member_id, target)
    draft.targets[member_id] = target
    holding = known.holding._replace(epoch=JOINING_EPOCH, previous_epoch=JOINING_EPOCH)
    return Place(member_id, known.info, holding, known.member_id)


def note(draft: Draft, place: Place, info: MemberInfo) -> Noted:
    """Write what a member says of itself, if it is not what it said before.

    Raises:
        InvalidRegularExpression: nobody can subscribe by its pattern.
    """
    if info == place.info:
        return Noted()
    before = place.info or MemberInfo()
    has_other_pattern = info.pattern != before.pattern
    if has_other_pattern and not draft.group.subscribers_by(info.pattern):
        check_pattern(info.pattern)
    draft.describe(place.member_id, info)
    forget_unused(draft)
    if info.topic_names != before.topic_names:
        return Noted(reads_others=True, begins_epoch=True)
    # What a new pattern matches is not known yet.
    is_known = not info.pattern or info.pattern in draft.group.patterns
    return Noted(has_other_pattern, has_other_pattern and is_known)


def begin_epoch(draft: Draft, noted: Noted) -> None:
    """Begin another epoch, if anybody shall read something else."""
    if noted.begins_epoch or draft.has_other_topics():
        draft.bump()
    elif not draft.group.epoch:
        draft.write_epoch()


def advance(
    shard: GroupShard,
    draft: Draft,
    place: Place,
    info: MemberInfo,
    noted: Noted,
    owned: Owned,
) -> Holding:
    """What the member has from now on; its session goes on.

    Raises:
        FencedMemberEpoch: it is in a state that is not known here.
    """
    assign(shard, draft)
    before, group_id = place.holding, draft.group.group_id
    holding = before
    if (
        before.state != HoldingState.STABLE
        or before.epoch != draft.assignment_epoch
        or noted.reads_others
    ):
        wanted = _wanted(shard, draft, place, info)
        holding = reconcile(
            before,
            wanted._replace(owned=owned, has_subscription_changed=noted.reads_others),
        )
    if place.replaced_id is not None:
        forget(shard, group_id, place.replaced_id)
    if holding is not before or place.info is None or place.replaced_id is not None:
        draft.put(records.HOLDING_KEY, place.member_id, holding)
        await_revocation(shard, group_id, place.member_id, info, holding)
    renew_session(shard, group_id, place.member_id, info)
    return holding


def _wanted(shard: GroupShard, draft: Draft, place: Place, info: MemberInfo) -> Wanted:
    """What the member shall have, and which of it is free."""
    group, mine = draft.group, (None, place.member_id, place.replaced_id)
    topics = shard.known_topics(group.topics_of(info))
    return Wanted(
        draft.target_of(place.member_id),
        draft.assignment_epoch,
        frozenset(each.topic_id for each in topics),
        is_free=lambda topic_id, number: group.owner_of(topic_id, number) in mine,
    )
