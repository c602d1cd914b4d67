"""What Spark says of failed tasks, as it was seen, and what we say."""

import pytest
from pyspark import SparkContext

from odradek.pipeline.spark.probe import Question, answer
from odradek.pipeline.spark.task_failures import (
    lacking,
    place_of,
    text_of,
    with_place,
)
from tests.pipeline.spark.fake_cluster import FakeCluster, FakeExecutor

LOST = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent"
    " failure: Lost task 0.3 in stage 3.0 (TID 9) (10.0.0.5 executor 1): "
)
HERE = LOST.replace("10.0.0.5 executor 1", "laptop executor driver")


def test_where_it_ran() -> None:
    assert place_of(LOST) == "10.0.0.5 (executor 1)"
    assert place_of(HERE) == place_of("something else") == ""
    assert with_place("The disk is full.", LOST) == (
        "The disk is full; so said a task on 10.0.0.5 (executor 1)"
    )
    assert with_place("10.0.0.5 is full.", LOST) == "10.0.0.5 is full."
    assert with_place("The disk is full.", HERE) == "The disk is full."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ModuleNotFoundError: No module named 'odradek'", "does not have odradek:"),
        (
            "ModuleNotFoundError: No module named 'pyspark_odradek.x'",
            "does not have odradek:",
        ),
        (
            "ModuleNotFoundError: No module named 'pyarrow'",
            "does not have pyarrow: install odradek with its extra `pipeline`",
        ),
        (
            "[PACKAGE_NOT_INSTALLED] Pandas >= 2.2.0 must be installed; however",
            "does not have Pandas:",
        ),
        (
            'java.io.IOException: Cannot run program "/opt/env/bin/python": error=2',
            "10.0.0.5 (executor 1) has no Python at /opt/env/bin/python",
        ),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10"
            " than that in driver: 3.11, PySpark cannot run",
            "is 3.10, and the driver's 3.11: set PYSPARK_PYTHON to a Python 3.11",
        ),
    ],
)
def test_what_an_executor_lacks(text: str, said: str) -> None:
    assert said in lacking(LOST + text)
    assert "10.0.0.5 (executor 1)" in lacking(LOST + text)
    assert "odradek pipeline doctor" in lacking(text)
    assert "executor 1" not in lacking(HERE + text)


def test_what_is_something_else() -> None:
    assert lacking(LOST + "ValueError: no") == ""


def test_where_the_last_task_failed_is_read_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    error = ValueError("in short")
    assert text_of(error) == "in short"
    cluster = FakeCluster(FakeExecutor("1", "b", "at length"))
    monkeypatch.setattr(SparkContext, "_active_spark_context", cluster)
    assert text_of(error) == "in short"  # there was no job
    with pytest.raises(RuntimeError):
        cluster.run(answer, [Question()])
    text = text_of(error)
    assert text.startswith("in short\n")
    assert text.endswith(": at length")
    assert place_of(text) == "b (executor 1)"
    monkeypatch.setattr(SparkContext, "_active_spark_context", "gone")
    assert text_of(error) == "in short"
