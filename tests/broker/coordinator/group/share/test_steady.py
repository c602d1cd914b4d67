"""What `is_steady` says is compared with whole heartbeats in `test_usual_beats`."""

from dataclasses import replace
from typing import Any

import pytest

from odradek.broker.coordinator.group.share.heartbeat import ShareBeat
from odradek.broker.coordinator.group.share.steady import (
    is_steady,
    steady_answer,
    steady_of,
)
from odradek.broker.coordinator.group.state.steady import Steady
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest

from .rig import GROUP, ShareGroups


def beat(epoch: int, **fields: Any) -> ShareBeat:
    request = ShareGroupHeartbeatRequest(
        group_id=GROUP, member_id="m", member_epoch=epoch, **fields
    )
    return ShareBeat(request, "client", "/127.0.0.1")


def alone() -> tuple[ShareGroups, Steady]:
    """A group of one member, and what that says again and again."""
    groups = ShareGroups(t=2)
    groups.join("m")
    groups.flush()
    groups.beat_as("m")
    said = steady_of(groups.state, beat(groups.member("m").holding.epoch))
    assert said is not None
    return groups, said


@pytest.mark.parametrize(
    "fields", [{"subscribed_topic_names": ["t"]}, {"rack_id": "r"}]
)
def test_who_says_anything_is_not_steady(fields: dict[str, Any]) -> None:
    groups, _ = alone()
    assert steady_of(groups.state, beat(2, **fields)) is None


@pytest.mark.parametrize("epoch", [0, -1])
def test_who_joins_or_leaves_is_not(epoch: int) -> None:
    groups, _ = alone()
    assert steady_of(groups.state, beat(epoch)) is None


def test_nothing_is_told() -> None:
    groups, said = alone()
    assert is_steady(groups.state, said)
    assert said.session_key in groups.state.timers
    assert steady_answer(groups.state, beat(said.epoch)) == groups.beat_as("m")


@pytest.mark.parametrize(
    "other",
    [
        {"group_id": "other"},
        {"member_id": "other"},
        {"epoch": 1},
        {"client_id": "other"},
        {"client_host": "/other"},
    ],
)
def test_it_has_to_be_who_is_known(other: dict[str, Any]) -> None:
    groups, said = alone()
    assert not is_steady(groups.state, replace(said, **other))


def test_a_change_of_topics_is_one() -> None:
    groups, said = alone()
    groups.topics.put("u", 1)
    assert not is_steady(groups.state, said)
    groups.beat_as("m")
    assert is_steady(groups.state, said)
