import pytest

from odradek.protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    OwnedPartition,
    assignment_as_of,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    has_user_data,
)
from odradek.protocol.errors import MalformedRequest
from odradek.protocol.topic_partition import TopicPartition


def test_subscriptions_of_every_version() -> None:
    value = ConsumerProtocolSubscription(topics=["a", "b"], user_data=b"u")
    for version in range(4):
        data = value.encode(version)
        again = ConsumerProtocolSubscription.decode(data, version)
        assert again.topics == ["a", "b"]
        assert bytes(again.user_data or b"") == b"u"
    assert value.encode(0).hex() == "00000002" + "000161" + "000162" + "00000001" + "75"


def test_what_a_member_has_came_with_version_1() -> None:
    owned = [OwnedPartition(topic="a", partitions=[3])]
    value = ConsumerProtocolSubscription(owned_partitions=owned)
    assert ConsumerProtocolSubscription.decode(value.encode(1), 1) == value
    assert not ConsumerProtocolSubscription.decode(value.encode(0), 0).owned_partitions


def test_assignments() -> None:
    value = ConsumerProtocolAssignment(
        assigned_partitions=[OwnedPartition(topic="a", partitions=[0, 1])]
    )
    assert ConsumerProtocolAssignment.decode(value.encode(3), 3) == value


def test_the_partitions_of_an_assignment() -> None:
    value = ConsumerProtocolAssignment(
        assigned_partitions=[
            OwnedPartition(topic="a", partitions=[0, 1]),
            OwnedPartition(topic="b", partitions=[7]),
        ]
    )
    found = [("a", 0), ("a", 1), ("b", 7)]
    for version in range(4):
        data = version.to_bytes(2, "big") + value.encode(version)
        assert decode_assignment(data) == found
    later = b"\0\x09" + value.encode(3) + b"of version 9"
    assert decode_assignment(later) == found
    assert decode_assignment(b"") == []


@pytest.mark.parametrize("data", [b"\0", b"\xff\xff", b"\0\0", b"\0\0\0\0\0\x05"])
def test_what_is_no_assignment(data: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode_assignment(data)


def test_what_members_write_is_read() -> None:
    subscription = encode_subscription(["b", "a"])
    assert subscription[:2] == b"\0\1"  # librdkafka crashes on version 0
    said = decode_subscription(subscription)
    assert (said.topics, said.owned_partitions) == (["b", "a"], [])
    places = [TopicPartition("a", 3), TopicPartition("b", 0), TopicPartition("a", 1)]
    assert sorted(decode_assignment(encode_assignment(places))) == sorted(places)
    assert decode_assignment(encode_assignment([])) == []


def test_an_assignment_is_in_the_version_of_the_subscription() -> None:
    places = [TopicPartition("t", 0), TopicPartition("t", 2)]
    for version, written in [(0, 0), (3, 3), (9, 3), (-1, 0)]:
        subscription = version.to_bytes(2, "big", signed=True)
        assignment = assignment_as_of(subscription, places)
        assert int.from_bytes(assignment[:2], "big") == written
        assert decode_assignment(assignment) == places
    with pytest.raises(MalformedRequest):
        assignment_as_of(b"", places)


def test_what_else_an_assignment_says() -> None:
    assert not has_user_data(b"")
    assert not has_user_data(encode_assignment([TopicPartition("t", 0)]))
    for data, has_any in [(b"x", True), (b"", False)]:
        said = ConsumerProtocolAssignment(user_data=data)
        assert has_user_data(b"\0\0" + said.encode(0)) is has_any
    with pytest.raises(MalformedRequest):
        has_user_data(b"\1")
