from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from odradek.pipeline.spark.executors import Executors
from odradek.pipeline.spark.status import DRIVER, SparkRecords, TaskNote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_spark_notes_of_itself(spark: "SparkSession") -> None:
    """By names of Scala's, which the next version may change."""
    records = SparkRecords(spark.sparkContext)
    ((executor, _, cores),) = records.executors()
    assert (executor, cores) == (DRIVER, 2)
    spark.sparkContext.setJobGroup("of-this-test", "")
    assert Executors(spark).run(len, ["a", "bc"]) == [1, 2]
    assert records.last_failure() is None
    tasks = sorted(records.tasks_of_group("of-this-test"))
    host = tasks[0].host
    assert tasks == [
        TaskNote(DRIVER, host, 0, True),
        TaskNote(DRIVER, host, 1, True),
    ]
    with pytest.raises(PySparkException):
        Executors(spark).run(int, ["1", "one"])
    failed = records.last_failure()
    assert failed is not None
    assert failed[:4] == (DRIVER, host, 1, False)
    assert "invalid literal" in failed.failure
    assert [task.number for task in records.tasks_of_group("nobody's")] == []
