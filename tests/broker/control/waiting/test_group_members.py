from odradek.broker.control.waiting.group_members import (
    assigned_of,
    client_of,
    generation_of,
    instance_of,
    is_stable,
)
from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
from odradek.broker.coordinator.group.state.classic_member import ClassicMember
from odradek.broker.coordinator.group.state.streams.group import StreamsGroup
from odradek.broker.coordinator.group.state.streams.member import (
    StreamsHolding,
    StreamsMemberInfo,
)
from odradek.broker.coordinator.group.state.streams.tasks import HeldTasks
from odradek.broker.coordinator.group.state.streams.topology import (
    InternalTopic,
    Subtopology,
    Topology,
)
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


def group_of(member: ClassicMember) -> ClassicGroup:
    group = ClassicGroup("g", 0)
    group.members["m"] = member
    return group


def test_of_the_classic_protocol() -> None:
    member = classic(encode_assignment([T1]))
    assert client_of(member) == ("c", "10.0.0.1")
    assert instance_of(member) == "i"
    group = group_of(member)
    assert assigned_of(group, FakeTopics()) == {"m": [T1]}  # type: ignore[arg-type]
    group.generation_id = 7
    assert (generation_of(group), is_stable(group)) == (7, False)


def test_what_is_no_consumer_s_assignment_is_nothing() -> None:
    topics = FakeTopics()
    for member in (classic(b"\xff"), classic(encode_assignment([T1]), "connect")):
        group = group_of(member)
        assert assigned_of(group, topics) == {"m": []}  # type: ignore[arg-type]


def test_of_the_consumer_protocol() -> None:
    groups = ConsumerGroups(t=2)
    groups.join("a", instance="i")
    group = groups.consumer_group
    (member,) = group.members.values()
    assert group is groups.state.consumer_groups[GROUP]
    topics = groups.state.topics
    assert assigned_of(group, topics) == {"a": [TopicPartition("t", 0), T1]}
    assert client_of(member) == ("client", "127.0.0.1")
    assert instance_of(member) == "i"
    assert (generation_of(group), is_stable(group)) == (2, True)
    groups.topics.remove("t")
    assert assigned_of(group, topics) == {"a": []}, "nobody reads what is deleted"


def test_of_a_share_group() -> None:
    groups = ShareGroups(t=2)
    groups.join("a")
    group = groups.share_group
    (member,) = group.members.values()
    assigned = assigned_of(group, groups.state.topics)
    assert assigned == {"a": [TopicPartition("t", 0), T1]}
    assert client_of(member) == ("client", "127.0.0.1")
    assert instance_of(member) is None
    assert (generation_of(group), is_stable(group)) == (3, True)
    groups.join("b")
    assert not is_stable(group), "the first does not know yet that it has less"
    groups.beat_as("a")
    assert is_stable(group)


def test_of_a_streams_group() -> None:
    """A task reads its partition of all inputs that have it; a standby reads none."""
    topics = FakeTopics()
    topics.put("t", 2)
    topics.put("short", 1)
    topics.put("words", 2)
    group = StreamsGroup("g")
    group.put_info("a", StreamsMemberInfo(client_id="c", client_host="/10.0.0.1"))
    assert assigned_of(group, topics) == {"a": []}  # type: ignore[arg-type]
    words = (InternalTopic("words", 2),)
    group.topology = Topology(
        1,
        (
            Subtopology("0", ("t", "short", "gone")),
            Subtopology("1", repartition_sources=words),
        ),
    )
    held = HeldTasks({"0": {0: 3, 1: 3}}, standby={"1": frozenset({0})})
    group.put_holding("a", StreamsHolding(3, 2, assigned=held))
    group.epoch = group.assignment_epoch = 3
    group.validated_epoch = 1
    assert assigned_of(group, topics) == {  # type: ignore[arg-type]
        "a": [TopicPartition("t", 0), T1, TopicPartition("short", 0)]
    }
    (member,) = group.members.values()
    assert client_of(member) == ("c", "10.0.0.1")
    assert instance_of(member) is None
    assert (generation_of(group), is_stable(group)) == (3, True)
