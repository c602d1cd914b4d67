import pytest

from odradek.broker.coordinator.group.state.streams.topology import (
    CopartitionGroup,
    InternalTopic,
    Subtopology,
    Topology,
)
from odradek.broker.coordinator.group.streams.topology.copartition import (
    IncorrectlyPartitioned,
    copartition,
)
from odradek.protocol.coordinator_errors import StreamsInvalidTopology


def topology(
    sources: str, repartitions: dict[str, int], *groups: CopartitionGroup
) -> Topology:
    internal = tuple(InternalTopic(name, of) for name, of in repartitions.items())
    part = Subtopology(
        "0",
        tuple(sources.split()),
        repartition_sources=internal,
        copartition_groups=groups,
    )
    return Topology(1, (part,))


def decided(what: Topology, counts: dict[str, int], **there: int) -> dict[str, int]:
    copartition(what, counts, lambda name: there.get(name) or counts[name])
    return counts


BOTH = CopartitionGroup((0,), repartition_sources=(0,))
INTERNAL = CopartitionGroup(repartition_sources=(0, 1))


def test_a_repartition_topic_follows_the_source() -> None:
    assert decided(topology("a", {"re": 0}, BOTH), {"re": 2}, a=5) == {"re": 5}


def test_repartition_topics_alone_follow_the_largest() -> None:
    found = decided(topology("", {"r": 0, "s": 0}, INTERNAL), {"r": 2, "s": 4})
    assert found == {"r": 4, "s": 4}


def test_repartition_topics_alone_follow_the_one_that_is_fixed() -> None:
    found = decided(topology("", {"r": 0, "s": 3}, INTERNAL), {"r": 8, "s": 3})
    assert found == {"r": 3, "s": 3}


def test_a_fixed_one_that_is_not_in_the_group_is_followed_too() -> None:
    """As in Apache Kafka."""
    group = CopartitionGroup(repartition_sources=(0,))
    found = decided(topology("", {"r": 0, "s": 3}, group), {"r": 8, "s": 3})
    assert found == {"r": 3, "s": 3}


def test_sources_that_differ_are_refused() -> None:
    group = CopartitionGroup((1, 0))
    with pytest.raises(IncorrectlyPartitioned) as refused:
        decided(topology("b a", {}, group), {}, a=1, b=2)
    assert str(refused.value) == (
        "Following topics do not have the same number of partitions: [{a=1, b=2}]"
    )


def test_fixed_ones_that_differ_are_refused() -> None:
    with pytest.raises(IncorrectlyPartitioned, match=r"\[\{r=2, s=3\}\]"):
        decided(topology("", {"r": 2, "s": 3}, INTERNAL), {"r": 2, "s": 3})


def test_a_fixed_one_beside_a_source_that_has_more_is_refused() -> None:
    with pytest.raises(IncorrectlyPartitioned) as refused:
        decided(topology("a", {"re": 2}, BOTH), {"re": 2}, a=5)
    assert str(refused.value) == (
        "Number of partitions [2] of repartition topic [re] "
        "doesn't match number of partitions [5] of the source topic."
    )


@pytest.mark.parametrize("place", [-1, 1])
def test_places_outside_of_the_subtopology_are_refused(place: int) -> None:
    group = CopartitionGroup((place,))
    with pytest.raises(StreamsInvalidTopology, match="subtopology 0 names inputs"):
        decided(topology("a", {}, group), {}, a=1)


def test_an_empty_group_says_nothing() -> None:
    assert decided(topology("a", {}, CopartitionGroup()), {}, a=1) == {}
