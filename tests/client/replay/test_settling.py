"""What is waited for behind the end of a transaction."""

from collections.abc import Iterator
from typing import Any

import pytest

from odradek.client.connection import Connection
from odradek.client.replay.settling import wait_for_markers
from odradek.protocol.messages.txn_admin import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from tests.fakes.scripted import ScriptedCluster, scripted_cluster
from tests.patience import PATIENCE_S


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with scripted_cluster() as cluster:
        yield cluster


def waited(cluster: ScriptedCluster, states: list[str]) -> int:
    """How often it was asked again."""
    left, pauses = list(states), []

    def describe(asked: Any, version: int) -> DescribeTransactionsResponse:
        assert asked.transactional_ids == ["x"]
        state = DescribedTransaction(
            transactional_id="x", transaction_state=left.pop(0)
        )
        return DescribeTransactionsResponse(transaction_states=[state])

    broker = cluster.brokers[1]
    broker.answers[DescribeTransactionsRequest] = describe
    with Connection(*broker.address, timeout_s=PATIENCE_S) as connection:
        wait_for_markers(connection, "x", PATIENCE_S, pauses.append)
    assert not left
    return len(pauses)


def test_it_waits_until_the_end_is_in_the_logs(cluster: ScriptedCluster) -> None:
    states = ["PrepareCommit", "PrepareAbort", "CompleteCommit"]
    assert waited(cluster, states) == 2
    assert waited(cluster, ["Empty"]) == 0


def test_one_that_cannot_be_asked_is_not_waited_for(cluster: ScriptedCluster) -> None:
    broker = cluster.brokers[1]
    with Connection(*broker.address, timeout_s=PATIENCE_S) as connection:
        wait_for_markers(connection, "x", PATIENCE_S)
    assert broker.asked_for(DescribeTransactionsRequest) == 0
