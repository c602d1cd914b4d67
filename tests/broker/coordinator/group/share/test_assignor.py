"""How members share partitions: even, calm, and nobody without anything."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.coordinator.group.share.assignor import Sharer, assign_simple

T, U = b"t".ljust(16), b"u".ljust(16)
Target = Mapping[str, Mapping[bytes, frozenset[int]]]


def sharers(count: int, before: Target | None = None) -> list[Sharer]:
    had = before or {}
    names = [f"m{number:03}" for number in range(count)]
    return [Sharer(name, frozenset({T}), had.get(name, {})) for name in names]


def numbers(target: Target, member_id: str) -> list[int]:
    return sorted(target[member_id].get(T, ()))


def test_all_members_share_one_partition() -> None:
    target = assign_simple(sharers(3), {T: frozenset({0})})
    assert [numbers(target, each) for each in target] == [[0], [0], [0]]


def test_one_member_has_all() -> None:
    target = assign_simple(sharers(1), {T: frozenset(range(5))})
    assert numbers(target, "m000") == [0, 1, 2, 3, 4]


def test_more_partitions_than_members_are_not_shared() -> None:
    target = assign_simple(sharers(3), {T: frozenset(range(7))})
    assert [numbers(target, each) for each in target] == [[0, 1, 2], [3, 4], [5, 6]]


def test_who_joins_takes_no_more_than_its_part() -> None:
    before = assign_simple(sharers(2), {T: frozenset(range(6))})
    after = assign_simple(sharers(3, before), {T: frozenset(range(6))})
    assert numbers(after, "m000") == [0, 1]
    assert numbers(after, "m001") == [3, 4]
    assert numbers(after, "m002") == [2, 5]


def test_what_has_no_state_is_not_assigned() -> None:
    target = assign_simple(sharers(2), {T: frozenset({1})})
    assert [numbers(target, each) for each in target] == [[1], [1]]
    assert assign_simple(sharers(1), {}) == {"m000": {}}
    assert assign_simple([], {T: frozenset({1})}) == {}


def test_other_subscriptions_are_kept_apart() -> None:
    one = Sharer("one", frozenset({T}), {})
    other = Sharer("other", frozenset({T, U}), {U: frozenset({9})})
    target = assign_simple(
        [one, other], {T: frozenset(range(2)), U: frozenset(range(3))}
    )
    assert target["one"] == {T: frozenset({0})}
    assert target["other"] == {T: frozenset({1}), U: frozenset({0, 1, 2})}


@given(
    counts=st.lists(st.integers(1, 30), min_size=2, max_size=6),
    partitions=st.integers(1, 12),
)
def test_it_is_even_however_members_come_and_go(
    counts: list[int], partitions: int
) -> None:
    places = frozenset(range(partitions))
    target: Target = {}
    for count in counts:
        target = assign_simple(sharers(count, target), {T: places})
        readers = Counter(n for each in target for n in numbers(target, each))
        sizes = sorted(len(numbers(target, each)) for each in target)
        assert set(readers) == places
        assert max(readers.values()) <= -(-count // partitions)
        assert sizes[0] >= 1
        assert sizes[-1] - sizes[0] <= 1


@given(counts=st.lists(st.integers(1, 12), min_size=2, max_size=5))
def test_what_is_even_stays(counts: list[int]) -> None:
    target: Target = {}
    for before, after in pairwise(counts):
        target = assign_simple(sharers(before, target), {T: frozenset(range(12))})
        again = assign_simple(sharers(before, target), {T: frozenset(range(12))})
        assert again == target
        target = assign_simple(sharers(after, target), {T: frozenset(range(12))})


topic_ids = st.frozensets(st.sampled_from([T, U]), min_size=1)


@given(
    members=st.dictionaries(st.sampled_from("abcdefgh"), topic_ids, min_size=1),
    t=st.integers(0, 5),
    u=st.integers(0, 5),
)
def test_whoever_subscribes_reads_only_that(
    members: dict[str, frozenset[bytes]], t: int, u: int
) -> None:
    places = {T: frozenset(range(t)), U: frozenset(range(u))}
    target = assign_simple(
        [Sharer(name, topics, {}) for name, topics in members.items()], places
    )
    assert target.keys() == members.keys()
    for topic_id, there in places.items():
        read: set[int] = set()
        for name, topics in members.items():
            part = target[name].get(topic_id, frozenset())
            assert topic_id in topics or not part
            read |= part
        wanted = any(topic_id in topics for topics in members.values())
        assert read == (there if wanted else set())
