"""Whatever runs the tasks of a session: one process, or executors on many machines.

A session of Spark Connect has no context of Spark's own. Nothing here needs one; where
there is one, it says more.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Item = TypeVar("Item")
Answer = TypeVar("Answer")
_MANY = 1 << 12


def context_of(spark: SparkSession) -> SparkContext | None:
    """The context of a session that runs in this process; None by Spark Connect."""
    from pyspark.errors import PySparkAttributeError

    try:
        return spark.sparkContext
    except PySparkAttributeError:
        return None


def is_cluster(master: str) -> bool:
    """Whether tasks run in other processes than Spark's driver."""
    return not master.startswith("local") or master.startswith("local-cluster")


def describe(spark: SparkSession, text: str) -> None:
    """Say on Spark's pages what the next jobs of this thread are for."""
    context = context_of(spark)
    if context is not None:
        context.setJobDescription(text)


class Executors:
    """Runs a function in tasks, one for each item."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._told_core_count: int | None = None

    @property
    def core_count(self) -> int:
        """How many tasks run at once now, as Spark knows it; 1 at least."""
        context = context_of(self._spark)
        if context is not None:
            return max(1, context.defaultParallelism)
        if self._told_core_count is None:
            # A server tells it by the number of tasks that it makes of rows.
            rows = self._spark.range(_MANY).selectExpr("spark_partition_id()")
            self._told_core_count = max(1, rows.distinct().count())
        return self._told_core_count

    @property
    def core_count_max(self) -> int | None:
        """The same once there is much to do; None where Spark brings more then."""
        grows = self._spark.conf.get("spark.dynamicAllocation.enabled", "false")
        return None if grows == "true" else self.core_count

    def run(
        self, function: Callable[[Item], Answer], items: Sequence[Item]
    ) -> list[Answer]:
        """What the function makes of each item, in their order.

        An executor needs no package for that but what the function needs itself.

        Raises:
            PySparkException: a task has failed, as often as Spark tries one.
        """
        from pyspark.sql.functions import udf

        def answer(number: int) -> bytes:
            return pickle.dumps(function(items[number]))

        asked = udf(answer, "binary", useArrow=False)
        tasks = self._spark.range(0, len(items), 1, len(items))
        rows = tasks.select("id", asked("id").alias("answer")).collect()
        answers = {row["id"]: row["answer"] for row in rows}
        return [pickle.loads(answers[number]) for number in range(len(items))]
