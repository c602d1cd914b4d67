"""One Spark and one broker for all tests of the pipeline."""

import os
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from odradek.client.cluster import Cluster
from odradek.pipeline.spark.session import REDACTED
from odradek.pipeline.workers.python import socket_options, worker_python
from tests.apache_kafka import jars
from tests.apache_kafka.node import KafkaNode, running_kafka
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected
from tests.java_archive import archive_options
from tests.pipeline import spark_jars
from tests.pipeline.cluster_place import Place, running_place
from tests.pipeline.shared_spark import SharedSpark
from tests.pipeline.standalone_cluster import can_unshare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BROKER_OPTIONS = (
    "-o",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=200",
)


def skip_or_fail(reason: str | None) -> None:
    """Under CI nothing that can be had is left out."""
    if reason and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="package")
def spark_java(testrun_uid: str) -> None:
    """Java for Spark here and in the processes of tests, with the archive of Spark.

    It takes 41 s of a processor, of which each of a run's eight drivers gets 6 back.
    """
    skip_or_fail(spark_jars.java_missing())
    options = archive_options("spark", spark_jars.origin(), train, testrun_uid)
    os.environ["SPARK_SUBMIT_OPTS"] = shlex.join(options)


def train(java_options: list[str]) -> None:
    command = [sys.executable, "-m", "tests.pipeline.spark_training"]
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": shlex.join(java_options)}
    subprocess.run(command, env=environment, check=True, capture_output=True)


@pytest.fixture(scope="package")
def spark(
    spark_java: None, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[SparkSession]":
    """The only SparkSession: Spark runs in this process, with two threads.

    The jars of Spark's Kafka connector are with it, where Maven could fetch them.
    """
    from pyspark.sql import SparkSession

    root = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = worker_python()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        # A Python worker that starts slowly, on a busy machine, has not failed.
        "spark.python.authenticate.socketTimeout": "600s",
        "spark.sql.warehouse.dir": str(root / "warehouse"),
        "spark.local.dir": str(root / "local"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={root}",
        "spark.jars": ",".join(spark_jars.connector_jars()),
        **socket_options(),
        **REDACTED,
    }
    with warnings.catch_warnings():
        # The JVM lives as long as this process, and so do its sockets.
        warnings.simplefilter("ignore", ResourceWarning)
        builder = SparkSession.builder.master("local[2]").appName("odradek-tests")
        for name, value in options.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


@pytest.fixture
def shared_spark(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    """That session, also for commands that run in this process."""
    SharedSpark.shared = spark
    monkeypatch.setattr("odradek.pipeline.spark.session.SparkOfCommand", SharedSpark)


@pytest.fixture(scope="package")
def kafka_connector(spark: "SparkSession") -> str:
    """The name of Spark's own Kafka connector, whose jars are there."""
    skip_or_fail(spark_jars.connector_missing())
    return "kafka"


@pytest.fixture(scope="package")
def broker_process(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[BrokerProcess]:
    """A broker for all tests that do not stop theirs."""
    data_dir = tmp_path_factory.mktemp("pipeline") / "data"
    with running_broker(data_dir, *BROKER_OPTIONS) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.fixture(scope="package")
def kafka_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    """Apache Kafka, for all tests of the pipeline on it."""
    skip_or_fail(jars.missing())
    jars.fetch()
    options = {
        "log.retention.ms": "-1",
        # Who was killed may only come back when its session is over: else in 9 s.
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "500",
    }
    with running_kafka(tmp_path_factory.mktemp("kafka"), options) as node:
        yield node


@pytest.fixture(scope="module")
def place(
    spark_java: None,
    broker_process: BrokerProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Place]:
    """A standalone cluster of Spark, with workers that see different files."""
    if not can_unshare():
        skip_or_fail("a process must be allowed to mount: unshare -m")
    with running_place(
        tmp_path_factory.mktemp("standalone"), broker_process.address
    ) as p:
        yield p


@pytest.fixture
def cluster(broker_process: BrokerProcess) -> Iterator[Cluster]:
    """A client of that broker."""
    with connected(broker_process.port) as cluster:
        yield cluster


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name of the test's own; the topic is not there."""
    names = [c if c.isalnum() else "-" for c in request.node.name]
    return "".join(names).strip("-")[:200]


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    """The installed Spark, with a folder here for what its workers leave behind."""
    home = tmp_path / "spark"
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    (home / "work").unlink(missing_ok=True)
    return home
