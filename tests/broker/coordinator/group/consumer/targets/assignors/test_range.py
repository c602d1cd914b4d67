import random

from odradek.broker.coordinator.group.consumer.targets.assignors.range import (
    assign_range,
)
from odradek.broker.coordinator.group.consumer.targets.assignors.subscriber import (
    Subscriber,
)
from tests.broker.coordinator.group.consumer.targets.assignors.oracle import (
    check,
    random_subscribers,
    topic_id,
)

T, U = topic_id(1), topic_id(2)
BOTH = frozenset({T, U})


def test_consecutive_and_the_first_get_more() -> None:
    members = [Subscriber(name, None, frozenset({T}), {}) for name in "cab"]
    assert assign_range(members, {T: 7}) == {
        "a": {T: {0, 1, 2}},
        "b": {T: {3, 4}},
        "c": {T: {5, 6}},
    }


def test_g005_topics_with_the_same_readers_are_divided_alike() -> None:
    members = [Subscriber(name, None, BOTH, {}) for name in "abc"]
    for each in assign_range(members, {T: 5, U: 5}).values():
        assert each[T] == each[U]


def test_g005_a_static_member_that_comes_back_gets_the_same() -> None:
    members = [
        Subscriber("z", "one", BOTH, {}),
        Subscriber("y", "two", BOTH, {}),
        Subscriber("a", None, BOTH, {}),
    ]
    before = assign_range(members, {T: 6, U: 4})
    assert before["z"] == {T: {0, 1}, U: {0, 1}}, "static members come first"
    members[0] = members[0]._replace(member_id="b")
    after = assign_range(members, {T: 6, U: 4})
    assert after["b"] == before["z"]
    assert (after["y"], after["a"]) == (before["y"], before["a"])


def test_more_members_than_partitions() -> None:
    members = [Subscriber(name, None, frozenset({T}), {}) for name in "abc"]
    assert assign_range(members, {T: 2}) == {"a": {T: {0}}, "b": {T: {1}}, "c": {}}


def test_nobody_reads_a_topic_or_there_is_none() -> None:
    assert assign_range([], {T: 2}) == {}
    member = Subscriber("a", None, frozenset({U}), {})
    assert assign_range([member], {T: 2}) == {"a": {}}


def test_whoever_reads_what() -> None:
    source = random.Random(1)
    for _ in range(200):
        counts = {
            topic_id(n): source.randint(0, 9) for n in range(source.randint(1, 5))
        }
        members = random_subscribers(source, counts, source.randint(1, 8), False)
        check(members, counts, assign_range(members, counts))
