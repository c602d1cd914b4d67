from typing import TYPE_CHECKING, cast

import pytest
from pyspark.errors import PySparkAttributeError, PySparkException

from odradek.pipeline.spark.executors import Executors, context_of, cores_of, describe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_answers_come_in_the_order_of_the_items(spark: "SparkSession") -> None:
    executors = Executors(spark)
    items = [f"item {number}" for number in range(5)]
    assert executors.run(len, items[:0]) == []
    assert executors.run(lambda item: (item, len(item)), items) == [
        (item, 6) for item in items
    ]
    assert executors.core_count == 2


def test_a_task_that_fails(spark: "SparkSession") -> None:
    with pytest.raises(PySparkException, match="invalid literal"):
        Executors(spark).run(int, ["1", "one"])


class Remote:
    """A session of Spark Connect, which has no context of Spark's own."""

    def __init__(self, parallelism: str | None) -> None:
        self.conf = {"spark.default.parallelism": parallelism} if parallelism else {}

    @property
    def sparkContext(self) -> None:
        raise PySparkAttributeError("JVM_ATTRIBUTE_NOT_SUPPORTED")


@pytest.mark.parametrize(("told", "count"), [("7", 7), ("0", 1), ("x", 1), (None, 1)])
def test_a_session_without_a_context(told: str | None, count: int) -> None:
    remote = cast("SparkSession", Remote(told))
    assert context_of(remote) is None
    assert cores_of(remote) is None
    describe(remote, "nobody sees it")
    assert Executors(remote).core_count == count
