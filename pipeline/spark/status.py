"""What Spark itself has noted of executors, jobs and tasks, in this process.

There is no way to it from Python but by names of Scala's, which are those of Spark's
own pages. By Spark Connect there is none at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext

DRIVER = "driver"
_FAILED, _DONE = "FAILED", "SUCCESS"
_WAIT_MS = 60_000
_TASKS_MAX = 2048


class ExecutorNote(NamedTuple):
    """An executor that is there."""

    executor: str
    host: str
    cores: int


class TaskNote(NamedTuple):
    """A try of a task: where it ran, and why it failed, if it did."""

    executor: str
    host: str
    number: int
    is_done: bool
    failure: str = ""


class SparkRecords:
    """The records of one context; each question sees all that has happened before."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context

    def executors(self) -> list[ExecutorNote]:
        """Those that are there now; the driver's own process is one of them."""
        return [
            ExecutorNote(
                each.id(), each.hostPort().rpartition(":")[0], each.totalCores()
            )
            for each in _each(self._store().executorList(True))
        ]

    def tasks_of_group(self, group: str) -> list[TaskNote]:
        """All tries of all tasks of a group of jobs."""
        tracker, store = self._context.statusTracker(), self._store()
        infos = map(tracker.getJobInfo, tracker.getJobIdsForGroup(group))
        stages = [
            stage for info in infos if info is not None for stage in info.stageIds
        ]
        return [task for stage in stages for task in _tasks(store, stage)]

    def last_failure(self) -> TaskNote | None:
        """The task that the newest job failed by; None if it has not failed."""
        store = self._store()
        jobs = store.jobsList(None)
        if not jobs.size() or str(jobs.apply(0).status()) != _FAILED:
            return None
        failed = [
            task
            for stage in _each(jobs.apply(0).stageIds())
            for task in _tasks(store, stage)
            if task.failure
        ]
        return failed[-1] if failed else None

    def _store(self) -> Any:
        scala = self._context._jsc.sc()
        scala.listenerBus().waitUntilEmpty(_WAIT_MS)
        return scala.statusStore()


def _tasks(store: Any, stage: int) -> Iterator[TaskNote]:
    """Those of all attempts of a stage."""
    last = store.lastStageAttempt(stage).attemptId()
    for attempt in range(last + 1):
        for task in _each(store.taskList(stage, attempt, _TASKS_MAX)):
            reason = task.errorMessage()
            failure = ""
            if task.status() == _FAILED and reason.isDefined():
                failure = reason.get()
            is_done = task.status() == _DONE
            yield TaskNote(
                task.executorId(), task.host(), task.index(), is_done, failure
            )


def _each(items: Any) -> list[Any]:
    """What is in a sequence of Scala's."""
    return [items.apply(number) for number in range(items.size())]
