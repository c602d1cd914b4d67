"""TxnOffsetCommit: a transaction moves a group, if it is committed.

The offsets are written at once, as part of the transaction, and pending until its
marker comes. Nobody needs to be a member for that: old producers do not know for
whom they commit (KIP-447 taught them). One that says so must be of the present
generation, though it may commit while the group rebalances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.decision import Decision
from odradek.protocol.errors import IllegalGeneration

from .commit import (
    check_assigned,
    check_membership,
    has_assigned_group,
    offset_records,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.coordinator.decision import ProducerIdentity
    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.storage.producers.verification_state import VerificationGuard

    from .commit import Committer, WantedOffset


def decide_txn_commit(
    shard: GroupShard,
    committer: Committer,
    producer: ProducerIdentity,
    guard: VerificationGuard | None,
    wanted: Sequence[WantedOffset],
    answer: Callable[[list[int]], Any],
) -> Decision:
    """Commit in a transaction; ``answer`` is given one error code for each offset.

    ``guard`` was given before the transaction's coordinator was asked.

    Raises:
        UnknownMemberId, FencedInstanceId, IllegalGeneration, CoordinatorNotAvailable;
        GroupIdNotFound: it is a share group.
    """
    group = shard.group(committer.group_id)
    if group is not None:
        check_membership(group, committer)
    elif has_assigned_group(shard, committer.group_id):
        check_assigned(shard, committer, wanted)
    elif committer.generation_id >= 0:
        raise IllegalGeneration
    codes, records = offset_records(shard, committer.group_id, wanted)
    return Decision(answer(codes), records, producer=producer, guard=guard)
