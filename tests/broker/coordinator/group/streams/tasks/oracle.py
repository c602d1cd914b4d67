"""What must hold of every assignment of tasks, whoever made it."""

from collections.abc import Iterator, Mapping, Sequence

from odradek.broker.coordinator.group.state.streams.configured import (
    ConfiguredSubtopology,
)
from odradek.broker.coordinator.group.state.streams.tasks import TaskIds, Tasks
from odradek.broker.coordinator.group.streams.tasks.assignor import TaskOwner

Assignment = Mapping[str, Tasks]
Task = tuple[str, int]


def check(
    members: Sequence[TaskOwner],
    parts: Mapping[str, ConfiguredSubtopology],
    assignment: Assignment,
) -> None:
    """Each task is active once, and no process has it twice."""
    assert assignment.keys() == {each.member_id for each in members}
    active: list[Task] = []
    places: set[tuple[str, Task]] = set()
    for each in members:
        tasks = assignment[each.member_id]
        assert not tasks.warmup
        active += flat(tasks.active)
        for task in (*flat(tasks.active), *flat(tasks.standby)):
            assert (each.process_id, task) not in places
            places.add((each.process_id, task))
        assert all(parts[key].is_stateful for key in tasks.standby)
        assert all((*tasks.active.values(), *tasks.standby.values())), "empty sets"
    assert sorted(active) == sorted(
        (key, number)
        for key, part in parts.items()
        for number in range(part.task_count)
    )


def flat(tasks: TaskIds) -> Iterator[Task]:
    return ((key, number) for key, numbers in tasks.items() for number in numbers)


def count(tasks: TaskIds) -> int:
    """How many there are."""
    return sum(map(len, tasks.values()))


def sizes(assignment: Assignment) -> list[int]:
    """How many active tasks the members have, sorted."""
    return sorted(count(each.active) for each in assignment.values())


def standby_total(assignment: Assignment) -> int:
    """How many standby tasks there are."""
    return sum(count(each.standby) for each in assignment.values())


def process_loads(members: Sequence[TaskOwner], assignment: Assignment) -> list[float]:
    """Tasks for each member of a process, sorted."""
    tasks: dict[str, list[int]] = {}
    for each in members:
        has = assignment[each.member_id]
        counts = tasks.setdefault(each.process_id, [])
        counts.append(count(has.active) + count(has.standby))
    return sorted(sum(each) / len(each) for each in tasks.values())


def kept(members: Sequence[TaskOwner], assignment: Assignment) -> tuple[int, int]:
    """How many active, and standby, tasks stay in their members."""
    return (
        sum(
            len({*flat(each.had.active)} & {*flat(assignment[each.member_id].active)})
            for each in members
        ),
        sum(
            len({*flat(each.had.standby)} & {*flat(assignment[each.member_id].standby)})
            for each in members
        ),
    )


def again(members: Sequence[TaskOwner], assignment: Assignment) -> list[TaskOwner]:
    """The same members, with what they were assigned."""
    return [each._replace(had=assignment[each.member_id]) for each in members]
