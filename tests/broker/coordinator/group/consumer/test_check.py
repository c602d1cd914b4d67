from typing import Any

import pytest

from odradek.broker.coordinator.group.consumer.check import (
    PATTERN_LENGTH_MAX,
    TOPIC_NAMES_MAX,
    check_epoch,
    check_request,
)
from odradek.broker.coordinator.group.state.consumer.member import Holding
from odradek.protocol.errors import (
    FencedMemberEpoch,
    InvalidRequest,
    KafkaError,
    UnsupportedAssignor,
)
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatTopicPartitions,
)

ASSIGNORS = ("uniform", "range")
TOPIC = b"t" * 16


def request(**fields: Any) -> ConsumerGroupHeartbeatRequest:
    """A heartbeat of who joins, unless it says something else."""
    joining: dict[str, Any] = {
        "group_id": "g",
        "member_id": "m",
        "member_epoch": 0,
        "rebalance_timeout_ms": 5000,
        "subscribed_topic_names": ["t"],
        "topic_partitions": [],
    }
    return ConsumerGroupHeartbeatRequest(**{**joining, **fields})


def test_what_says_all_passes() -> None:
    check_request(request(), 1, ASSIGNORS)
    check_request(request(server_assignor="range", instance_id="i"), 1, ASSIGNORS)
    pattern = request(subscribed_topic_names=None, subscribed_topic_regex="")
    check_request(pattern, 1, ASSIGNORS)
    nothing: dict[str, Any] = {
        "rebalance_timeout_ms": -1,
        "subscribed_topic_names": None,
        "topic_partitions": None,
    }
    for epoch in (7, -1):
        check_request(request(member_epoch=epoch, **nothing), 1, ASSIGNORS)
    left = request(member_epoch=-2, instance_id="i", **nothing)
    check_request(left, 1, ASSIGNORS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"group_id": " "}, "GroupId can't be empty."),
        ({"instance_id": ""}, "InstanceId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        (
            {"rebalance_timeout_ms": -1},
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        ({"rebalance_timeout_ms": -5}, "RebalanceTimeoutMs must not be negative."),
        (
            {"topic_partitions": None},
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            {
                "topic_partitions": [
                    HeartbeatTopicPartitions(topic_id=TOPIC, partitions=[0])
                ]
            },
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            {"subscribed_topic_names": None},
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null "
            "when (re-)joining.",
        ),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({"member_epoch": -3}, "MemberEpoch is invalid."),
        (
            {"subscribed_topic_names": ["t"] * (TOPIC_NAMES_MAX + 1)},
            "SubscribedTopicNames must not be more than 10000.",
        ),
        (
            {"subscribed_topic_regex": "t" * (PATTERN_LENGTH_MAX + 1)},
            "SubscribedTopicRegex must not be longer than 4096.",
        ),
    ],
)
def test_what_does_not_is_told_why(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_request(request(**fields), 1, ASSIGNORS)
    assert str(refused.value) == message


def test_an_assignor_that_is_not_there() -> None:
    with pytest.raises(UnsupportedAssignor) as refused:
        check_request(request(server_assignor="sticky"), 1, ASSIGNORS)
    assert str(refused.value) == (
        "ServerAssignor sticky is not supported. Supported assignors: uniform, range."
    )


def test_in_version_0_the_broker_gives_ids() -> None:
    check_request(request(member_id=""), 0, ASSIGNORS)
    for epoch in (1, -1):
        with pytest.raises(InvalidRequest):
            check_request(request(member_id="", member_epoch=epoch), 0, ASSIGNORS)


@pytest.mark.parametrize(
    ("epoch", "owned", "error"),
    [
        (5, None, None),
        (4, {TOPIC: frozenset({1})}, None),
        (4, {}, None),
        (4, None, FencedMemberEpoch),
        (4, {TOPIC: frozenset({1, 3})}, FencedMemberEpoch),
        (3, {}, FencedMemberEpoch),
        (6, {}, FencedMemberEpoch),
    ],
)
def test_the_epoch_of_a_member(
    epoch: int,
    owned: dict[bytes, frozenset[int]] | None,
    error: type[KafkaError] | None,
) -> None:
    holding = Holding(5, 4, 0, {TOPIC: {1: 5, 2: 5}})
    if error is None:
        check_epoch(holding, epoch, owned)
        return
    with pytest.raises(error):
        check_epoch(holding, epoch, owned)
