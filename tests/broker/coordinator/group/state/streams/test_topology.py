from odradek.broker.coordinator.group.state.streams.topology import (
    InternalTopic,
    Subtopology,
    Topology,
)

TOPOLOGY = Topology(
    0,
    (
        Subtopology("0", ("t", "u"), repartition_sinks=("again",)),
        Subtopology(
            "1",
            repartition_sources=(InternalTopic("again"),),
            changelogs=(InternalTopic("store"),),
        ),
    ),
)


def test_each_input_is_read_by_one_part() -> None:
    assert TOPOLOGY.subtopology_of == {"t": "0", "u": "0", "again": "1"}


def test_what_has_to_be_there() -> None:
    assert TOPOLOGY.required_topics == {"t", "u", "again", "store"}


def test_the_same_is_equal_whatever_was_asked_of_it() -> None:
    assert Topology(0, TOPOLOGY.subtopologies) == TOPOLOGY
    assert Topology(1, TOPOLOGY.subtopologies) != TOPOLOGY
