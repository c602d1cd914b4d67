"""Our simple assignor beside that of Apache Kafka, on random share groups.

Who has which partition differs, since ties are broken by hash order there: not how many
partitions the members have, where all read the same, and that each has somebody.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from odradek.broker.coordinator.group.share.assignor import Sharer, assign_simple
from odradek.broker.coordinator.group.state.consumer.member import Partitions
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.test_assignors import GROUPS, number_of, read, text_of
from tests.broker.coordinator.group.consumer.targets.assignors.oracle import (
    sizes,
    topic_id,
)

Assigned = Mapping[str, Partitions]


class Group(NamedTuple):
    counts: Mapping[bytes, int]
    sharers: list[Sharer]

    @property
    def lines(self) -> Iterable[str]:
        yield "group\tsimple"
        for topic, count in self.counts.items():
            yield f"topic\t{number_of(topic)}\t{count}"
        for each in self.sharers:
            topics = ",".join(str(number_of(topic)) for topic in each.topic_ids)
            yield f"member\t{each.member_id}\t\t{topics}\t{text_of(each.had)}"
        yield "assign"

    @property
    def ours(self) -> Assigned:
        there = {topic: frozenset(range(of)) for topic, of in self.counts.items()}
        return assign_simple(self.sharers, there)

    @property
    def is_even(self) -> bool:
        return len({each.topic_ids for each in self.sharers}) == 1


def random_groups(source: random.Random) -> Iterable[Group]:
    for _ in range(GROUPS):
        topics = [topic_id(number) for number in range(source.randint(1, 4))]
        counts = {each: source.randint(1, 6) for each in topics}
        all_alike = source.random() < 0.7
        sharers = []
        for number in range(source.randint(1, 24)):
            some = source.sample(topics, source.randint(1, len(topics)))
            wanted = frozenset(topics if all_alike else some)
            sharers.append(Sharer(f"m{number:02}", wanted, {}))
        first = Group(counts, sharers)
        yield first
        # Some go, and one comes.
        stays = source.sample(sharers, source.randint(1, len(sharers)))
        left = [each._replace(had=first.ours[each.member_id]) for each in stays]
        left.append(Sharer("new", left[0].topic_ids, {}))
        yield Group(counts, left)


def test_everybody_has_as_much_and_nothing_is_left(
    tmp_path: Path, java: JavaClient
) -> None:
    groups = list(random_groups(random.Random(11)))
    path = tmp_path / "groups"
    path.write_text("\n".join(line for group in groups for line in group.lines))
    answers = java.tool("Assignors", str(path)).splitlines()
    assert len(answers) == len(groups)
    even_count = our_moves = their_moves = 0
    for group, answer in zip(groups, answers, strict=True):
        names = sorted(each.member_id for each in group.sharers)
        theirs = dict(zip(names, map(read, answer.split("\t")), strict=True))
        ours = group.ours
        assert ours.keys() == theirs.keys()
        assert readers(ours).keys() == readers(theirs).keys(), "what is read at all"
        if group.is_even:
            even_count += 1
            assert sizes(ours) == sizes(theirs)
            our_moves -= kept(group, ours)
            their_moves -= kept(group, theirs)
            most = max(readers(theirs).values())
            assert max(readers(ours).values()) <= most
    assert even_count > GROUPS // 2
    assert our_moves <= their_moves, "over all groups as few are taken away"


def readers(assigned: Assigned) -> Counter[tuple[bytes, int]]:
    """How many members read each partition."""
    return Counter(
        (topic, number)
        for partitions in assigned.values()
        for topic, numbers in partitions.items()
        for number in numbers
    )


def kept(group: Group, assigned: Assigned) -> int:
    """How many partitions members have that they had before."""
    return sum(
        len(numbers & assigned[each.member_id].get(topic, frozenset()))
        for each in group.sharers
        for topic, numbers in each.had.items()
    )
