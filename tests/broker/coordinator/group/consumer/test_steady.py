"""What `is_steady` says is compared with whole heartbeats in `test_usual_beats`."""

from dataclasses import replace
from typing import Any

import pytest

from odradek.broker.coordinator.group.consumer.heartbeat import Beat
from odradek.broker.coordinator.group.consumer.steady import (
    is_steady,
    steady_answer,
    steady_of,
)
from odradek.broker.coordinator.group.state.steady import Steady
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest

from .rig import GROUP, ConsumerGroups


def beat(epoch: int, **fields: Any) -> Beat:
    fields = {"topic_partitions": None} | fields
    request = ConsumerGroupHeartbeatRequest(
        group_id=GROUP, member_id="m", member_epoch=epoch, **fields
    )
    return Beat(request, "client", "/127.0.0.1")


def alone(**fields: Any) -> tuple[ConsumerGroups, Steady]:
    """A group of one member, and what that says again and again."""
    groups = ConsumerGroups(t=2)
    groups.join("m", **fields)
    groups.settle()
    groups.beat_as("m")
    said = steady_of(groups.state, beat(groups.member("m").holding.epoch))
    assert said is not None
    return groups, said


@pytest.mark.parametrize(
    "fields",
    [
        {"topic_partitions": []},
        {"subscribed_topic_names": ["t"]},
        {"subscribed_topic_regex": ""},
        {"rack_id": "r"},
        {"server_assignor": "range"},
        {"rebalance_timeout_ms": 5},
    ],
)
def test_who_says_anything_is_not_steady(fields: dict[str, Any]) -> None:
    groups, _ = alone()
    assert steady_of(groups.state, beat(2, **fields)) is None


@pytest.mark.parametrize("epoch", [0, -1, -2])
def test_who_joins_or_leaves_is_not(epoch: int) -> None:
    groups, _ = alone()
    assert steady_of(groups.state, beat(epoch)) is None


def test_nothing_is_told_and_the_session_is_that_of_the_group() -> None:
    groups, said = alone()
    assert is_steady(groups.state, said)
    assert said.session_key in groups.state.timers
    answer = steady_answer(groups.state, beat(said.epoch))
    assert answer == groups.beat_as("m")


@pytest.mark.parametrize(
    "other",
    [
        {"group_id": "other"},
        {"member_id": "other"},
        {"epoch": 1},
        {"instance_id": "i"},
        {"client_id": "other"},
        {"client_host": "/other"},
    ],
)
def test_it_has_to_be_who_is_known(other: dict[str, Any]) -> None:
    groups, said = alone()
    assert not is_steady(groups.state, replace(said, **other))


def test_a_change_of_topics_or_members_is_one() -> None:
    groups, said = alone()
    groups.topics.put("u", 1)
    assert not is_steady(groups.state, said)
    groups.beat_as("m")
    assert is_steady(groups.state, said)
    groups.join("n")
    assert not is_steady(groups.state, said)
