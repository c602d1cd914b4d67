from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.broker.cluster.view import ClusterView, KnownBroker
from tests.broker.cluster.cluster_state import broker, partition, topic, topic_id
from tests.broker.quorum.image.states import state


def view(*messages: Any) -> ClusterView:
    source = SimpleNamespace(image=state(*messages))
    return ClusterView(source, *cast(Any, (None, None, None)))


def test_clients_are_told_of_brokers_that_are_let_in_and_listen_there() -> None:
    found = view(broker(1), broker(2, fenced=True))
    assert found.brokers("PLAINTEXT") == [KnownBroker(1, "broker-1", 9092, "rack-1")]
    assert found.brokers("SSL") == []
    assert found.broker(1, "PLAINTEXT") is not None
    assert found.broker(2, "PLAINTEXT") is None
    assert found.alive_count == 1


def test_who_has_a_partition() -> None:
    found = view(broker(1), broker(2), topic("a"), partition("a", 0, 2, 1, 2))
    placed = found.placed(topic_id("a"), 0)
    assert placed is not None
    assert (placed.leader, placed.leader_epoch) == (2, 3)
    assert (placed.replicas, placed.isr, placed.offline) == ([1, 2], [1, 2], [])
    assert found.placed(topic_id("a"), 1) is None
    assert found.placed(topic_id("b"), 0) is None


def test_nobody_is_sent_to_a_leader_that_is_away() -> None:
    found = view(broker(1), broker(2, fenced=True), topic("a"), partition("a", 0, 2))
    placed = found.placed(topic_id("a"), 0)
    assert placed is not None
    assert (placed.leader, placed.offline) == (-1, [2])


@pytest.mark.parametrize(
    ("directory_id", "offline"),
    [
        (b"a" * 16, []),
        (b"b" * 16, [2]),  # it has failed
        (bytes(16), []),  # not said yet
        (bytes(15) + b"\1", []),
        (bytes(15) + b"\2", [2]),  # lost
    ],
)
def test_a_replica_in_a_directory_that_has_failed_is_offline(
    directory_id: bytes, offline: list[int]
) -> None:
    its, known = partition("a", 0, 1, 1, 2), broker(2)
    known.log_dirs, its.directories = [b"a" * 16], [b"a" * 16, directory_id]
    placed = view(broker(1), known, topic("a"), its).placed(topic_id("a"), 0)
    assert placed is not None
    assert (placed.leader, placed.offline) == (1, offline)
