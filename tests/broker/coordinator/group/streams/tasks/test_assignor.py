import random

from odradek.broker.coordinator.group.state.streams.configured import (
    ConfiguredSubtopology,
)
from odradek.broker.coordinator.group.state.streams.tasks import NO_TASKS, Tasks
from odradek.broker.coordinator.group.state.streams.topology import InternalTopic
from odradek.broker.coordinator.group.streams.tasks.assignor import (
    TaskOwner,
    assign_sticky,
)
from tests.broker.coordinator.group.streams.tasks.oracle import (
    again,
    check,
    kept,
    sizes,
    standby_total,
)

LOG = (InternalTopic("log", 4),)


def stateful(task_count: int) -> ConfiguredSubtopology:
    return ConfiguredSubtopology(task_count, changelogs=LOG)


def members(*names: str) -> list[TaskOwner]:
    """Members by their process and a number: "p1" is a thread of process p."""
    return [TaskOwner(name, name[0], NO_TASKS) for name in names]


def test_nobody_gets_nothing_and_without_tasks_everybody_gets_nothing() -> None:
    assert assign_sticky([], {"0": stateful(3)}, 1) == {}
    assert assign_sticky(members("a1"), {}, 1) == {"a1": NO_TASKS}


def test_processes_have_as_many_tasks_and_threads_too() -> None:
    assigned = assign_sticky(members("a1", "a2", "b1"), {"0": stateful(6)}, 0)
    assert sizes(assigned) == [2, 2, 2]
    assert standby_total(assigned) == 0


def test_same_partitions_of_all_subtopologies_stay_with_who_had_them() -> None:
    parts = {"0": stateful(2), "1": ConfiguredSubtopology(2)}
    had = Tasks({"0": frozenset({0, 1}), "1": frozenset({0, 1})})
    group = [TaskOwner("a1", "a", had), *members("b1")]
    assigned = assign_sticky(group, parts, 0)
    assert assigned["a1"].active == {"0": frozenset({0}), "1": frozenset({0})}
    assert assigned["b1"].active == {"0": frozenset({1}), "1": frozenset({1})}


def test_who_followed_a_state_works_on_it_when_its_owner_is_gone() -> None:
    parts = {"0": stateful(1)}
    group = members("b1", "c1")
    before = assign_sticky(group, parts, 1)
    assert (before["b1"].active, before["c1"].standby) == ({"0": {0}}, {"0": {0}})
    group = [*members("a1"), again(group, before)[1]]
    after = assign_sticky(group, parts, 1)
    assert (after["c1"].active, after["a1"].standby) == ({"0": {0}}, {"0": {0}})


def test_standbys_are_in_other_processes_as_far_as_there_are_any() -> None:
    parts = {"0": stateful(3), "1": ConfiguredSubtopology(2)}
    one_process = assign_sticky(members("a1", "a2"), parts, 2)
    assert standby_total(one_process) == 0
    two = assign_sticky(members("a1", "b1"), parts, 2)
    assert standby_total(two) == 3  # one each, and none of what has no state
    three = assign_sticky(members("a1", "b1", "c1"), parts, 2)
    assert standby_total(three) == 6


def test_both_standbys_stay() -> None:
    """Apache Kafka keeps the first and gives the other to anybody."""
    parts = {"0": stateful(5)}
    group = members("a1", "b1", "c1", "d1", "e1")
    before = assign_sticky(group, parts, 2)
    after = assign_sticky(again(group, before), parts, 2)
    assert after == before


def test_what_is_there_no_more_is_not_assigned() -> None:
    had = Tasks({"0": frozenset(range(9)), "gone": frozenset({1})})
    group = [TaskOwner("a1", "a", had)]
    assigned = assign_sticky(group, {"0": ConfiguredSubtopology(3)}, 0)
    assert assigned == {"a1": Tasks({"0": frozenset({0, 1, 2})})}


def test_random_groups_settle() -> None:
    """A target is valid, and the same members keep all of what they work on."""
    source = random.Random(1)
    for _ in range(150):
        parts = {
            str(number): ConfiguredSubtopology(
                source.randint(1, 9), changelogs=LOG * source.randint(0, 1)
            )
            for number in range(source.randint(1, 4))
        }
        standby_count = source.randint(0, 2)
        names = {f"{source.choice('abcd')}{each}" for each in range(10)}
        group = members(*source.sample(sorted(names), source.randint(1, 10)))
        assigned = assign_sticky(group, parts, standby_count)
        check(group, parts, assigned)
        group = again(group, assigned)
        again_assigned = assign_sticky(group, parts, standby_count)
        check(group, parts, again_assigned)
        assert kept(group, again_assigned)[0] == sum(sizes(assigned))
        assert again_assigned == assign_sticky(group[::-1], parts, standby_count)
