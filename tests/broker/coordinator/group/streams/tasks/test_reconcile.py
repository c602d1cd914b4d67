from collections.abc import Callable
from typing import Any

import pytest

from odradek.broker.coordinator.group.state.streams.member import (
    StreamsHolding,
    TaskState,
)
from odradek.broker.coordinator.group.state.streams.tasks import (
    NOTHING_HELD,
    HeldTasks,
    Task,
    Tasks,
)
from odradek.broker.coordinator.group.streams.tasks.reconcile import (
    WantedTasks,
    reconcile,
)
from odradek.protocol.errors import FencedMemberEpoch


def ids(*partitions: int) -> dict[str, frozenset[int]]:
    return {"0": frozenset(partitions)} if partitions else {}


def held(**partitions: int) -> HeldTasks:
    """Active tasks since epochs, as ``p0=3``."""
    active = {int(name[1:]): epoch for name, epoch in partitions.items()}
    return HeldTasks({"0": active} if active else {})


def free(_: Task) -> bool:
    return True


def wanted(
    target: Tasks,
    owned: Tasks | None = None,
    may_work: Callable[[Task], bool] = free,
    may_follow: Callable[[Task], bool] = free,
) -> WantedTasks:
    return WantedTasks(target, 5, may_work, may_follow, owned)


STABLE, UNREVOKED = TaskState.STABLE, TaskState.UNREVOKED
UNRELEASED = TaskState.UNRELEASED


def test_who_has_all_stays_as_it_is() -> None:
    holding = StreamsHolding(5, 4, STABLE, held(p0=5))
    assert reconcile(holding, wanted(Tasks(ids(1)))) is holding


def test_what_is_free_is_had_since_the_epoch_of_the_target() -> None:
    holding = StreamsHolding(4, 3, STABLE, held(p0=2))
    after = reconcile(holding, wanted(Tasks(ids(0, 1), ids(2))))
    assert after == StreamsHolding(
        5, 4, STABLE, HeldTasks({"0": {0: 2, 1: 5}}, ids(2)), NOTHING_HELD
    )


def test_first_it_gives_up_what_it_shall_not_have() -> None:
    holding = StreamsHolding(4, 3, STABLE, held(p0=2, p1=3))
    target = Tasks(ids(1, 2))
    asked = reconcile(holding, wanted(target))
    assert asked == StreamsHolding(4, 4, UNREVOKED, held(p1=3), held(p0=2))
    still = wanted(target, Tasks(ids(0, 1)))
    assert reconcile(asked, still) is asked
    assert reconcile(asked, wanted(target)) is asked, "it does not say what it has"
    given = reconcile(asked, wanted(target, Tasks(ids(1))))
    assert given == StreamsHolding(5, 4, STABLE, held(p1=3, p2=5), NOTHING_HELD)


def test_who_does_not_have_it_need_not_give_it_up() -> None:
    holding = StreamsHolding(4, 3, STABLE, held(p0=2))
    after = reconcile(holding, wanted(Tasks(ids(1)), Tasks()))
    assert (after.state, after.assigned) == (STABLE, held(p1=5))


def test_when_the_target_has_moved_on_it_gives_up_more_one_epoch_later() -> None:
    holding = StreamsHolding(3, 3, UNREVOKED, held(p1=3, p2=3), held(p0=2))
    after = reconcile(holding, wanted(Tasks(ids(1)), Tasks(ids(1, 2))))
    assert after == StreamsHolding(4, 3, UNREVOKED, held(p1=3), held(p2=3))


def test_what_others_have_is_waited_for() -> None:
    holding = StreamsHolding(4, 3, STABLE)
    target = Tasks(ids(0, 1))
    waiting = reconcile(holding, wanted(target, may_work=lambda task: task[1] == 0))
    assert waiting == StreamsHolding(5, 4, UNRELEASED, held(p0=5), NOTHING_HELD)
    again = wanted(target, may_work=lambda task: task[1] == 0)
    assert reconcile(waiting, again) is waiting
    assert reconcile(waiting, wanted(target)).state == STABLE


def test_a_standby_waits_until_its_process_may_follow() -> None:
    target = Tasks(standby=ids(3))
    waiting = reconcile(
        StreamsHolding(4), wanted(target, may_follow=lambda task: False)
    )
    assert (waiting.state, waiting.assigned) == (UNRELEASED, NOTHING_HELD)
    after = reconcile(waiting, wanted(target))
    assert after.assigned == HeldTasks({}, ids(3))


def test_a_role_is_given_up_before_another_is_taken() -> None:
    holding = StreamsHolding(4, 3, STABLE, HeldTasks({}, ids(0)))
    target = Tasks(ids(0))
    asked = reconcile(holding, wanted(target))
    assert (asked.state, asked.pending) == (UNREVOKED, HeldTasks({}, ids(0)))
    working = Tasks(ids(0), {})
    after = reconcile(asked, wanted(target, working))
    assert after.assigned == HeldTasks({"0": {0: 5}}), "as standby it is given up"


@pytest.mark.parametrize("owned", [None, Tasks(ids(1))])
def test_who_is_in_an_unknown_state_begins_anew(owned: Any) -> None:
    holding = StreamsHolding(4, 3, TaskState.UNKNOWN, held(p0=2))
    with pytest.raises(FencedMemberEpoch, match="in a unknown state"):
        reconcile(holding, wanted(Tasks(ids(0)), owned))
    after = reconcile(holding, wanted(Tasks(ids(0)), Tasks()))
    assert (after.epoch, after.state) == (5, STABLE)
