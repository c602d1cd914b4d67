"""Skips this folder where Apache Kafka cannot run, except under CI.

What runs here ends with the folder: Java uses processor time while nobody asks it.
"""

import os
from collections.abc import Iterator

import pytest

from tests.apache_kafka import jars
from tests.apache_kafka.both_brokers import BothBrokers
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.node import KafkaNode, running_kafka
from tests.broker_process import running_broker

OPTIONS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


@pytest.fixture(scope="package", autouse=True)
def apache_kafka() -> None:
    reason = jars.missing()
    if reason and os.environ.get("CI") == "true":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    jars.fetch()


@pytest.fixture(scope="package")
def java(
    apache_kafka: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    with JavaClient(tmp_path_factory.mktemp("java") / "client.log") as client:
        yield client


@pytest.fixture(scope="package")
def lone_kafka(
    apache_kafka: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaNode]:
    """Apache Kafka for what is not asked of another broker: a start costs seconds.

    Tests give names of their own to what they make there, and leave it behind.
    """
    with running_kafka(tmp_path_factory.mktemp("lone")) as node:
        yield node


@pytest.fixture(scope="package")
def both(
    java: JavaClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BothBrokers]:
    """Both brokers, for all tests of tools: each start of one costs seconds."""
    root = tmp_path_factory.mktemp("both")
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with (
        running_kafka(root, OPTIONS) as kafka,
        running_broker(root / "data", *options) as ours,
    ):
        yield BothBrokers(java, kafka, ours)
        assert "Traceback" not in ours.log()
