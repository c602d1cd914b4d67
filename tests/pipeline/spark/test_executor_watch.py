import io
import json
import threading
from typing import TYPE_CHECKING, cast

from odradek.pipeline.spark.executor_watch import ExecutorWatch, watched
from odradek.terminal.progress import Progress
from tests.patience import PATIENCE_S
from tests.pipeline.spark.fake_cluster import FakeCluster, FakeExecutor, Seq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def looked(cluster: FakeCluster) -> tuple[bool, str]:
    said = io.StringIO()
    is_over = ExecutorWatch(cluster.context, Progress(said), 30).look()
    return is_over, said.getvalue()


def test_work_that_waits_for_an_executor_is_told_of() -> None:
    cluster = FakeCluster()
    cluster.stages = [0]
    is_over, said = looked(cluster)
    assert is_over
    assert json.loads(said)["step"].startswith(
        "no executor has come in 30 s, and Spark waits for one: the cluster has no core"
    )


def test_nothing_is_said_while_no_work_waits() -> None:
    assert looked(FakeCluster()) == (False, "")


def test_nothing_is_said_once_an_executor_has_come() -> None:
    cluster = FakeCluster(FakeExecutor("0", "a"))
    cluster.stages = [0]
    assert looked(cluster) == (True, "")


def test_it_looks_on_until_it_has_seen_one() -> None:
    """And ends when Spark does."""
    come = threading.Event()

    class Slow(FakeCluster):
        looks = 0

        def executorList(self, _: bool) -> Seq:
            self.looks += 1
            if self.looks == 3:
                come.set()
                raise RuntimeError("Spark has ended")
            return super().executorList(_)

    cluster = Slow()
    watch = ExecutorWatch(cluster.context, Progress(io.StringIO()), 0.001)
    watch.start()
    assert come.wait(PATIENCE_S)
    watch.stop()


class Session:
    """Of Spark, in this process."""

    def __init__(self, master: str) -> None:
        self.sparkContext = FakeCluster(master=master)


def test_where_executors_are_to_come_somebody_looks() -> None:
    progress = Progress(io.StringIO())
    for master, is_watched in {
        "local[2]": False,
        "spark://a:7077": True,
        "local-cluster[2,1,1024]": True,
    }.items():
        session = cast("SparkSession", Session(master))
        watch = watched(session, master, progress)
        assert (watch is not None) == is_watched
        if watch is not None:
            watch.stop()
