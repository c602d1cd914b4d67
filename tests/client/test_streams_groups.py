import pytest

from odradek.client.groups import describe_group
from odradek.client.streams_groups import MemberTasks
from odradek.protocol.errors import ErrorCode, GroupIdNotFound
from odradek.protocol.messages.share_groups import (
    DescribedShareGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from odradek.protocol.messages.streams_groups import (
    DescribedStreamsGroup,
    StreamsGroupAssignment,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupMember,
    StreamsGroupSubtopology,
    StreamsGroupTopology,
    StreamsTaskIds,
    StreamsTopicInfo,
)
from tests.client.test_share_groups import no_classic_group
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

WORDS = StreamsGroupTopology(
    epoch=1,
    subtopologies=[
        StreamsGroupSubtopology(
            subtopology_id="0",
            source_topics=["lines", "few"],
            repartition_sink_topics=[],
        ),
        StreamsGroupSubtopology(
            subtopology_id="1",
            repartition_source_topics=[StreamsTopicInfo(name="words")],
            state_changelog_topics=[StreamsTopicInfo(name="counts")],
        ),
    ],
)


def tasks(**partitions: list[int]) -> list[StreamsTaskIds]:
    return [
        StreamsTaskIds(subtopology_id=key.strip("_"), partitions=of)
        for key, of in partitions.items()
    ]


def describe(script: ScriptedCluster, described: DescribedStreamsGroup) -> None:
    no_classic_group(script)
    unknown = DescribedShareGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
    script.script(
        ShareGroupDescribeRequest,
        lambda *_: ShareGroupDescribeResponse(groups=[unknown]),
    )
    script.script(
        StreamsGroupDescribeRequest,
        lambda *_: StreamsGroupDescribeResponse(groups=[described]),
    )


def test_members_read_what_their_active_tasks_do() -> None:
    member = StreamsGroupMember(
        member_id="m",
        process_id="p",
        client_id="c",
        client_host="/h",
        member_epoch=3,
        assignment=StreamsGroupAssignment(
            active_tasks=tasks(_0=[1, 0]), standby_tasks=tasks(_1=[1])
        ),
        target_assignment=StreamsGroupAssignment(active_tasks=tasks(_0=[0, 1], _1=[0])),
    )
    described = DescribedStreamsGroup(
        group_id="g",
        group_state="Reconciling",
        group_epoch=4,
        topology=WORDS,
        members=[member],
    )
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"lines": [1, 1], "few": [1], "words": [1, 1]}
        describe(script, described)
        group = describe_group(cluster, "g")
    assert group[:5] == ("g", "Reconciling", "streams", "streams", "")
    assert (group.epoch, group.missing_topics) == (4, ["counts"])
    (found,) = group.members
    assert (found.member_id, found.client_id, found.host) == ("m", "c", "/h")
    assert found.assignment == [("few", 0), ("lines", 0), ("lines", 1)]
    assert found.target == [("few", 0), ("lines", 0), ("lines", 1), ("words", 0)]
    assert found.tasks == MemberTasks("p", {"0": (0, 1)}, {"1": (1,)}, {})


def test_a_group_without_a_topology() -> None:
    described = DescribedStreamsGroup(group_id="g", group_state="Empty")
    with scripted_cluster() as script, script.client() as cluster:
        describe(script, described)
        group = describe_group(cluster, "g")
    assert (group.state, group.missing_topics, group.members) == ("Empty", [], [])


def test_a_group_that_is_of_no_type() -> None:
    unknown = DescribedStreamsGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
    with scripted_cluster() as script, script.client() as cluster:
        describe(script, unknown)
        with pytest.raises(GroupIdNotFound):
            describe_group(cluster, "g")
