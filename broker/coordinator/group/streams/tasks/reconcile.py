"""The tasks that a member has, on its way to those that it shall have. Pure functions.

A member first gives up what it shall not have any more, and stays in its epoch until
it says so; then it enters the epoch of the target, and gets what is free. A task is
free for work if nobody works on it, and if the member's process does not follow it: it
would find its own state locked. It is free for following if the process has it in no
role. What somebody has yet to give up counts as had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.state.streams.member import (
    StreamsHolding,
    TaskState,
)
from odradek.broker.coordinator.group.state.streams.tasks import (
    NOTHING_HELD,
    HeldTasks,
    each_task,
)
from odradek.protocol.errors import FencedMemberEpoch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.coordinator.group.state.streams.tasks import (
        HeldIds,
        Task,
        TaskIds,
        Tasks,
    )


class WantedTasks(NamedTuple):
    """What a member shall have, and what is known of that.

    ``owned`` is what it says to have; None: it did not say. ``may_work`` and
    ``may_follow`` ask whether a task is free for that.
    """

    target: Tasks
    epoch: int
    may_work: Callable[[Task], bool]
    may_follow: Callable[[Task], bool]
    owned: Tasks | None = None


def reconcile(holding: StreamsHolding, wanted: WantedTasks) -> StreamsHolding:
    """What the member has from now on; the same value when nothing changes.

    Raises:
        FencedMemberEpoch: it is in a state that is not known here.
    """
    epoch = holding.epoch
    if holding.state == TaskState.UNKNOWN:
        if wanted.owned is None or any(wanted.owned):
            raise FencedMemberEpoch(
                "The streams group member is in a unknown state. The member must "
                "abandon all its tasks and rejoin."
            )
        epoch = wanted.epoch
    elif holding.state == TaskState.STABLE and epoch == wanted.epoch:
        return holding
    elif holding.state == TaskState.UNREVOKED:
        if _owns_any(wanted.owned, holding.pending):
            return holding
        epoch += 1
    advanced = _advance(holding, wanted, epoch)
    is_same = advanced._replace(previous_epoch=holding.previous_epoch) == holding
    return holding if is_same else advanced


class _Step(NamedTuple):
    """What becomes of the tasks of one role."""

    kept: dict[str, dict[int, int]]
    revoked: dict[str, dict[int, int]]
    added: dict[str, dict[int, int]]
    is_all: bool


def _advance(
    holding: StreamsHolding, wanted: WantedTasks, epoch: int
) -> StreamsHolding:
    """Give up what is not in the target, or else take what is."""
    had, target = holding.assigned, wanted.target
    active = _step(had.active, target.active, wanted.epoch, wanted.may_work)
    standby = _step(_held(had.standby), target.standby, 0, wanted.may_follow)
    warmup = _step(_held(had.warmup), target.warmup, 0, wanted.may_follow)
    kept = HeldTasks(active.kept, _ids(standby.kept), _ids(warmup.kept))
    revoked = HeldTasks(active.revoked, _ids(standby.revoked), _ids(warmup.revoked))
    if not revoked.is_empty and _owns_any(wanted.owned, revoked):
        return StreamsHolding(epoch, holding.epoch, TaskState.UNREVOKED, kept, revoked)
    assigned = HeldTasks(_joined(active), _ids(_joined(standby)), _ids(_joined(warmup)))
    is_all = active.is_all and standby.is_all and warmup.is_all
    state = TaskState.STABLE if is_all else TaskState.UNRELEASED
    return StreamsHolding(wanted.epoch, holding.epoch, state, assigned, NOTHING_HELD)


def _step(
    had: HeldIds, target: TaskIds, epoch: int, is_free: Callable[[Task], bool]
) -> _Step:
    step = _Step({}, {}, {}, True)
    nothing: frozenset[int] = frozenset()
    for subtopology_id, epochs in had.items():
        wanted = target.get(subtopology_id, nothing)
        for partition, since in epochs.items():
            side = step.kept if partition in wanted else step.revoked
            side.setdefault(subtopology_id, {})[partition] = since
    is_all = True
    for subtopology_id, partition in each_task(target):
        if partition in step.kept.get(subtopology_id, ()):
            continue
        if is_free((subtopology_id, partition)):
            step.added.setdefault(subtopology_id, {})[partition] = epoch
        else:
            is_all = False
    return step._replace(is_all=is_all)


def _joined(step: _Step) -> dict[str, dict[int, int]]:
    joined = {key: dict(of) for key, of in step.kept.items()}
    for subtopology_id, of in step.added.items():
        joined.setdefault(subtopology_id, {}).update(of)
    return joined


def _held(ids: TaskIds) -> HeldIds:
    return {key: dict.fromkeys(of, 0) for key, of in ids.items()}


def _ids(held: HeldIds) -> TaskIds:
    return {key: frozenset(of) for key, of in held.items()}


def _owns_any(owned: Tasks | None, held: HeldTasks) -> bool:
    """Whether the member has one of these in its role, as far as one knows."""
    if owned is None:
        return True
    return (
        _meet(owned.active, held.active)
        or _meet(owned.standby, held.standby)
        or _meet(owned.warmup, held.warmup)
    )


def _meet(ids: TaskIds, others: TaskIds | HeldIds) -> bool:
    nothing: Iterable[int] = ()
    return any(
        not of.isdisjoint(others.get(subtopology_id, nothing))
        for subtopology_id, of in ids.items()
    )
