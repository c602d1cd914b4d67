from odradek.broker.coordinator.group.consumer.targets.target import preferred_assignor
from odradek.broker.coordinator.group.state.consumer.group import ConsumerState
from odradek.broker.coordinator.group.state.consumer.member import MemberInfo
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups

BOTH = ("uniform", "range")


def named(*names: str | None) -> list[MemberInfo]:
    return [MemberInfo(assignor=name) for name in names]


def test_most_members_choose_the_assignor() -> None:
    assert preferred_assignor(named(), BOTH) == "uniform"
    assert preferred_assignor(named(None, None), BOTH) == "uniform"
    assert preferred_assignor(named("range", None, None), BOTH) == "range"
    assert preferred_assignor(named("range", "uniform", "range"), BOTH) == "range"
    assert preferred_assignor(named("range", "uniform"), BOTH) == "uniform"
    assert preferred_assignor(named("range"), ("uniform",)) == "uniform"


def test_what_they_choose_assigns() -> None:
    groups = ConsumerGroups(t=3, u=3)
    for name in "ab":
        groups.join(name, names=["t", "u"], server_assignor="range")
    groups.settle()
    assert groups.has("a") == {"t": [0, 1], "u": [0, 1]}
    for name in "ab":
        groups.beat_as(name, server_assignor="uniform")
    groups.topics.put("v", 1)
    groups.join("c", names=["t", "u"])
    groups.settle()
    had = [groups.has(name) for name in "abc"]
    assert [sum(map(len, each.values())) for each in had] == [2, 2, 2]


def test_one_assignment_holds_for_its_interval() -> None:
    groups = ConsumerGroups(t=2)
    groups.options[GROUP] = {"consumer.assignment.interval.ms": "5000"}
    assert groups.told(groups.join("a")) == {"t": [0, 1]}, "the first one is at once"
    assert groups.join("b").member_epoch == 2, "it is in the epoch that has a target"
    groups.clock.advance(4999)
    groups.settle()
    assert groups.consumer_group.state is ConsumerState.ASSIGNING
    groups.clock.advance(1)
    groups.settle()
    assert groups.consumer_group.state is ConsumerState.STABLE
    assert [groups.has("a"), groups.has("b")] == [{"t": [0]}, {"t": [1]}]


def test_a_clock_that_was_set_back_keeps_nobody_waiting() -> None:
    groups = ConsumerGroups(t=2)
    groups.options[GROUP] = {"consumer.assignment.interval.ms": "5000"}
    groups.join("a")
    groups.consumer_group.assignment_time_ms = groups.clock.now_ms() + 1_000_000
    assert groups.join("b").member_epoch == 3


def test_only_targets_that_change_are_written() -> None:
    groups = ConsumerGroups(t=4)
    for name in "ab":
        groups.join(name)
        groups.settle()
    groups.topics.put("t", 5)
    before = len(groups.fake.log)
    groups.beat_as("a")
    targets = [key for key, _ in groups.fake.log[before:] if key[1] == 7]
    assert len(targets) == 1
