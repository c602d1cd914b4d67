"""A Spark that runs its tasks here, as machines that may see other files would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from odradek.pipeline.segments.planning import SegmentRange


class FakeExecutors:
    """Runs what is mapped over pieces; ``see`` is what an executor makes of one."""

    defaultParallelism = 2

    def __init__(self, see: Callable[[SegmentRange], SegmentRange]) -> None:
        self._see = see
        self._tasks: list[list[SegmentRange]] = []
        self._run: Callable[[list[SegmentRange]], Any] = list
        self.sparkContext = self

    def session(self) -> SparkSession:
        return cast("SparkSession", self)

    def parallelize(self, tasks: Sequence[list[SegmentRange]], _: int) -> FakeExecutors:
        self._tasks = list(tasks)
        return self

    def map(self, run: Callable[[list[SegmentRange]], Any]) -> FakeExecutors:
        self._run = run
        return self

    def collect(self) -> list[Any]:
        return [self._run(list(map(self._see, task))) for task in self._tasks]
