import random

from odradek.broker.coordinator.group.consumer.targets.assignors.subscriber import (
    Subscriber,
)
from odradek.broker.coordinator.group.consumer.targets.assignors.uneven import (
    assign_uneven,
)
from tests.broker.coordinator.group.consumer.targets.assignors.oracle import (
    Assignment,
    again,
    check,
    random_subscribers,
    sizes,
    topic_id,
)

T, U = topic_id(1), topic_id(2)


def load(assignment: Assignment, member_id: str) -> int:
    return sum(map(len, assignment[member_id].values()))


def test_g004_who_reads_more_topics_leaves_the_others_theirs() -> None:
    members = [
        Subscriber("a", None, frozenset({T, U}), {}),
        Subscriber("b", None, frozenset({T}), {}),
    ]
    assert sizes(assign_uneven(members, {T: 4, U: 2})) == [3, 3]
    assert assign_uneven(members, {T: 2, U: 4}) == {
        "a": {U: {0, 1, 2, 3}},
        "b": {T: {0, 1}},
    }


def test_g004_what_one_has_too_many_of_goes_to_another() -> None:
    had = {"a": {T: frozenset(range(6))}, "b": {}}
    members = again(
        [
            Subscriber("a", None, frozenset({T, U}), {}),
            Subscriber("b", None, frozenset({T}), {}),
        ],
        had,
    )
    after = assign_uneven(members, {T: 6, U: 1})
    assert (load(after, "a"), load(after, "b")) == (4, 3)
    assert after["a"][T] < had["a"][T]


def test_what_two_had_is_kept_by_one() -> None:
    members = [
        Subscriber(name, None, frozenset({T}), {T: frozenset({0})}) for name in "ab"
    ]
    check(members, {T: 2}, assign_uneven(members, {T: 2}))


def test_g004_the_readers_of_a_topic_differ_by_one_where_they_can() -> None:
    source = random.Random(3)
    for _ in range(300):
        counts = {
            topic_id(n): source.randint(1, 9) for n in range(source.randint(1, 5))
        }
        members = random_subscribers(source, counts, source.randint(2, 8), False)
        if source.random() < 0.5:
            members = again(members, assign_uneven(sorted(members)[1:], counts))
        after = assign_uneven(sorted(members), counts)
        check(members, counts, after)
        for topic in counts:
            readers = [each for each in members if topic in each.topic_ids]
            least = min((load(after, each.member_id) for each in readers), default=0)
            for each in readers:
                if topic in after[each.member_id]:
                    assert load(after, each.member_id) - least <= 1
        assert assign_uneven(again(sorted(members), after), counts) == after
