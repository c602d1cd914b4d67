"""How a classic group gets from one generation to the next.

A rebalance is *prepared* when membership changes: everybody is asked to join again,
and what waits for an assignment is sent back. It is *completed* when all have joined,
or when the longest rebalance timeout is over: who has not come is no member any more,
except static members, who go with their session. The leader's assignment then ends it.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.classic_states import (
    ClassicEvent,
    ClassicState,
)
from odradek.broker.coordinator.group.state.records import GroupRecord
from odradek.broker.runtime.logs import counted
from odradek.protocol.errors import ErrorCode

from .answers import (
    answer_join,
    answer_sync,
    joined,
    refused_join,
    refused_sync,
    synced,
)

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
    from odradek.broker.coordinator.group.state.classic_member import ClassicMember
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.protocol.errors import KafkaError

# A new member does not know its id yet and cannot beat; it retries after this long.
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000

_logger = logging.getLogger(__name__)


# Begin


def rebalance_or_complete_join(
    shard: GroupShard, group: ClassicGroup, reason: str
) -> None:
    """Begin a rebalance; if one is under way, see whether it can go on."""
    if group.can(ClassicEvent.REBALANCE_BEGUN):
        prepare_rebalance(shard, group, reason)
    else:
        maybe_complete_join(shard, group)


def prepare_rebalance(shard: GroupShard, group: ClassicGroup, reason: str) -> None:
    """Ask all members to join again."""
    tell(group, f"{reason}; the group rebalances")
    if group.is_in(ClassicState.COMPLETING_REBALANCE):
        send_back_awaiting_sync(shard, group, ErrorCode.REBALANCE_IN_PROGRESS)
    cancel_pending_sync(shard, group)
    is_first = group.is_in(ClassicState.EMPTY)
    group.note(ClassicEvent.REBALANCE_BEGUN, shard.clock.now_ms())
    shard.announce(group)
    group.is_first_rebalance = is_first
    if is_first:
        delay_ms = shard.config.group_initial_rebalance_delay_ms
        remaining_ms = max(0, group.rebalance_timeout_ms - delay_ms)
        _await_more_members(shard, group, delay_ms, remaining_ms)
    elif group.has_all_joined:
        complete_join(shard, group)
    else:
        _complete_join_after(shard, group)


def maybe_complete_join(shard: GroupShard, group: ClassicGroup) -> None:
    """End the wait for members when nobody is missing."""
    if (
        group.is_in(ClassicState.PREPARING_REBALANCE)
        and not group.is_first_rebalance
        and group.has_all_joined
    ):
        complete_join(shard, group)


def _await_more_members(
    shard: GroupShard, group: ClassicGroup, delay_ms: int, remaining_ms: int
) -> None:
    def over() -> None:
        if group.new_member_added and remaining_ms:
            group.new_member_added = False
            next_ms = min(shard.config.group_initial_rebalance_delay_ms, remaining_ms)
            _await_more_members(shard, group, next_ms, max(0, remaining_ms - delay_ms))
        else:
            complete_join(shard, group)

    shard.timers.start(_join_key(group), delay_ms, over)


def _complete_join_after(shard: GroupShard, group: ClassicGroup) -> None:
    shard.timers.start(
        _join_key(group),
        group.rebalance_timeout_ms,
        partial(complete_join, shard, group),
    )


# Complete


def complete_join(shard: GroupShard, group: ClassicGroup) -> None:
    """Begin the next generation with the members that have joined."""
    shard.timers.cancel(_join_key(group))
    if not group.is_in(ClassicState.PREPARING_REBALANCE):
        return
    timeout_ms = group.rebalance_timeout_ms  # of those that are there now
    for member in group.not_joined():
        if not member.is_static:
            tell(
                group,
                f"{member.label} has not joined again within the rebalance timeout of "
                f"{timeout_ms} ms (max.poll.interval.ms), and is removed",
            )
            group.remove(member.member_id)
            cancel_session(shard, group, member.member_id)
    if group.members and not group.maybe_elect_leader():
        _complete_join_after(shard, group)  # sessions will end, or somebody comes
        return
    group.begin_generation(shard.clock.now_ms())
    shard.announce(group)
    if group.is_in(ClassicState.EMPTY):
        tell(group, "no members are left")
        shard.write(_record(group), undo=partial(_warn_of_loss, group))
        return
    tell(group, f"begins with {counted(len(group.members), 'member')}")
    for member in group.members.values():
        answer_join(member, joined(group, member))
        member.is_new = False
        renew_session(shard, group, member)
    shard.timers.start(
        _sync_key(group),
        group.rebalance_timeout_ms,
        partial(_expire_pending_sync, shard, group, group.generation_id),
    )


def assign(
    shard: GroupShard, group: ClassicGroup, assignments: dict[str, bytes]
) -> None:
    """Write the leader's assignment; then every member gets its part.

    With static members only when it is durable: who is fenced has to stay so.

    Of one generation it is written once: members may have been given the first one
    when a leader, which asks again, is told that.
    """
    if group.is_assignment_written:
        return
    group.is_assignment_written = True
    generation_id = group.generation_id

    def is_over() -> bool:
        # Meanwhile a member may have come or gone, and another rebalance begun.
        return (
            not group.is_in(ClassicState.COMPLETING_REBALANCE)
            or group.generation_id != generation_id
        )

    def then() -> None:
        if is_over():
            return
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        group.note(ClassicEvent.ASSIGNMENT_STORED, shard.clock.now_ms())
        shard.announce(group)
        answer_awaiting_sync(shard, group)

    def undo(error: KafkaError) -> None:
        if is_over():
            return
        send_back_awaiting_sync(shard, group, error.code)
        rebalance_or_complete_join(shard, group, "the assignment was not stored")

    may_be_lost = not group.static_members
    shard.write(_record(group, assignments), then, undo, may_be_lost)


def answer_awaiting_sync(shard: GroupShard, group: ClassicGroup) -> None:
    """Give the members that wait their assignments."""
    for member in group.members.values():
        if answer_sync(member, synced(group, member)):
            renew_session(shard, group, member)


def send_back_awaiting_sync(shard: GroupShard, group: ClassicGroup, code: int) -> None:
    """Take assignments away, and tell the members that wait for one why."""
    for member in group.members.values():
        member.assignment = b""
        if answer_sync(member, refused_sync(code)):
            renew_session(shard, group, member)


def note_sync(shard: GroupShard, group: ClassicGroup, member_id: str) -> None:
    """A member has asked for its assignment: it is alive."""
    group.pending_sync_ids.discard(member_id)
    if not group.pending_sync_ids:
        cancel_pending_sync(shard, group)


def cancel_pending_sync(shard: GroupShard, group: ClassicGroup) -> None:
    """Wait no more for members that have not asked for their assignment."""
    shard.timers.cancel(_sync_key(group))
    group.pending_sync_ids.clear()


def _expire_pending_sync(
    shard: GroupShard, group: ClassicGroup, generation_id: int
) -> None:
    if group.generation_id != generation_id or not group.pending_sync_ids:
        return
    if group.is_in(ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
        timeout_ms = group.rebalance_timeout_ms  # of those that are there now
        silent = list(group.pending_sync_ids)
        labels = [group.members[each].label for each in silent if each in group.members]
        for member_id in silent:
            group.remove(member_id)
            cancel_session(shard, group, member_id)
        who = ", ".join(labels) or "who joined"
        prepare_rebalance(
            shard,
            group,
            f"{who} did not ask for an assignment within the rebalance timeout of "
            f"{timeout_ms} ms, and is removed",
        )


# Leave


def remove_member(
    shard: GroupShard, group: ClassicGroup, member: ClassicMember, reason: str
) -> None:
    """Let a member go, and rebalance without it."""
    # Who is new may wait for a rebalance and be removed all the same.
    answer_join(member, refused_join(ErrorCode.UNKNOWN_MEMBER_ID))
    answer_sync(member, refused_sync(ErrorCode.UNKNOWN_MEMBER_ID))
    cancel_session(shard, group, member.member_id)
    group.remove(member.member_id)
    if group.is_in(ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
        rebalance_or_complete_join(shard, group, reason)
    else:
        tell(group, reason)
        maybe_complete_join(shard, group)


def remove_pending_member(
    shard: GroupShard, group: ClassicGroup, member_id: str
) -> None:
    """Wait no more for one that was given an id and did not come back with it."""
    cancel_session(shard, group, member_id)
    group.pending_join_ids.discard(member_id)
    maybe_complete_join(shard, group)


# Sessions


def renew_session(
    shard: GroupShard,
    group: ClassicGroup,
    member: ClassicMember,
    timeout_ms: int | None = None,
) -> None:
    """Let a member's session last from now on."""
    shard.timers.start(
        session_key(group.group_id, member.member_id),
        member.session_timeout_ms if timeout_ms is None else timeout_ms,
        partial(expire_session, shard, group, member.member_id),
    )


def begin_pending_session(
    shard: GroupShard, group: ClassicGroup, member_id: str, timeout_ms: int
) -> None:
    """Wait for a member that was given an id to come back with it."""
    group.pending_join_ids.add(member_id)
    shard.timers.start(
        session_key(group.group_id, member_id),
        timeout_ms,
        partial(expire_session, shard, group, member_id),
    )


def keep_session(
    shard: GroupShard, group: ClassicGroup, member: ClassicMember, in_ms: int
) -> None:
    """Let a member's session last as if it began in ``in_ms``, if it can end at all."""
    if session_key(group.group_id, member.member_id) in shard.timers:
        is_new, session_ms = member.is_new, member.session_timeout_ms
        timeout_ms = NEW_MEMBER_JOIN_TIMEOUT_MS if is_new else session_ms
        renew_session(shard, group, member, in_ms + timeout_ms)


def cancel_session(shard: GroupShard, group: ClassicGroup, member_id: str) -> None:
    """Do not wait for a member any more."""
    shard.timers.cancel(session_key(group.group_id, member_id))


def expire_session(shard: GroupShard, group: ClassicGroup, member_id: str) -> None:
    """A member was not heard of for as long as its session lasts."""
    if member_id in group.pending_join_ids:
        remove_pending_member(shard, group, member_id)
        return
    member = group.members.get(member_id)
    if member is None:
        return
    # Whoever waits for an answer cannot beat; a new member may be gone for good.
    if member.is_waiting and not member.is_new:
        return
    remove_member(
        shard,
        group,
        member,
        f"{member.label} was not heard of for its session timeout of "
        f"{member.session_timeout_ms} ms, and is removed",
    )


# Loading and the end


def resume(shard: GroupShard) -> None:
    """After loading: every member has its session, too large groups shrink."""
    for group in list(shard.groups.values()):
        for member in group.members.values():
            renew_session(shard, group, member)
        if len(group.members) > shard.config.group_max_size:
            prepare_rebalance(shard, group, "the group is larger than group.max.size")


def dismiss(shard: GroupShard, error: KafkaError) -> None:
    """Answer everybody who waits: this coordinator is none any more."""
    for group in shard.groups.values():
        for member in group.members.values():
            answer_join(member, refused_join(error.code, member.member_id))
            answer_sync(member, refused_sync(error.code))


def _record(
    group: ClassicGroup, assignments: dict[str, bytes] | None = None
) -> GroupRecord:
    return GroupRecord(group.group_id, group.stored(assignments))


def tell(group: ClassicGroup, what: str) -> None:
    """What happens to a group, in its log line."""
    _logger.info(
        "group %s, generation %d: %s", group.group_id, group.generation_id, what
    )


def _warn_of_loss(group: ClassicGroup, error: KafkaError) -> None:
    _logger.warning("group %s is empty, and not stored: %s", group.group_id, error)


def _join_key(group: ClassicGroup) -> tuple[str, str]:
    return "join", group.group_id


def _sync_key(group: ClassicGroup) -> tuple[str, str]:
    return "sync", group.group_id


def session_key(group_id: str, member_id: str) -> tuple[str, str, str]:
    """The timer that ends a member's session."""
    return "session", group_id, member_id
