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


def context_of(spark: SparkSession) -> SparkContext | None:
    """The context of a session that runs in this process; None by Spark Connect."""
    from pyspark.errors import PySparkAttributeError

    try:
        return spark.sparkContext
    except PySparkAttributeError:
        return None


def cores_of(spark: SparkSession) -> int | None:
    """How many tasks run at once; None where nobody says."""
    context = context_of(spark)
    return None if context is None else max(1, context.defaultParallelism)


def describe(spark: SparkSession, text: str) -> None:
    """Say on Spark's pages what the next jobs of this thread are for."""
    context = context_of(spark)
    if context is not None:
        context.setJobDescription(text)


class Executors:
    """Runs a function in tasks, one for each item."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    @property
    def core_count(self) -> int:
        """How many tasks run at once, as far as that is known; 1 at least."""
        known = cores_of(self._spark)
        if known is not None:
            return known
        told = self._spark.conf.get("spark.default.parallelism", "1") or "1"
        return max(1, int(told)) if told.isdigit() else 1

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
