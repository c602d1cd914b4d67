from types import SimpleNamespace
from typing import Any, cast

from odradek.broker.cluster.view import ClusterView, KnownBroker
from tests.broker.cluster.cluster_state import broker, partition, topic, topic_id
from tests.broker.quorum.image.states import state


def view(*messages: Any) -> ClusterView:
    source = SimpleNamespace(image=state(*messages))
    return ClusterView(source, cast(Any, None), cast(Any, None))


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
