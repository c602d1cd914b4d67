"""Our sticky assignor beside that of Apache Kafka, on random streams groups.

Who has which task differs, since ties are broken by hash order there: not how evenly,
and how much of it stays where it was.
"""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from odradek.broker.coordinator.group.state.streams.configured import (
    ConfiguredSubtopology,
)
from odradek.broker.coordinator.group.state.streams.tasks import TaskIds, Tasks
from odradek.broker.coordinator.group.state.streams.topology import InternalTopic
from odradek.broker.coordinator.group.streams.tasks.assignor import (
    TaskOwner,
    assign_sticky,
)
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.test_assignors import GROUPS
from tests.broker.coordinator.group.streams.tasks.oracle import (
    Assignment,
    check,
    count,
    kept,
    process_loads,
    sizes,
    standby_total,
)

Parts = Mapping[str, ConfiguredSubtopology]


class Group(NamedTuple):
    parts: Parts
    members: list[TaskOwner]
    standby_count: int

    @property
    def lines(self) -> Iterable[str]:
        yield "group"
        for key, part in self.parts.items():
            yield f"tasks\t{key}\t{part.task_count}\t{int(part.is_stateful)}"
        for each in self.members:
            active, standby = text_of(each.had.active), text_of(each.had.standby)
            yield f"member\t{each.member_id}\t{each.process_id}\t{active}\t{standby}"
        yield f"assign\t{self.standby_count}"

    @property
    def ours(self) -> Assignment:
        return assign_sticky(self.members, self.parts, self.standby_count)

    def read(self, answer: str) -> Assignment:
        words = iter(answer.split("\t"))
        names = sorted(each.member_id for each in self.members)
        return {name: Tasks(read(next(words)), read(next(words))) for name in names}


def text_of(tasks: TaskIds) -> str:
    return ";".join(f"{key}:{','.join(map(str, of))}" for key, of in tasks.items())


def read(text: str) -> TaskIds:
    return {
        key: frozenset(map(int, of.split(",")))
        for key, of in (each.split(":") for each in text.split(";") if each)
    }


def random_groups(source: random.Random) -> Iterable[Group]:
    for _ in range(GROUPS):
        parts = {
            f"{number}": ConfiguredSubtopology(
                source.randint(1, 12),
                changelogs=(InternalTopic("log", 1),) * source.randint(0, 1),
            )
            for number in range(source.randint(1, 4))
        }
        processes = [f"p{number}" for number in range(source.randint(1, 6))]
        members = [
            TaskOwner(f"m{number:02}", source.choice(processes), Tasks())
            for number in range(source.randint(1, 12))
        ]
        first = Group(parts, members, source.randint(0, 2))
        yield first
        # Some go, one comes.
        stays = source.sample(members, source.randint(1, len(members)))
        assigned = first.ours
        left = [each._replace(had=assigned[each.member_id]) for each in stays]
        yield Group(parts, left, first.standby_count)
        left.append(TaskOwner("new", source.choice((*processes, "p-new")), Tasks()))
        yield Group(parts, left, first.standby_count)


def test_as_even_and_as_calm(tmp_path: Path, java: JavaClient) -> None:
    groups = list(random_groups(random.Random(3)))
    path = tmp_path / "groups"
    path.write_text("\n".join(line for group in groups for line in group.lines))
    answers = java.tool("StreamsGroups", str(path)).splitlines()
    assert len(answers) == len(groups)
    both: list[tuple[Group, Assignment, Assignment]] = []
    for group, answer in zip(groups, answers, strict=True):
        ours, theirs = group.ours, group.read(answer)
        for each in (ours, theirs):
            check(group.members, group.parts, each)
        assert standby_total(ours) == standby_total(theirs)
        both.append((group, ours, theirs))
    # Ties that are broken otherwise lead elsewhere: over all groups it is as good.
    for measured in (spread, member_spread, taken_away, standbys_taken_away):
        ours_total, theirs_total = (
            sum(measured(group, each[place]) for group, *each in both)
            for place in (0, 1)
        )
        assert ours_total <= theirs_total * 1.01, measured
        alike = [
            measured(group, one) == measured(group, two) for group, one, two in both
        ]
        assert sum(alike) > 0.9 * len(both), measured


def spread(group: Group, assignment: Assignment) -> float:
    """By how much the processes differ."""
    loads = process_loads(group.members, assignment)
    return max(loads) - min(loads)


def member_spread(group: Group, assignment: Assignment) -> int:
    """By how many active tasks the members differ."""
    found = sizes(assignment)
    return found[-1] - found[0]


def taken_away(group: Group, assignment: Assignment) -> int:
    """How many active tasks their members lose."""
    had = sum(count(each.had.active) for each in group.members)
    return had - kept(group.members, assignment)[0]


def standbys_taken_away(group: Group, assignment: Assignment) -> int:
    """How many standby tasks their members lose."""
    had = sum(count(each.had.standby) for each in group.members)
    return had - kept(group.members, assignment)[1]
