"""A cluster of Spark without Java: executors, their tasks, and what Spark knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark import SparkContext

    from odradek.pipeline.spark.executors import Executors


class FakeExecutor(NamedTuple):
    """One of them; all its tasks fail for a reason, where it has one."""

    number: str
    host: str
    failure: str = ""
    come_in_round: int = 0


class Scala:
    """Values whose names are called, as those of Scala are from here."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Callable[[], Any]:
        return lambda: self._values[name]


class Seq(list[Any]):
    def size(self) -> int:
        return len(self)

    def apply(self, number: int) -> Any:
        return self[number]


class FakeCluster:
    """Is the context of Spark, its records, and what runs the tasks."""

    def __init__(
        self, *executors: FakeExecutor, master: str = "spark://master:7077"
    ) -> None:
        self.master = master
        self.rounds = 0
        self.cancelled: list[str] = []
        self.stages: list[int] = []
        self._executors = executors
        self._tasks = Seq()
        self._jsc = self

    @property
    def context(self) -> SparkContext:
        return cast("SparkContext", self)

    @property
    def runner(self) -> Executors:
        return cast("Executors", self)

    def run(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Each item by the next executor that does not fail; the last ones idle."""
        self.rounds += 1
        self._tasks.clear()
        if not self._here():
            raise RuntimeError("cancelled")
        answers = []
        for index, item in enumerate(items):
            executor = self._tried(index)
            if executor is None:
                raise RuntimeError("cannot run anywhere")
            told = {**function(item), "host": executor.host}
            answers.append(told)
        return answers

    def _here(self) -> list[FakeExecutor]:
        return [each for each in self._executors if each.come_in_round <= self.rounds]

    def _tried(self, index: int) -> FakeExecutor | None:
        here = self._here()
        for step in range(len(here)):
            executor = here[(index + step) % len(here)]
            self._note(index, executor)
            if not executor.failure:
                return executor
        return None

    def _note(self, index: int, executor: FakeExecutor) -> None:
        failure = executor.failure
        self._tasks.append(
            Scala(
                executorId=executor.number,
                host=executor.host,
                index=index,
                status="FAILED" if failure else "SUCCESS",
                errorMessage=Scala(isDefined=bool(failure), get=failure),
            )
        )

    def setJobGroup(self, *_: str) -> None:
        pass

    def cancelJobGroup(self, group: str) -> None:
        self.cancelled.append(group)

    def sc(self) -> FakeCluster:
        return self

    def listenerBus(self) -> FakeCluster:
        return self

    def waitUntilEmpty(self, _: int) -> None:
        pass

    def statusStore(self) -> FakeCluster:
        return self

    def statusTracker(self) -> FakeCluster:
        return self

    def executorList(self, _: bool) -> Seq:
        known = [("driver", "here"), *(each[:2] for each in self._here())]
        return Seq(
            Scala(id=number, hostPort=f"{host}:7", totalCores=1)
            for number, host in known
        )

    def jobsList(self, _: None) -> Seq:
        """The newest, which has failed if one of its tasks has."""
        failed = [task for task in self._tasks if task.status() == "FAILED"]
        status = "FAILED" if failed else "SUCCEEDED"
        return Seq([Scala(status=status, stageIds=Seq([0]))] if self.rounds else [])

    def getActiveStageIds(self) -> list[int]:
        return self.stages

    def getJobIdsForGroup(self, _: str) -> list[int]:
        return [0]

    def getJobInfo(self, _: int) -> FakeCluster:
        return self

    stageIds = (0,)

    def lastStageAttempt(self, _: int) -> Scala:
        return Scala(attemptId=0)

    def taskList(self, *_: int) -> Seq:
        return self._tasks
