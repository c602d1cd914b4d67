from odradek.broker.coordinator.group.consumer.answers import (
    left_answer,
    owned_partitions,
    refused_beat,
)
from odradek.protocol.errors import ErrorCode, UnknownMemberId
from odradek.protocol.messages.consumer_groups import HeartbeatTopicPartitions
from tests.broker.coordinator.group.consumer.rig import ConsumerGroups

T = b"t" * 16


def test_what_a_member_says_to_have() -> None:
    assert owned_partitions(None) is None
    assert owned_partitions([]) == {}
    twice = [HeartbeatTopicPartitions(topic_id=T, partitions=of) for of in ([0], [1])]
    assert owned_partitions(twice) == {T: {0, 1}}


def test_a_refusal_tells_nothing_of_the_member() -> None:
    answer = refused_beat(UnknownMemberId("who?"))
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert answer.error_message == "who?"
    assert (answer.member_id, answer.member_epoch) == (None, 0)


def test_who_has_left_need_not_beat() -> None:
    answer = left_answer("m", -2)
    assert (answer.member_epoch, answer.heartbeat_interval_ms) == (-2, 0)


def test_an_assignment_comes_with_a_whole_request() -> None:
    groups = ConsumerGroups(t=2, u=1)
    groups.join("a", names=["u", "t"])
    whole = {"names": ["t", "u"], "rebalance_timeout_ms": 60_000}
    owned = {"t": [0, 1], "u": [0]}
    answer = groups.beat_as("a", owned=owned, **whole)
    assert groups.told(answer) == owned
    assert groups.told(groups.beat_as("a", **whole)) is None
    assert groups.told(groups.beat_as("a", owned=owned)) is None
