from typing import Any

import pytest

from odradek.broker.coordinator.group.consumer.reconcile import (
    Wanted,
    is_part_of,
    reconcile,
)
from odradek.broker.coordinator.group.state.consumer.member import (
    Holding,
    HoldingState,
)
from odradek.protocol.errors import FencedMemberEpoch

T, U = b"t" * 16, b"u" * 16


def wanted(*target: int, epoch: int = 2, **fields: Any) -> Wanted:
    """Partitions of T; all are free but those in ``taken``."""
    taken = fields.pop("taken", ())
    fields.setdefault("topic_ids", {T, U})
    return Wanted(
        {T: frozenset(target)} if target else {},
        epoch,
        is_free=lambda topic_id, partition: partition not in taken,
        **fields,
    )


def holding(*assigned: int, epoch: int = 1, **fields: Any) -> Holding:
    pending = fields.pop("pending", ())
    return Holding(
        epoch,
        epoch - 1,
        fields.pop("state", HoldingState.STABLE),
        {T: dict.fromkeys(assigned, epoch)} if assigned else {},
        {T: dict.fromkeys(pending, epoch)} if pending else {},
    )


def test_who_has_what_it_shall_have_is_left_alone() -> None:
    has = holding(0, 1, epoch=2)
    assert reconcile(has, wanted(0, 1)) is has


def test_what_is_free_is_taken_since_this_epoch() -> None:
    after = reconcile(holding(0), wanted(0, 1))
    assert after == Holding(2, 1, HoldingState.STABLE, {T: {0: 1, 1: 2}}, {})


def test_what_is_not_is_waited_for() -> None:
    after = reconcile(holding(0), wanted(0, 1, taken={1}))
    assert (after.epoch, after.state) == (2, HoldingState.UNRELEASED)
    assert after.assigned == {T: {0: 1}}
    assert reconcile(after, wanted(0, 1, taken={1})) is after, "nothing has changed"
    assert reconcile(after, wanted(0, 1)).assigned == {T: {0: 1, 1: 2}}


@pytest.mark.parametrize("owned", [None, {T: [0, 1]}, {T: [1]}])
def test_what_goes_is_given_up_first_in_the_old_epoch(owned: Any) -> None:
    after = reconcile(holding(0, 1), wanted(0, 2, owned=owned))
    assert (after.epoch, after.state) == (1, HoldingState.UNREVOKED)
    assert (after.assigned, after.pending) == ({T: {0: 1}}, {T: {1: 1}})
    again = reconcile(after, wanted(0, 2, owned=owned))
    assert again is after


def test_it_is_known_to_be_given_up_when_the_member_says_so() -> None:
    revoking = holding(0, pending=[1], state=HoldingState.UNREVOKED)
    after = reconcile(revoking, wanted(0, 2, owned={T: [0]}))
    assert after == Holding(2, 1, HoldingState.STABLE, {T: {0: 1, 2: 2}}, {})


def test_who_does_not_have_it_need_not_give_it_up() -> None:
    after = reconcile(holding(0, 1), wanted(0, owned={T: [0]}))
    assert (after.epoch, after.assigned) == (2, {T: {0: 1}})


def test_what_was_given_up_comes_back_when_the_target_has_changed_again() -> None:
    revoking = holding(0, pending=[1], state=HoldingState.UNREVOKED)
    after = reconcile(revoking, wanted(0, 1, epoch=3, owned={T: [0]}))
    # Not at once: somebody may have been told that it is free.
    assert (after.state, after.assigned) == (HoldingState.UNRELEASED, {T: {0: 1}})
    after = reconcile(after, wanted(0, 1, epoch=3, owned={T: [0]}))
    assert (after.state, after.assigned) == (HoldingState.STABLE, {T: {0: 1, 1: 3}})


def test_of_an_old_target_only_what_is_subscribed_to_counts() -> None:
    has = holding(0, epoch=2)
    after = reconcile(
        has, wanted(0, topic_ids={U}, owned={T: [0]}, has_subscription_changed=True)
    )
    assert (after.epoch, after.state) == (2, HoldingState.UNREVOKED)
    assert (after.assigned, after.pending) == ({}, {T: {0: 2}})
    after = reconcile(after, wanted(0, topic_ids={U}, owned={}))
    assert (after.epoch, after.state, after.assigned) == (2, HoldingState.STABLE, {})


def test_a_member_that_had_nothing_of_it_loses_nothing() -> None:
    has = holding(0, epoch=2)
    gone = wanted(0, topic_ids={U}, owned={}, has_subscription_changed=True)
    after = reconcile(has, gone)
    assert (after.epoch, after.state, after.assigned) == (2, HoldingState.STABLE, {})


def test_more_that_is_not_subscribed_to_while_something_is_given_up() -> None:
    revoking = holding(0, pending=[1], state=HoldingState.UNREVOKED)
    after = reconcile(
        revoking,
        wanted(0, topic_ids={U}, owned={T: [0, 1]}, has_subscription_changed=True),
    )
    assert (after.assigned, after.pending) == ({}, {T: {0: 1, 1: 1}})


def test_a_state_of_a_later_version_is_left_by_who_has_nothing() -> None:
    unknown = holding(0, state=HoldingState.UNKNOWN)
    for owned in (None, {T: [0]}):
        with pytest.raises(FencedMemberEpoch):
            reconcile(unknown, wanted(0, owned=owned))
    assert reconcile(unknown, wanted(0, owned={})).state == HoldingState.STABLE


def test_part_of() -> None:
    assert is_part_of({}, {T: {0: 1}})
    assert is_part_of({T: [0]}, {T: {0: 1, 1: 1}})
    assert not is_part_of({T: [0, 2]}, {T: {0: 1, 1: 1}})
    assert not is_part_of({U: [0]}, {T: {0: 1}})
