from odradek.broker.coordinator.group.state.streams.member import (
    Endpoint,
    StreamsMemberInfo,
)
from odradek.broker.coordinator.group.state.streams.tasks import Tasks
from odradek.broker.coordinator.group.state.streams.topology import (
    CopartitionGroup,
    InternalTopic,
    Subtopology,
    Topology,
)
from odradek.broker.coordinator.group.streams.asked import (
    StreamsBeat,
    described,
    owned_tasks,
    topology_said,
)
from odradek.protocol.messages.streams_groups import (
    StreamsCopartitionGroup,
    StreamsEndpoint,
    StreamsGroupHeartbeatRequest,
    StreamsHeartbeatSubtopology,
    StreamsHeartbeatTopology,
    StreamsKeyValue,
    StreamsTaskIds,
    StreamsTopicInfo,
)


def request(**fields: object) -> StreamsGroupHeartbeatRequest:
    return StreamsGroupHeartbeatRequest(group_id="g", member_id="a", **fields)


def test_what_a_member_does_not_say_is_as_before() -> None:
    known = StreamsMemberInfo(
        None, "r", "c", "/h", 5, 1, "p", Endpoint("host", 9), (("k", "v"),)
    )
    assert described(known, StreamsBeat(request(), "c", "/h")) is known
    other = described(known, StreamsBeat(request(), "d", "/h"))
    assert other == known._replace(client_id="d")


def test_what_a_member_says() -> None:
    said = request(
        rack_id="r",
        rebalance_timeout_ms=7,
        topology=StreamsHeartbeatTopology(epoch=3),
        process_id="p",
        user_endpoint=StreamsEndpoint(host="host", port=9),
        client_tags=[
            StreamsKeyValue(key="z", value="1"),
            StreamsKeyValue(key="a", value="2"),
        ],
    )
    assert described(StreamsMemberInfo(), StreamsBeat(said, "c", "/h")) == (
        None,
        "r",
        "c",
        "/h",
        7,
        3,
        "p",
        Endpoint("host", 9),
        (("a", "2"), ("z", "1")),
    )


def test_tasks_that_are_told_twice_are_had_once() -> None:
    assert owned_tasks(request()) is None
    ids = [
        StreamsTaskIds(subtopology_id="0", partitions=[0, 1]),
        StreamsTaskIds(subtopology_id="0", partitions=[1, 2]),
    ]
    said = request(active_tasks=ids, standby_tasks=[], warmup_tasks=[])
    assert owned_tasks(said) == Tasks({"0": frozenset({0, 1, 2})}, {}, {})


def test_a_topology_is_kept_by_its_parts_in_order() -> None:
    topic = StreamsTopicInfo(
        name="again",
        partitions=3,
        replication_factor=1,
        topic_configs=[
            StreamsKeyValue(key="b", value="2"),
            StreamsKeyValue(key="a", value="1"),
        ],
    )
    group = StreamsCopartitionGroup(source_topics=[0], repartition_source_topics=[0])
    said = StreamsHeartbeatTopology(
        epoch=4,
        subtopologies=[
            StreamsHeartbeatSubtopology(
                subtopology_id="1",
                source_topics=["u", "t"],
                repartition_source_topics=[topic],
                copartition_groups=[group],
            ),
            StreamsHeartbeatSubtopology(
                subtopology_id="0", source_topics=["s"], repartition_sink_topics=["x"]
            ),
        ],
    )
    kept = InternalTopic("again", 3, 1, (("a", "1"), ("b", "2")))
    assert topology_said(said) == Topology(
        4,
        (
            Subtopology("0", ("s",), repartition_sinks=("x",)),
            Subtopology(
                "1",
                ("u", "t"),
                repartition_sources=(kept,),
                copartition_groups=(CopartitionGroup((0,), (), (0,)),),
            ),
        ),
    )
