from typing import TYPE_CHECKING

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.spark.executor_round import (
    Asked,
    Rounds,
    ask_executors,
)
from odradek.pipeline.spark.probe import Question
from tests.patience import PATIENCE_S
from tests.pipeline.spark.fake_cluster import FakeCluster, FakeExecutor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTHING = Question()


def asked(cluster: FakeCluster, patience_s: float = PATIENCE_S) -> list[Asked]:
    return Rounds(cluster.context, cluster.runner, NOTHING, patience_s).asked()


def hosts(found: list[Asked]) -> list[tuple[str, str]]:
    return [(each.executor, each.host) for each in found if each.said is not None]


def test_everybody_is_asked() -> None:
    cluster = FakeCluster(FakeExecutor("1", "b"), FakeExecutor("0", "a"))
    assert hosts(asked(cluster)) == [("0", "a"), ("1", "b")]


def test_who_comes_late_is_asked() -> None:
    late = FakeExecutor("1", "late", come_in_round=1)
    cluster = FakeCluster(FakeExecutor("0", "a"), late)
    assert hosts(asked(cluster)) == [("0", "a"), ("1", "late")]


def test_who_fails_is_heard_though_others_do_its_task() -> None:
    bad = FakeExecutor("1", "b", "x\nModuleNotFoundError: No module named 'odradek'")
    found = asked(FakeCluster(FakeExecutor("0", "a"), bad, FakeExecutor("2", "c")))
    assert hosts(found) == [("0", "a"), ("2", "c")]
    assert found[1] == Asked("1", "b", None, bad.failure)


def test_all_fail() -> None:
    found = asked(FakeCluster(FakeExecutor("0", "a", "no such program")))
    assert found == [Asked("0", "a", None, "no such program")]


def test_an_executor_that_never_has_a_task() -> None:
    class Uneven(FakeCluster):
        def _tried(self, index: int) -> FakeExecutor | None:
            self._note(index, self._executors[0])
            return self._executors[0]

    found = asked(Uneven(FakeExecutor("0", "a"), FakeExecutor("1", "b")))
    assert [each.said is None for each in found] == [False, True]
    assert found[1].failure == "it was given no task in 6 rounds of them"


def test_a_cluster_that_gives_nothing() -> None:
    class Empty(FakeCluster):
        def run(self, *_: object) -> list[object]:
            while not self.cancelled:
                pass
            raise RuntimeError("Job 0 cancelled")

    with pytest.raises(JobError, match=r"no executor has come in 0.01 s"):
        asked(Empty(), 0.01)


def test_a_spark_of_this_process(spark: "SparkSession") -> None:
    (found,) = ask_executors(spark, Question(("odradek", "no_such_package")))
    assert found.is_driver
    assert found.said is not None
    assert found.said.packages["odradek"] is not None
    assert found.said.packages["no_such_package"] is None
