"""Tasks of a streams group: the units in which work is handed out.

A task is one partition of the input of one subtopology. Who has it as active task works
on it; a standby task follows its state; a warm-up task is on its way to be one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

TaskIds = Mapping[str, frozenset[int]]
"""Partitions by the id of their subtopology; none of the sets is empty."""

NO_TASK_IDS: TaskIds = {}


class Tasks(NamedTuple):
    """Tasks by their role."""

    active: TaskIds = NO_TASK_IDS
    standby: TaskIds = NO_TASK_IDS
    warmup: TaskIds = NO_TASK_IDS


NO_TASKS = Tasks()
