from typing import Any

import pytest

from odradek.broker.coordinator.group.streams.check import (
    check_request,
    check_topics,
    topics_named,
)
from odradek.protocol.errors import InvalidRequest, StreamsInvalidTopology
from odradek.protocol.messages.streams_groups import (
    StreamsCopartitionGroup,
    StreamsGroupHeartbeatRequest,
    StreamsHeartbeatSubtopology,
    StreamsHeartbeatTopology,
    StreamsTaskIds,
    StreamsTaskOffset,
    StreamsTopicInfo,
)
from tests.broker.coordinator.group.streams.rig import counting, mapping

TASK = StreamsTaskIds(subtopology_id="0", partitions=[0])
OFFSET = StreamsTaskOffset(subtopology_id="0", partition=0, offset=1)


def request(epoch: int, **fields: Any) -> StreamsGroupHeartbeatRequest:
    fields = {"group_id": "g", "member_id": "m", **fields}
    return StreamsGroupHeartbeatRequest(member_epoch=epoch, **fields)


def joining(**fields: Any) -> StreamsGroupHeartbeatRequest:
    usual: dict[str, Any] = {
        "rebalance_timeout_ms": 5,
        "topology": mapping("t"),
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
    }
    return request(0, **{**usual, **fields})


def one(**fields: Any) -> StreamsHeartbeatTopology:
    return StreamsHeartbeatTopology(
        subtopologies=[StreamsHeartbeatSubtopology(subtopology_id="0", **fields)]
    )


@pytest.mark.parametrize(
    "said",
    [
        joining(),
        joining(topology=counting()),
        request(5),
        request(-1, shutdown_application=True),
        request(5, active_tasks=[TASK], standby_tasks=[], warmup_tasks=[]),
    ],
)
def test_what_can_be_said(said: StreamsGroupHeartbeatRequest) -> None:
    check_request(said)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (joining(member_id=" "), "MemberId can't be empty."),
        (joining(group_id=""), "GroupId can't be empty."),
        (joining(rack_id=""), "RackId can't be empty."),
        (joining(instance_id="i"), "Static membership is not yet supported."),
        (request(-2, instance_id="i"), "Static membership is not yet supported."),
        (request(-2), "InstanceId can't be null."),
        (request(-3), "MemberEpoch is -3, but must be greater than or equal to -2."),
        (
            joining(rebalance_timeout_ms=-1),
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (
            request(5, rebalance_timeout_ms=-5),
            "RebalanceTimeoutMs must not be negative.",
        ),
        (joining(topology=None), "Topology must be non-null when (re-)joining."),
        (joining(active_tasks=[TASK]), "ActiveTasks must be empty when (re-)joining."),
        (joining(standby_tasks=None), "StandbyTasks must be empty when (re-)joining."),
        (
            request(5, topology=mapping("t")),
            "Topology can only be provided when (re-)joining.",
        ),
        (
            request(5, active_tasks=[]),
            "If one task-type is non-null, all must be non-null.",
        ),
        (request(5, warmup_tasks=[TASK]), "WarmupTasks are not supported yet."),
        (request(5, task_offsets=[OFFSET]), "TaskOffsets are not supported yet."),
        (request(5, task_end_offsets=[]), "TaskEndOffsets are not supported yet."),
        (
            joining(topology=one(source_topic_regex=["t.*"])),
            "Regular expressions for source topics are not supported yet.",
        ),
    ],
)
def test_what_cannot_be_said(said: StreamsGroupHeartbeatRequest, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_request(said)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        (
            one(state_changelog_topics=[StreamsTopicInfo(name="s", partitions=3)]),
            "Changelog topic s must have an undefined partition count, but it is set "
            "to 3.",
        ),
        (
            one(repartition_source_topics=[StreamsTopicInfo(name="r", partitions=-1)]),
            "Repartition topic r has -1 partitions.",
        ),
        (StreamsHeartbeatTopology(epoch=-1), "Topology epoch must be non-negative."),
        (
            StreamsHeartbeatTopology(
                subtopologies=[
                    StreamsHeartbeatSubtopology(subtopology_id="0"),
                    StreamsHeartbeatSubtopology(subtopology_id="0"),
                ]
            ),
            "Subtopology 0 is described more than once.",
        ),
        *(
            (
                one(source_topics=["t"], copartition_groups=[group]),
                "A copartition group of subtopology 0 names topics that the "
                "subtopology does not have.",
            )
            for group in (
                StreamsCopartitionGroup(source_topics=[1]),
                StreamsCopartitionGroup(source_topics=[-1]),
                StreamsCopartitionGroup(repartition_source_topics=[0]),
                StreamsCopartitionGroup(source_topic_regex=[0]),
            )
        ),
    ],
)
def test_topologies_that_cannot_be(
    topology: StreamsHeartbeatTopology, message: str
) -> None:
    with pytest.raises(StreamsInvalidTopology) as refused:
        check_request(joining(topology=topology))
    assert str(refused.value) == message


def test_topics_have_names_that_topics_can_have() -> None:
    assert topics_named(counting()) == ["t", "again", "store"]
    check_topics(["t", "again"])
    with pytest.raises(StreamsInvalidTopology, match="Topic names a/b, are not valid"):
        check_topics(["t", "a/b", ""])
    with pytest.raises(StreamsInvalidTopology, match="topics __consumer_offsets in a"):
        check_topics(["t", "__consumer_offsets", "a/b"])
