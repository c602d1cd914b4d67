"""What must hold of every assignment, whoever made it."""

import random
from collections.abc import Mapping, Sequence

from odradek.broker.coordinator.group.consumer.targets.assignors.subscriber import (
    Subscriber,
)
from odradek.broker.coordinator.group.state.consumer.member import Partitions

Assignment = Mapping[str, Partitions]


def topic_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def check(
    subscribers: Sequence[Subscriber],
    counts: Mapping[bytes, int],
    assignment: Assignment,
) -> None:
    """Everything that somebody reads has one owner, who reads it; nothing else is."""
    assert assignment.keys() == {each.member_id for each in subscribers}
    owners: dict[tuple[bytes, int], str] = {}
    for each in subscribers:
        for topic, partitions in assignment[each.member_id].items():
            assert topic in each.topic_ids
            for partition in partitions:
                assert owners.setdefault((topic, partition), each.member_id) == (
                    each.member_id
                )
    read = frozenset().union(*(each.topic_ids for each in subscribers))
    assert owners.keys() == {
        (topic, partition)
        for topic in read & counts.keys()
        for partition in range(counts[topic])
    }


def sizes(assignment: Assignment) -> list[int]:
    """How many partitions the members have, sorted."""
    return sorted(sum(map(len, each.values())) for each in assignment.values())


def moves(subscribers: Sequence[Subscriber], assignment: Assignment) -> int:
    """How many partitions were taken away from a member that reads them still."""
    return sum(
        len(partitions - assignment[each.member_id].get(topic, frozenset()))
        for each in subscribers
        for topic, partitions in each.had.items()
    )


def again(
    subscribers: Sequence[Subscriber], assignment: Assignment
) -> list[Subscriber]:
    """The same members, with what they were assigned."""
    return [
        each._replace(had=assignment.get(each.member_id, {})) for each in subscribers
    ]


def random_subscribers(
    source: random.Random, counts: Mapping[bytes, int], member_count: int, is_even: bool
) -> list[Subscriber]:
    """Members with random topics, or all with the same."""
    topics = sorted(counts)

    def some() -> frozenset[bytes]:
        return frozenset(source.sample(topics, source.randint(1, len(topics))))

    same = some()
    return [
        Subscriber(
            f"m{number}",
            source.choice((None, f"i{number}")),
            same if is_even else some(),
            {},
        )
        for number in range(member_count)
    ]
