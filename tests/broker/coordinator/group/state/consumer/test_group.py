from odradek.broker.coordinator.group.state.consumer.group import (
    ConsumerGroup,
    ConsumerState,
    ResolvedPattern,
)
from odradek.broker.coordinator.group.state.consumer.member import (
    Holding,
    HoldingState,
    MemberInfo,
)

T = b"t" * 16


def names(*topics: str, pattern: str = "") -> MemberInfo:
    return MemberInfo(topic_names=topics, pattern=pattern)


def test_its_state_is_that_of_its_members() -> None:
    group = ConsumerGroup("g")
    assert group.state is ConsumerState.EMPTY
    assert group.is_empty
    group.put_info("a", names("t"))
    group.epoch = 1
    assert group.state is ConsumerState.ASSIGNING
    group.assignment_epoch = 1
    assert group.state is ConsumerState.RECONCILING
    group.put_holding("a", Holding(1))
    assert group.state is ConsumerState.STABLE
    group.put_holding("a", Holding(1, 1, HoldingState.UNREVOKED))
    assert group.state is ConsumerState.RECONCILING
    assert "Reconciling, epoch 1, 1 members" in repr(group)
    group.is_gone = True
    assert group.state is ConsumerState.DEAD


def test_a_partition_is_owned_until_it_was_given_up() -> None:
    group = ConsumerGroup("g")
    group.put_holding("a", Holding(1, 0, 0, {T: {0: 1, 1: 1}}))
    assert group.owner_of(T, 0) == "a"
    group.put_holding("a", Holding(1, 0, 1, {T: {0: 1}}, {T: {1: 1}}))
    assert group.owner_of(T, 1) == "a"
    group.put_holding("a", Holding(2, 1, 0, {T: {0: 1}}))
    assert group.owner_of(T, 1) is None
    group.put_holding("b", Holding(2, 1, 0, {T: {1: 2}}))
    group.remove("a")
    assert (group.owner_of(T, 0), group.owner_of(T, 1)) == (None, "b")


def test_one_that_has_taken_over_keeps_what_the_other_one_loses() -> None:
    group = ConsumerGroup("g")
    group.put_holding("a", Holding(1, 0, 0, {T: {0: 1}}))
    group.put_holding("b", Holding(1, 0, 0, {T: {0: 1}}))
    group.remove("a")
    assert group.owner_of(T, 0) == "b"


def test_which_topics_are_read() -> None:
    group = ConsumerGroup("g")
    group.put_info("a", names("t", "u"))
    group.put_info("b", names("u", pattern="v.*"))
    assert group.subscribed_topics() == {"t", "u"}
    group.patterns["v.*"] = ResolvedPattern(frozenset({"v1"}), 0, 0)
    assert group.topics_of(group.members["b"].info) == {"u", "v1"}
    assert group.subscribed_topics() == {"t", "u", "v1"}
    assert group.used_patterns() == ["v.*"]
    assert (group.subscribers_by("v.*"), group.subscribers_by("w")) == (1, 0)
    group.put_info("a", names())
    assert group.subscribed_topics() == {"u", "v1"}
    group.remove("b")
    assert group.subscribed_topics() == frozenset()
    assert group.used_patterns() == []


def test_which_would_be() -> None:
    group = ConsumerGroup("g")
    group.put_info("a", names("t"))
    group.put_info("b", names("t", pattern="v.*"))
    a, b = (group.members[each].info for each in "ab")
    found = {"v.*": frozenset({"v1"}), "w": frozenset({"w1"})}
    assert group.subscribed_topics_with([a], None, {}) == {"t"}
    assert group.subscribed_topics_with([a, b], None, found) == frozenset()
    assert group.subscribed_topics_with([a], names("u"), found) == {"t", "u", "v1"}
    assert group.subscribed_topics() == {"t"}


def test_static_members() -> None:
    group = ConsumerGroup("g")
    group.put_info("a", MemberInfo(instance_id="i"))
    assert group.static_member("i") is group.members["a"]
    group.put_info("b", MemberInfo(instance_id="i"))
    group.remove("a")
    assert group.static_members == {"i": "b"}
    group.remove("b")
    assert group.static_member("i") is None


def test_who_is_not_there_is_not_removed() -> None:
    group = ConsumerGroup("g")
    group.remove("a")
    assert group.target_of("a") == {}
