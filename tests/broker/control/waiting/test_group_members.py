from odradek.broker.control.waiting.group_members import (
    client_of,
    generation_of,
    instance_of,
    is_stable,
    places_of,
)
from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
from odradek.broker.coordinator.group.state.classic_member import ClassicMember
from odradek.protocol.consumer_protocol import encode_assignment
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups
from tests.broker.coordinator.group.rig import FakeTopics
from tests.broker.coordinator.group.share.rig import ShareGroups

T1 = TopicPartition("t", 1)


def classic(assignment: bytes, protocol_type: str = "consumer") -> ClassicMember:
    return ClassicMember(
        "m", "i", "c", "/10.0.0.1", 1, 1, protocol_type, (), assignment=assignment
    )


def test_of_the_classic_protocol() -> None:
    topics, member = FakeTopics(), classic(encode_assignment([T1]))
    assert places_of(member, topics) == [T1]  # type: ignore[arg-type]
    assert client_of(member) == ("c", "10.0.0.1")
    assert instance_of(member) == "i"
    group = ClassicGroup("g", 0)
    group.generation_id = 7
    assert (generation_of(group), is_stable(group)) == (7, False)


def test_what_is_no_consumer_s_assignment_is_nothing() -> None:
    topics = FakeTopics()
    for member in (classic(b"\xff"), classic(encode_assignment([T1]), "connect")):
        assert places_of(member, topics) == []  # type: ignore[arg-type]


def test_of_the_consumer_protocol() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a", instance="i")
    group = groups.consumer_group
    (member,) = group.members.values()
    assert group is groups.state.consumer_groups[GROUP]
    topics = groups.state.topics
    assert places_of(member, topics) == [TopicPartition("t", 0), T1]
    assert client_of(member) == ("client", "127.0.0.1")
    assert instance_of(member) == "i"
    assert (generation_of(group), is_stable(group)) == (2, True)
    groups.topics.remove("t")
    assert places_of(member, topics) == [], "nobody reads what is deleted"


def test_of_a_share_group() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    group = groups.share_group
    (member,) = group.members.values()
    assert places_of(member, groups.state.topics) == [TopicPartition("t", 0), T1]
    assert client_of(member) == ("client", "127.0.0.1")
    assert instance_of(member) is None
    assert (generation_of(group), is_stable(group)) == (3, True)
    groups.join("b")
    assert not is_stable(group), "the first does not know yet that it has less"
    groups.beat_as("a")
    assert is_stable(group)
