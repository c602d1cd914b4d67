from typing import Any

import pytest

from odradek.client.groups import describe_group
from odradek.client.share_groups import (
    forget_share_topics,
    move_share_group,
    share_places,
)
from odradek.protocol.errors import (
    ErrorCode,
    GroupAuthorizationFailed,
    GroupIdNotFound,
    KafkaStorageError,
    NonEmptyGroup,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.group_admin import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from odradek.protocol.messages.share_groups import (
    DescribedShareGroup,
    ShareGroupAssignment,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupMember,
    ShareGroupTopicPartitions,
)
from odradek.protocol.messages.share_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from odradek.protocol.schema import Response
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def no_classic_group(script: ScriptedCluster) -> None:
    unknown = DescribedGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND, members=[])
    script.script(
        DescribeGroupsRequest, lambda *_: DescribeGroupsResponse(groups=[unknown])
    )


def test_a_share_group_is_described_by_its_own_api() -> None:
    topic = ShareGroupTopicPartitions(topic_name="t", partitions=[1, 0])
    member = ShareGroupMember(
        member_id="m",
        client_id="c",
        client_host="/h",
        member_epoch=3,
        assignment=ShareGroupAssignment(topic_partitions=[topic]),
    )
    described = DescribedShareGroup(
        group_id="g",
        group_state="Stable",
        group_epoch=4,
        assignor_name="simple",
        members=[member],
    )
    with scripted_cluster() as script, script.client() as cluster:
        no_classic_group(script)
        script.script(
            ShareGroupDescribeRequest,
            lambda *_: ShareGroupDescribeResponse(groups=[described]),
        )
        group = describe_group(cluster, "g")
    assert group[:5] == ("g", "Stable", "share", "share", "simple")
    assert group.epoch == 4
    (found,) = group.members
    assert (found.member_id, found.instance_id, found.epoch) == ("m", None, 3)
    assert (found.client_id, found.host) == ("c", "/h")
    assert found.assignment == [T0, T1]
    assert found.target is None


@pytest.mark.parametrize("knows_them", [True, False])
def test_a_group_that_is_of_no_type(knows_them: bool) -> None:
    unknown = DescribedShareGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
    with scripted_cluster() as script, script.client() as cluster:
        no_classic_group(script)
        if knows_them:
            script.script(
                ShareGroupDescribeRequest,
                lambda *_: ShareGroupDescribeResponse(groups=[unknown]),
            )
        with pytest.raises(GroupIdNotFound):
            describe_group(cluster, "g")


def places_answer(code: int = 0, group_code: int = 0) -> Any:
    partitions = [
        DescribeShareGroupOffsetsResponsePartition(
            partition_index=1, start_offset=-1, lag=-1, error_code=code
        ),
        DescribeShareGroupOffsetsResponsePartition(
            partition_index=0, start_offset=5, lag=2
        ),
    ]
    topic = DescribeShareGroupOffsetsResponseTopic(
        topic_name="t", partitions=partitions
    )
    group = DescribeShareGroupOffsetsResponseGroup(
        group_id="g", topics=[topic], error_code=group_code
    )

    def answer(request: DescribeShareGroupOffsetsRequest, version: int) -> Response:
        (asked,) = request.groups
        assert (asked.group_id, asked.topics) == ("g", None)
        return DescribeShareGroupOffsetsResponse(groups=[group])

    return answer


def test_places_that_are_known_and_not() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.script(DescribeShareGroupOffsetsRequest, places_answer())
        found = share_places(cluster, "g")
    assert list(found.items()) == [(T0, (5, 2)), (T1, (None, None))]


def test_an_old_broker_tells_no_lag() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.script(DescribeShareGroupOffsetsRequest, places_answer())
        script.limit(DescribeShareGroupOffsetsRequest, 0)
        assert share_places(cluster, "g")[T0] == (5, None)


def test_what_cannot_be_told_is_an_error() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        refused = places_answer(group_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        script.script(DescribeShareGroupOffsetsRequest, refused)
        with pytest.raises(GroupAuthorizationFailed):
            share_places(cluster, "g")
        broken = places_answer(code=ErrorCode.KAFKA_STORAGE_ERROR)
        script.script(DescribeShareGroupOffsetsRequest, broken)
        with pytest.raises(KafkaStorageError):
            share_places(cluster, "g")


def test_a_group_is_moved() -> None:
    def answer(request: AlterShareGroupOffsetsRequest, version: int) -> Response:
        (topic,) = request.topics
        asked = [(each.partition_index, each.start_offset) for each in topic.partitions]
        assert (request.group_id, topic.topic_name, asked) == (
            "g",
            "t",
            [(0, 4), (1, 7)],
        )
        partitions = [
            AlterShareGroupOffsetsResponsePartition(partition_index=0),
            AlterShareGroupOffsetsResponsePartition(
                partition_index=1, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            ),
        ]
        told = AlterShareGroupOffsetsResponseTopic(
            topic_name="t", partitions=partitions
        )
        return AlterShareGroupOffsetsResponse(responses=[told])

    with scripted_cluster() as script, script.client() as cluster:
        script.script(AlterShareGroupOffsetsRequest, answer)
        refused = move_share_group(cluster, "g", {T0: 4, T1: 7})
        assert list(refused) == [T1]
        assert isinstance(refused[T1], UnknownTopicOrPartition)
        whole = AlterShareGroupOffsetsResponse(error_code=ErrorCode.NON_EMPTY_GROUP)
        script.script(AlterShareGroupOffsetsRequest, lambda *_: whole)
        with pytest.raises(NonEmptyGroup):
            move_share_group(cluster, "g", {T0: 4})


def test_topics_are_forgotten() -> None:
    def answer(request: DeleteShareGroupOffsetsRequest, version: int) -> Response:
        names = [each.topic_name for each in request.topics]
        assert (request.group_id, names) == ("g", ["t", "u"])
        told = [
            DeleteShareGroupOffsetsResponseTopic(topic_name="t"),
            DeleteShareGroupOffsetsResponseTopic(
                topic_name="u",
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                error_message="nothing there",
            ),
        ]
        return DeleteShareGroupOffsetsResponse(responses=told)

    with scripted_cluster() as script, script.client() as cluster:
        script.script(DeleteShareGroupOffsetsRequest, answer)
        refused = forget_share_topics(cluster, "g", ["t", "u"])
        assert list(refused) == ["u"]
        assert str(refused["u"]) == "nothing there"
        whole = DeleteShareGroupOffsetsResponse(error_code=ErrorCode.NON_EMPTY_GROUP)
        script.script(DeleteShareGroupOffsetsRequest, lambda *_: whole)
        with pytest.raises(NonEmptyGroup):
            forget_share_topics(cluster, "g", ["t"])
