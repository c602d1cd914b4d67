from odradek.broker.coordinator.group.consumer.targets.assignors.subscriber import (
    Subscriber,
    by_topic,
    places_kept,
)

T, U, V = (letter * 16 for letter in (b"t", b"u", b"v"))


def test_what_is_kept_is_there_and_subscribed_to() -> None:
    had = {U: frozenset({0}), T: frozenset({2, 0, 9}), V: frozenset({1})}
    member = Subscriber("m", None, frozenset({T, V}), had)
    assert places_kept(member, {T: 3, U: 1}) == [(T, 0), (T, 2)]


def test_places_by_their_topics() -> None:
    assert by_topic([(T, 0), (U, 1), (T, 2)]) == {
        T: frozenset({0, 2}),
        U: frozenset({1}),
    }
    assert by_topic([]) == {}
