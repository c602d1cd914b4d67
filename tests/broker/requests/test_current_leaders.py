"""Whom to ask instead, as the newest image says."""

from types import SimpleNamespace
from typing import Any, cast

from odradek.broker.cluster.view import ClusterView
from odradek.broker.requests.current_leaders import (
    LEADS_NO_MORE,
    CurrentLeaders,
    current_leaders,
)
from odradek.protocol.errors import ErrorCode
from tests.broker.cluster.cluster_state import broker, partition, topic, topic_id
from tests.broker.quorum.image.states import state


def view() -> ClusterView:
    image = state(
        broker(1),
        broker(2),
        broker(3, fenced=True),
        topic("a"),
        partition("a", 0, 2),
        partition("a", 1, 2),
        partition("a", 2, 3),
    )
    source = SimpleNamespace(image=image)
    return ClusterView(source, *cast("Any", (None, None, None)))


def test_a_leader_is_named_once_with_its_address() -> None:
    leaders = CurrentLeaders(view(), "PLAINTEXT")
    assert leaders.endpoints == []
    assert [leaders.of(topic_id("a"), number) for number in (0, 1)] == [(2, 3)] * 2
    (found,) = leaders.endpoints
    assert (found.node_id, found.host, found.port, found.rack) == (
        2,
        "broker-2",
        9092,
        "rack-2",
    )


def test_nobody_is_named_who_cannot_be_asked() -> None:
    leaders = CurrentLeaders(view(), "PLAINTEXT")
    assert leaders.of(topic_id("a"), 2) is None
    assert leaders.of(topic_id("b"), 0) is None
    assert leaders.endpoints == []


def test_who_does_not_listen_there_is_named_without_an_address() -> None:
    leaders = CurrentLeaders(view(), "SSL")
    assert leaders.of(topic_id("a"), 0) == (2, 3)
    assert leaders.endpoints == []


def test_a_broker_that_is_alone_names_nobody() -> None:
    context = SimpleNamespace(services=SimpleNamespace(cluster=None))
    assert current_leaders(cast("Any", context)) is None
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER in LEADS_NO_MORE
