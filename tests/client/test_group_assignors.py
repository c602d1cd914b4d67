from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.group_assignors import (
    ASSIGNORS,
    Subscriber,
    assign_cooperatively,
    assign_ranges,
    assign_round_robin,
)
from odradek.protocol.topic_partition import TopicPartition

COUNTS = {"a": 3, "b": 2}


def members(**topics: str) -> list[Subscriber]:
    """``m1="ab"``: m1 wants the topics a and b."""
    return [Subscriber(name, frozenset(wanted)) for name, wanted in topics.items()]


def shown(given: Mapping[str, Sequence[TopicPartition]]) -> dict[str, str]:
    return {
        name: " ".join(f"{each.topic}{each.partition}" for each in places)
        for name, places in given.items()
    }


def places(text: str) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(each[0], int(each[1:])) for each in text.split())


def test_ranges() -> None:
    two = members(m2="ab", m1="ab")
    assert shown(assign_ranges(two, COUNTS)) == {"m1": "a0 a1 b0", "m2": "a2 b1"}
    some = members(m1="a", m2="ab", m3="b")
    expected = {"m1": "a0 a1", "m2": "a2 b0", "m3": "b1"}
    assert shown(assign_ranges(some, COUNTS)) == expected


def test_round_robin() -> None:
    two = members(m2="ab", m1="ab")
    assert shown(assign_round_robin(two, COUNTS)) == {"m1": "a0 a2 b1", "m2": "a1 b0"}
    some = members(m1="a", m2="ab", m3="b")
    expected = {"m1": "a0 a2", "m2": "a1 b0", "m3": "b1"}
    assert shown(assign_round_robin(some, COUNTS)) == expected


def test_what_is_owned_moves_only_after_it_was_given_up() -> None:
    owner = Subscriber("m1", frozenset("ab"), places("a0 a1 a2 b0 b1"), 4)
    (newcomer,) = members(m2="ab")
    first = shown(assign_cooperatively([owner, newcomer], COUNTS))
    assert first == {"m1": "a0 a1 a2", "m2": ""}
    owner = owner._replace(owned=places(first["m1"]))
    second = shown(assign_cooperatively([owner, newcomer], COUNTS))
    assert second == {"m1": "a0 a1 a2", "m2": "b0 b1"}


def test_of_two_owners_the_later_generation_counts() -> None:
    late = Subscriber("m2", frozenset("a"), places("a0 a1"), 5)
    early = Subscriber("m1", frozenset("a"), places("a0 a2 a9"), 4)
    given = assign_cooperatively([early, late], COUNTS)
    assert shown(given) == {"m1": "a2", "m2": "a0 a1"}


@pytest.mark.parametrize("name", ASSIGNORS)
@given(
    wanted=st.lists(st.sets(st.sampled_from("abcd")), min_size=1, max_size=6),
    counts=st.dictionaries(st.sampled_from("abcd"), st.integers(0, 7)),
)
def test_each_partition_that_is_wanted_has_one_reader(
    name: str, wanted: list[set[str]], counts: dict[str, int]
) -> None:
    group = [Subscriber(f"m{rank}", frozenset(of)) for rank, of in enumerate(wanted)]
    given = ASSIGNORS[name](group, counts)
    assert given.keys() == {each.member_id for each in group}
    for member in group:
        assert {each.topic for each in given[member.member_id]} <= member.topics
    found = sorted(place for of in given.values() for place in of)
    assert found == sorted(
        TopicPartition(topic, number)
        for topic, count in counts.items()
        if topic in set().union(*wanted)
        for number in range(count)
    )


@given(
    owners=st.lists(st.integers(0, 4), min_size=1, max_size=20), count=st.integers(1, 5)
)
def test_cooperation_ends_even_and_takes_nothing_away_twice(
    owners: list[int], count: int
) -> None:
    """Rounds until nobody gives up anything: what is owned is never somebody else's."""
    counts = {"a": len(owners)}
    owned: dict[str, tuple[TopicPartition, ...]] = {
        f"m{rank}": tuple(
            TopicPartition("a", number)
            for number, owner in enumerate(owners)
            if owner == rank
        )
        for rank in range(count)
    }
    for generation in range(3):
        group = [Subscriber(m, frozenset("a"), of, 7) for m, of in owned.items()]
        given = assign_cooperatively(group, counts)
        for member, of in given.items():
            for other in owned.keys() - {member}:
                assert not set(of) & set(owned[other]), generation
        before, owned = owned, {m: tuple(of) for m, of in given.items()}
    assert before == owned
    sizes = [len(of) for of in owned.values()]
    assert sum(sizes) == len(owners)
    assert max(sizes) - min(sizes) <= 1
