from protocol.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    OwnedPartition,
)


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
