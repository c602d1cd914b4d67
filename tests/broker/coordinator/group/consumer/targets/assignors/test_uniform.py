import random

from odradek.broker.coordinator.group.consumer.targets.assignors.subscriber import (
    Subscriber,
)
from odradek.broker.coordinator.group.consumer.targets.assignors.uniform import (
    assign_uniform,
)
from tests.broker.coordinator.group.consumer.targets.assignors.oracle import (
    again,
    check,
    moves,
    random_subscribers,
    sizes,
    topic_id,
)

T = topic_id(1)


def members(names: str) -> list[Subscriber]:
    return [Subscriber(name, None, frozenset({T}), {}) for name in names]


def test_g003_seven_over_three_four_and_two() -> None:
    counts = {T: 7}
    three = members("abc")
    first = assign_uniform(three, counts)
    check(three, counts, first)
    assert sizes(first) == [2, 2, 3]
    four = [*again(three, first), *members("d")]
    second = assign_uniform(four, counts)
    check(four, counts, second)
    assert sizes(second) == [1, 2, 2, 2]
    assert moves(four, second) == 1, "as few as can be"
    two = again(four[1:3], second)
    third = assign_uniform(two, counts)
    check(two, counts, third)
    assert sizes(third) == [3, 4]
    assert moves(two, third) == 0


def test_who_has_one_more_keeps_it() -> None:
    had = {"b": {T: frozenset({0, 1, 2})}, "a": {T: frozenset({3, 4})}}
    two = again(members("ab"), had)
    assert assign_uniform(two, {T: 5}) == had


def test_nobody_or_nothing() -> None:
    assert assign_uniform([], {T: 7}) == {}
    assert assign_uniform(members("a"), {}) == {"a": {}}
    assert assign_uniform(members("ab"), {T: 1}) == {"a": {}, "b": {T: {0}}}


def test_even_and_with_the_fewest_moves_whatever_happens() -> None:
    source = random.Random(2)
    for _ in range(300):
        counts = {
            topic_id(n): source.randint(1, 9) for n in range(source.randint(1, 4))
        }
        crowd = random_subscribers(source, counts, source.randint(1, 9), True)
        last = assign_uniform(crowd, counts)
        check(crowd, counts, last)
        left = again(source.sample(crowd, source.randint(1, len(crowd))), last)
        after = assign_uniform(left, counts)
        check(left, counts, after)
        found = sizes(after)
        assert found[-1] - found[0] <= 1
        assert moves(left, after) == 0, "all that they had they may keep"
        more = [*again(left, after), crowd[0]._replace(member_id="new", had={})]
        final = assign_uniform(more, counts)
        check(more, counts, final)
        least = sum(max(0, size - sizes(final)[-1]) for size in found)
        assert moves(more, final) >= least
        new = sum(map(len, final["new"].values()))
        assert moves(more, final) == new, "what moves goes to who has come"
        assert assign_uniform(again(more, final), counts) == final
