from collections.abc import Callable

import pytest

from odradek.broker.coordinator.group.state.streams.configured import (
    ConfiguredTopology,
    Problem,
    Status,
)
from odradek.broker.coordinator.group.state.streams.topology import (
    CopartitionGroup,
    InternalTopic,
    Subtopology,
    Topology,
)
from odradek.broker.coordinator.group.streams.topology.configure import configure
from odradek.protocol.coordinator_errors import StreamsInvalidTopology

COUNTS = InternalTopic("counts", configs=(("cleanup.policy", "compact"),))
WORD_COUNT = Topology(
    3,
    (
        Subtopology("0", ("lines",), repartition_sinks=("words",)),
        Subtopology(
            "1", repartition_sources=(InternalTopic("words"),), changelogs=(COUNTS,)
        ),
    ),
)


def found(topology: Topology, **topics: int) -> ConfiguredTopology:
    return configure(topology, topics.get)


def test_without_its_sources_it_is_nothing() -> None:
    configured = found(WORD_COUNT)
    assert configured.subtopologies is None
    assert configured.problem == Problem(
        Status.MISSING_SOURCE_TOPICS, "Source topics lines are missing."
    )


def test_three_names_are_shown_and_the_others_counted() -> None:
    topology = Topology(1, (Subtopology("0", ("e", "b", "d", "a", "c")),))
    problem = found(topology, e=1).problem
    assert problem is not None
    assert problem.detail == (
        "Source topics a, b, c and 1 additional topics are missing."
    )


def test_internal_topics_are_to_be_made_with_what_the_application_says() -> None:
    configured = found(WORD_COUNT, lines=4)
    assert configured.missing == (
        COUNTS._replace(partitions=4),
        InternalTopic("words", 4),
    )
    assert configured.problem == Problem(
        Status.MISSING_INTERNAL_TOPICS, "Internal topics are missing: counts, words"
    )


def test_with_all_of_its_topics_it_has_tasks_and_no_problem() -> None:
    configured = found(WORD_COUNT, lines=4, words=4, counts=4)
    assert (configured.epoch, configured.missing, configured.problem) == (3, (), None)
    assert configured.subtopologies is not None
    first, second = configured.subtopologies.values()
    assert (first.task_count, first.is_stateful) == (4, False)
    assert (second.task_count, second.is_stateful) == (4, True)
    assert second.repartition_sources == (InternalTopic("words", 4),)


def test_an_internal_topic_of_another_size_is_told() -> None:
    configured = found(WORD_COUNT, lines=4, words=4, counts=5)
    assert configured.subtopologies is None
    assert configured.problem == Problem(
        Status.INCORRECTLY_PARTITIONED_TOPICS,
        "Existing topic counts has different number of partitions: expected 4, found 5",
    )


def test_inputs_that_cannot_be_joined_are_told() -> None:
    group = CopartitionGroup((0, 1))
    part = Subtopology("0", ("a", "b"), copartition_groups=(group,))
    problem = found(Topology(1, (part,)), a=1, b=2).problem
    assert problem is not None
    assert problem.status is Status.INCORRECTLY_PARTITIONED_TOPICS


def loop() -> Topology:
    topic = (InternalTopic("re"),)
    part = Subtopology("0", repartition_sources=topic, repartition_sinks=("re",))
    return Topology(1, (part,))


def without_input() -> Topology:
    return Topology(1, (Subtopology("0", changelogs=(COUNTS,)),))


def twice() -> Topology:
    return Topology(1, (Subtopology("0", ("a",), changelogs=(COUNTS, COUNTS)),))


@pytest.mark.parametrize("make", [loop, without_input, twice])
def test_what_no_topics_can_help_is_refused(make: Callable[[], Topology]) -> None:
    with pytest.raises(StreamsInvalidTopology):
        found(make(), a=1)
