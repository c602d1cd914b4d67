"""Tasks of a streams group: the units in which work is handed out.

A task is one partition of the input of one subtopology. Who has it as active task
works on it; a standby task follows its state; a warm-up task is on its way to be one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

TaskIds = Mapping[str, frozenset[int]]
"""Partitions by the id of their subtopology; none of the sets is empty."""
HeldIds = Mapping[str, Mapping[int, int]]
"""The same, each with the assignment epoch since which a member has it."""
Task = tuple[str, int]
"""A subtopology and a partition."""

NO_TASK_IDS: TaskIds = {}
NO_HELD_IDS: HeldIds = {}


class Tasks(NamedTuple):
    """Tasks by their role."""

    active: TaskIds = NO_TASK_IDS
    standby: TaskIds = NO_TASK_IDS
    warmup: TaskIds = NO_TASK_IDS


class HeldTasks(NamedTuple):
    """Tasks that a member has; who works on one, since when."""

    active: HeldIds = NO_HELD_IDS
    standby: TaskIds = NO_TASK_IDS
    warmup: TaskIds = NO_TASK_IDS

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not (self.active or self.standby or self.warmup)

    def without_epochs(self) -> Tasks:
        """The tasks alone."""
        active = {key: frozenset(of) for key, of in self.active.items()}
        return Tasks(active, self.standby, self.warmup)


NO_TASKS = Tasks()
NOTHING_HELD = HeldTasks()


def each_task(ids: TaskIds | HeldIds) -> Iterator[Task]:
    """Every one of these tasks."""
    for subtopology_id, partitions in ids.items():
        for partition in partitions:
            yield subtopology_id, partition
