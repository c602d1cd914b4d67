from typing import TYPE_CHECKING, cast

import pytest
from pyspark.errors import PySparkAttributeError, PySparkException

from odradek.pipeline.spark.executors import (
    Executors,
    context_of,
    describe,
    is_cluster,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_masters() -> None:
    for master in ("local", "local[*,4]"):
        assert not is_cluster(master)
    for master in ("spark://a:7077", "yarn", "k8s://a", "local-cluster[2,1,1024]"):
        assert is_cluster(master)


def test_answers_come_in_the_order_of_the_items(spark: "SparkSession") -> None:
    executors = Executors(spark)
    items = [f"item {number}" for number in range(5)]
    assert executors.run(len, items[:0]) == []
    assert executors.run(lambda item: (item, len(item)), items) == [
        (item, 6) for item in items
    ]
    assert executors.core_count == 2
    assert executors.core_count_max == 2


def test_a_task_that_fails(spark: "SparkSession") -> None:
    with pytest.raises(PySparkException, match="invalid literal"):
        Executors(spark).run(int, ["1", "one"])


class Remote:
    """A session of Spark Connect, which has no context of Spark's own."""

    def __init__(self, core_count: int) -> None:
        self.conf: dict[str, str] = {}
        self.core_count = core_count
        self.job_count = 0

    @property
    def sparkContext(self) -> None:
        raise PySparkAttributeError("JVM_ATTRIBUTE_NOT_SUPPORTED")

    def range(self, *_: object) -> "Remote":
        return self

    selectExpr = distinct = range

    def count(self) -> int:
        self.job_count += 1
        return self.core_count


def test_a_session_without_a_context() -> None:
    there = Remote(7)
    remote = cast("SparkSession", there)
    assert context_of(remote) is None
    describe(remote, "nobody sees it")
    executors = Executors(remote)
    assert (executors.core_count, executors.core_count) == (7, 7)
    assert there.job_count == 1, "it is asked once"


def test_executors_that_come_when_they_are_needed() -> None:
    there = Remote(2)
    executors = Executors(cast("SparkSession", there))
    assert executors.core_count_max == 2
    there.conf["spark.dynamicAllocation.enabled"] = "true"
    assert executors.core_count_max is None
    assert executors.core_count == 2
