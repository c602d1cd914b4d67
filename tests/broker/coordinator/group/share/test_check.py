from typing import Any

import pytest

from odradek.broker.coordinator.group.share.check import (
    TOPIC_NAMES_MAX,
    check_epoch,
    check_member_id,
    check_request,
)
from odradek.broker.coordinator.group.state.share.member import ShareHolding
from odradek.protocol.errors import FencedMemberEpoch, InvalidRequest
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest


def request(**fields: Any) -> ShareGroupHeartbeatRequest:
    """A heartbeat of who joins, unless it says something else."""
    joining: dict[str, Any] = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 0,
        "subscribed_topic_names": ["t"],
    }
    return ShareGroupHeartbeatRequest(**{**joining, **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"rack_id": "r"},
        {"member_epoch": 1, "subscribed_topic_names": None},
        {"member_epoch": -1, "subscribed_topic_names": None},
        {"subscribed_topic_names": ["t"] * TOPIC_NAMES_MAX},
    ],
)
def test_what_says_all_passes(fields: dict[str, Any]) -> None:
    check_request(request(**fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"group_id": ""}, "GroupId can't be empty."),
        ({"group_id": " "}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        (
            {"subscribed_topic_names": None},
            "SubscribedTopicNames must be set in first request.",
        ),
        (
            {"subscribed_topic_names": []},
            "SubscribedTopicNames must be set in first request.",
        ),
        ({"member_epoch": -2}, "MemberEpoch is invalid."),
        (
            {"subscribed_topic_names": ["t"] * (TOPIC_NAMES_MAX + 1)},
            "SubscribedTopicNames must not be more than 10000.",
        ),
    ],
)
def test_what_does_not_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_request(request(**fields))
    assert str(refused.value) == message


def test_a_member_has_an_id_of_its_own() -> None:
    check_member_id("m")
    check_member_id("m" * 36)
    for wrong in ("", None, "m" * 37):
        with pytest.raises(InvalidRequest, match="1 to 36 characters"):
            check_member_id(wrong)


def test_an_epoch_is_the_present_one_or_the_one_before() -> None:
    holding = ShareHolding(epoch=7, previous_epoch=4)
    check_epoch(holding, 7)
    check_epoch(holding, 4)
    for epoch, relation in [(8, "greater"), (6, "smaller"), (3, "smaller")]:
        with pytest.raises(FencedMemberEpoch, match=f"a {relation} member epoch"):
            check_epoch(holding, epoch)
