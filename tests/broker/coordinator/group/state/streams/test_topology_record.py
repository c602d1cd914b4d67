from odradek.broker.coordinator.group.state.streams.topology import (
    CopartitionGroup,
    InternalTopic,
    Subtopology,
    Topology,
)
from odradek.broker.coordinator.group.state.streams.topology_record import (
    read_topology,
    write_topology,
)

TOPIC = InternalTopic("again", 3, 1, (("a", "1"), ("b", "2")))
TOPOLOGY = Topology(
    7,
    (
        Subtopology("0", ("t",), ("u.*",), (), ("again",)),
        Subtopology(
            "1",
            ("u", "s"),
            (),
            (TOPIC,),
            (),
            (InternalTopic("store"),),
            (CopartitionGroup((0, 1), (), (0,)),),
        ),
    ),
)


def test_there_and_back() -> None:
    assert read_topology(write_topology(TOPOLOGY)) == TOPOLOGY


def test_parts_are_in_the_order_of_their_ids() -> None:
    value = write_topology(TOPOLOGY)
    value.subtopologies.reverse()
    assert read_topology(value) == TOPOLOGY
