"""What a member has, on its way to what it shall have. Pure functions.

A member first gives up what it shall not have any more, and stays in its epoch until it
says so; then it enters the epoch of the target, and gets what nobody else has yet to
give up. So a partition never has two owners, whatever is lost or late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.state.consumer.member import (
    NOTHING_HELD,
    Holding,
    HoldingState,
)
from odradek.protocol.errors import FencedMemberEpoch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from odradek.broker.coordinator.group.state.consumer.member import Held, Partitions

    Owned = Mapping[bytes, Collection[int]] | None


class Wanted(NamedTuple):
    """What a member shall have, and what is known of that.

    ``topic_ids`` are those that it subscribes to now; the target may be of before that.
    ``owned`` is what it says to have; None: it did not say. ``is_free`` asks whether
    nobody else has a partition, or has yet to give it up.
    """

    target: Partitions
    epoch: int
    topic_ids: Collection[bytes]
    is_free: Callable[[bytes, int], bool]
    owned: Owned = None
    has_subscription_changed: bool = False


def reconcile(holding: Holding, wanted: Wanted) -> Holding:
    """What the member has from now on; the same value when nothing changes.

    Raises:
        FencedMemberEpoch: it is in a state that is not known here.
    """
    if holding.state == HoldingState.UNKNOWN:
        if wanted.owned is None or wanted.owned:
            raise FencedMemberEpoch(
                "The consumer group member is in a unknown state. The member must "
                "abandon all its partitions and rejoin."
            )
        return _advance(holding, wanted)
    if holding.state == HoldingState.STABLE and holding.epoch == wanted.epoch:
        return _cut(holding, wanted) if wanted.has_subscription_changed else holding
    if holding.state == HoldingState.UNREVOKED and _owns_any(
        wanted.owned, holding.pending
    ):
        return _cut(holding, wanted) if wanted.has_subscription_changed else holding
    advanced = _advance(holding, wanted)
    is_same = advanced._replace(previous_epoch=holding.previous_epoch) == holding
    return holding if is_same else advanced


def _advance(holding: Holding, wanted: Wanted) -> Holding:
    """Give up what is not in the target, or else take what is."""
    kept: dict[bytes, dict[int, int]] = {}
    revoked: dict[bytes, dict[int, int]] = {}
    for topic_id, epochs in holding.assigned.items():
        target = _subscribed(topic_id, wanted)
        for partition, epoch in epochs.items():
            side = kept if partition in target else revoked
            side.setdefault(topic_id, {})[partition] = epoch
    if revoked and _owns_any(wanted.owned, revoked):
        return Holding(
            holding.epoch, holding.epoch, HoldingState.UNREVOKED, kept, revoked
        )
    is_all = True
    for topic_id in wanted.target:
        for partition in _subscribed(topic_id, wanted):
            if partition in kept.get(topic_id, ()):
                continue
            if wanted.is_free(topic_id, partition) and not _has(
                holding.pending, topic_id, partition
            ):
                kept.setdefault(topic_id, {})[partition] = wanted.epoch
            else:
                is_all = False
    state = HoldingState.STABLE if is_all else HoldingState.UNRELEASED
    return Holding(wanted.epoch, holding.epoch, state, kept, NOTHING_HELD)


def _cut(holding: Holding, wanted: Wanted) -> Holding:
    """Give up what is not subscribed to any more; the target is still the old one."""
    kept = {
        topic_id: of
        for topic_id, of in holding.assigned.items()
        if topic_id in wanted.topic_ids
    }
    if len(kept) == len(holding.assigned):
        return holding
    pending = {topic_id: dict(of) for topic_id, of in holding.pending.items()}
    for topic_id, of in holding.assigned.items():
        if topic_id not in kept:
            pending.setdefault(topic_id, {}).update(of)
    if _owns_any(wanted.owned, pending):
        return Holding(
            holding.epoch, holding.epoch, HoldingState.UNREVOKED, kept, pending
        )
    return holding._replace(
        previous_epoch=holding.epoch, assigned=kept, pending=NOTHING_HELD
    )


def _subscribed(topic_id: bytes, wanted: Wanted) -> frozenset[int]:
    """The target's partitions of a topic, if the member still wants it."""
    if topic_id not in wanted.topic_ids:
        return frozenset()
    return wanted.target.get(topic_id, frozenset())


def _owns_any(owned: Owned, held: Held) -> bool:
    """Whether the member has one of these, as far as one knows."""
    if owned is None:
        return True
    return any(
        partition in owned.get(topic_id, ())
        for topic_id, partitions in held.items()
        for partition in partitions
    )


def is_part_of(owned: Mapping[bytes, Collection[int]], held: Held) -> bool:
    """Whether everything in ``owned`` is held."""
    return all(
        partition in held.get(topic_id, ())
        for topic_id, partitions in owned.items()
        for partition in partitions
    )


def _has(held: Held, topic_id: bytes, partition: int) -> bool:
    return partition in held.get(topic_id, ())
