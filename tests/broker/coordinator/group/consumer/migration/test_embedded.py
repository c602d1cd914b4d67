from odradek.broker.coordinator.group.consumer.migration.embedded import (
    embedded_assignment,
    owned_of,
)
from odradek.protocol.consumer_protocol import (
    ConsumerProtocolSubscription,
    OwnedPartition,
    decode_assignment,
    encode_subscription,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.group.consumer.rig import ConsumerGroups


def test_an_assignment_of_topics_that_are_there() -> None:
    groups = ConsumerGroups(t=3)
    target = {groups.id_of("t"): frozenset({2, 0}), bytes(16): frozenset({1})}
    said = encode_subscription(["t"])
    assignment = embedded_assignment(groups.state, target, said)
    assert assignment[:2] == said[:2], "in their version"
    assert decode_assignment(assignment) == [
        TopicPartition("t", 0),
        TopicPartition("t", 2),
    ]


def test_what_a_member_has() -> None:
    groups = ConsumerGroups(t=3)
    said = ConsumerProtocolSubscription(
        owned_partitions=[
            OwnedPartition(topic="t", partitions=[0]),
            OwnedPartition(topic="gone", partitions=[1]),
            OwnedPartition(topic="t", partitions=[2]),
        ]
    )
    assert owned_of(groups.state, said) == {groups.id_of("t"): {0, 2}}
