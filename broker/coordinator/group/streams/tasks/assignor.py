"""The sticky assignor: which member of a streams group works on which task.

Each task is active in one member. Members of one process share its state: of a task
with a state, each standby lies in another process than the active one, and the others.
Beyond that the assignment is

- calm: whoever has a task keeps it, and who has followed its state is next, as far as
  that leaves everybody his part;
- even: what is left goes to the process with the fewest tasks for its members, and
  there to the member with the fewest.

As StickyTaskAssignor of Apache Kafka, with ties broken by ids in place of hashes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.coordinator.group.state.streams.tasks import Tasks

from .loads import Loads, Quota

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from odradek.broker.coordinator.group.state.streams.configured import (
        ConfiguredSubtopology,
    )
    from odradek.broker.coordinator.group.state.streams.tasks import TaskIds

NAME = "sticky"
Task = tuple[str, int]
"""The id of a subtopology, and a partition of its input."""


class TaskOwner(NamedTuple):
    """A member; ``had`` is its part of the last target."""

    member_id: str
    process_id: str
    had: Tasks


def assign_sticky(
    members: Sequence[TaskOwner],
    subtopologies: Mapping[str, ConfiguredSubtopology],
    standby_count: int,
) -> dict[str, Tasks]:
    """The tasks of each member; fewer standbys where there are too few processes."""
    if not members:
        return {}
    tasks = [
        (subtopology_id, partition)
        for subtopology_id, each in subtopologies.items()
        for partition in range(each.task_count)
    ]
    with_state = [task for task in tasks if subtopologies[task[0]].is_stateful]
    ordered = sorted(members, key=lambda each: each.member_id)
    sharing = _Sharing(ordered, len(tasks), len(with_state) * standby_count)
    sharing.give_active(tasks)
    if standby_count:
        sharing.give_standby(with_state, standby_count)
    return sharing.result()


class _Sharing:
    """Members are known by their places in the order of their ids."""

    def __init__(
        self, members: Sequence[TaskOwner], active_count: int, standby_count: int
    ) -> None:
        self._members = members
        places: dict[str, list[int]] = {}
        for place, each in enumerate(members):
            places.setdefault(each.process_id, []).append(place)
        self._places = places
        self._processes = Loads(sorted(places))
        self._of_process = {key: Loads(of) for key, of in places.items()}
        self._processes_of: dict[Task, set[str]] = {}
        self._task_counts = dict.fromkeys(places, 0)
        self._active: list[list[Task]] = [[] for _ in members]
        self._standby: list[list[Task]] = [[] for _ in members]
        self._was_active: dict[Task, int] = {}
        self._was_standby: dict[Task, list[int]] = {}
        for place, each in enumerate(members):
            self._was_active.update(dict.fromkeys(_flat(each.had.active), place))
            for task in _flat(each.had.standby):
                self._was_standby.setdefault(task, []).append(place)
        self._active_quota = Quota(active_count, len(members))
        self._quota = Quota(active_count + standby_count, len(members))

    def give_active(self, tasks: Iterable[Task]) -> None:
        """Give each of the tasks to one member."""
        # By partition first: whoever has a partition of one input has it of the others.
        by_partition = sorted(tasks, key=lambda task: (task[1], task[0]))
        left = [each for each in by_partition if not self._give_back(each)]
        for task in sorted(task for task in left if not self._raise(task)):
            self._give_active(task, self._least_loaded(self._processes.least()))

    def _give_back(self, task: Task) -> bool:
        """Who had it has it again, unless he has his part."""
        place = self._was_active.get(task)
        return place is not None and self._give_within_quota(task, place)

    def _raise(self, task: Task) -> bool:
        """Who has its state works on it, unless he has his part."""
        places = self._was_standby.get(task)
        return places is not None and self._give_within_quota(
            task, min(places, key=self._load)
        )

    def _give_within_quota(self, task: Task, place: int) -> bool:
        if self._count(place) >= self._active_quota.each:
            return False
        self._give_active(task, place)
        return True

    def give_standby(self, tasks: Iterable[Task], standby_count: int) -> None:
        """Give each of the tasks to members of that many other processes."""
        left: list[tuple[Task, int]] = []
        backwards = sorted(tasks, key=lambda task: (task[1], task[0]), reverse=True)
        for task in backwards:
            for given in range(standby_count):
                place = self._follower(task)
                if place is None:
                    left.append((task, standby_count - given))
                    break
                self._give_standby(task, place)
        for task, count in sorted(left, reverse=True):
            for _ in range(count):
                taken = self._processes_of[task]
                process_id = self._processes.least_outside(taken)
                if process_id is None:
                    break
                self._give_standby(task, self._least_loaded(process_id))

    def _follower(self, task: Task) -> int | None:
        """Who has its state, and room for it.

        Who was active before, or else the least loaded one of those who were standby:
        of all of them, where Apache Kafka gives up if the first has the task already.
        """
        active = self._was_active.get(task)
        if active is not None and self._may_follow(task, active):
            return active
        standbys = self._was_standby.get(task, ())
        fitting = [place for place in standbys if self._may_follow(task, place)]
        return min(fitting, key=self._load, default=None)

    def _may_follow(self, task: Task, place: int) -> bool:
        has_it = self._members[place].process_id in self._processes_of[task]
        return not has_it and self._count(place) < self._quota.each

    def _load(self, place: int) -> tuple[float, int]:
        return self._processes.load(self._members[place].process_id), self._count(place)

    def _count(self, place: int) -> int:
        return len(self._active[place]) + len(self._standby[place])

    def _least_loaded(self, process_id: str) -> int:
        return self._of_process[process_id].least()

    def _give_active(self, task: Task, place: int) -> None:
        self._active[place].append(task)
        self._has_given(task, place)
        self._active_quota.note(self._count(place))

    def _give_standby(self, task: Task, place: int) -> None:
        self._standby[place].append(task)
        self._has_given(task, place)

    def _has_given(self, task: Task, place: int) -> None:
        process_id, count = self._members[place].process_id, self._count(place)
        self._processes_of.setdefault(task, set()).add(process_id)
        self._task_counts[process_id] += 1
        load = self._task_counts[process_id] / len(self._places[process_id])
        self._processes.put(process_id, load)
        self._of_process[process_id].put(place, count)
        self._quota.note(count)

    def result(self) -> dict[str, Tasks]:
        """What each member has at last."""
        return {
            each.member_id: Tasks(_by_subtopology(active), _by_subtopology(standby))
            for each, active, standby in zip(
                self._members, self._active, self._standby, strict=True
            )
        }


def _flat(task_ids: TaskIds) -> Iterator[Task]:
    for subtopology_id, partitions in task_ids.items():
        for partition in partitions:
            yield subtopology_id, partition


def _by_subtopology(tasks: Iterable[Task]) -> TaskIds:
    partitions: dict[str, list[int]] = {}
    for subtopology_id, partition in tasks:
        partitions.setdefault(subtopology_id, []).append(partition)
    return {key: frozenset(of) for key, of in partitions.items()}
