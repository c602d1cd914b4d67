"""Transactional producers that make mistakes hear the same from Apache Kafka."""

import os
from pathlib import Path

import pytest

from tests.broker_process import running_broker

from .node import running_kafka
from .transaction_steps import Steps

IS_LONG = os.environ.get("ODRADEK_LONG") == "1"
SEEDS = range(20 if IS_LONG else 2)
STEP_COUNT = 200 if IS_LONG else 150


def test_both_brokers_answer_the_same(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (
        running_broker(tmp_path / "data") as ours,
        running_kafka(tmp_path_factory.mktemp("kafka")) as kafka,
    ):
        for seed in SEEDS:
            steps = zip(
                Steps(ours.address, seed).take(STEP_COUNT),
                Steps(kafka.address, seed).take(STEP_COUNT),
                strict=True,
            )
            for our_step, their_step in steps:
                assert our_step == their_step, f"seed {seed}"
        assert "Traceback" not in ours.log()
