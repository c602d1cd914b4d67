"""Transactional producers that make mistakes hear the same from Apache Kafka."""

import os
from collections.abc import Iterator

import pytest

from tests.apache_kafka.group_steps import GroupSteps
from tests.apache_kafka.node import KafkaNode
from tests.apache_kafka.transaction_steps import Steps
from tests.broker_process import running_broker

IS_LONG = os.environ.get("ODRADEK_LONG") == "1"
SEEDS = range(20 if IS_LONG else 2)
STEP_COUNT = 200 if IS_LONG else 150


# As Apache Kafka's in `node`.
OPTIONS = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}


@pytest.fixture(scope="module")
def addresses(
    lone_kafka: KafkaNode, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """Of odradek and of Apache Kafka."""
    data_dir = tmp_path_factory.mktemp("odradek") / "data"
    options = [f"-o{name}={value}" for name, value in OPTIONS.items()]
    with running_broker(data_dir, *options) as ours:
        yield ours.address, lone_kafka.address
        assert "Traceback" not in ours.log()


@pytest.mark.parametrize("kind", [Steps, GroupSteps])
def test_both_brokers_answer_the_same(
    addresses: tuple[str, str], kind: type[Steps]
) -> None:
    for seed in SEEDS:
        ours, theirs = (kind(each, seed).take(STEP_COUNT) for each in addresses)
        for our_step, their_step in zip(ours, theirs, strict=True):
            assert our_step == their_step, f"seed {seed}"
