import pytest

from odradek.client.cluster import Cluster
from odradek.client.group_offsets import (
    commit_offsets,
    committed_offsets,
    delete_offsets,
)
from odradek.protocol.errors import (
    ErrorCode,
    GroupIdNotFound,
    GroupSubscribedToTopic,
    UnknownMemberId,
    UnknownTopicOrPartition,
    UnstableOffsetCommit,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import Member, create_topic
from tests.fakes.scripted import ScriptedCluster, scripted_cluster


def places(topic: str, *numbers: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in numbers]


def test_what_is_committed_is_found_until_it_is_forgotten(cluster: Cluster) -> None:
    create_topic(cluster, "kept", 3)
    zero, one, missing = places("kept", 0, 1, 9)
    assert committed_offsets(cluster, "kept") == {}
    refused = commit_offsets(cluster, "kept", {one: 7, zero: 5, missing: 1})
    assert list(refused) == [missing]
    assert isinstance(refused[missing], UnknownTopicOrPartition)
    found = committed_offsets(cluster, "kept")
    assert list(found.items()) == [(zero, (5, -1, "")), (one, (7, -1, ""))]
    assert delete_offsets(cluster, "kept", [zero]) == {}
    assert list(committed_offsets(cluster, "kept")) == [one]
    with pytest.raises(GroupIdNotFound):
        delete_offsets(cluster, "kept-not", [zero])


def test_a_group_with_members_is_left_alone(cluster: Cluster) -> None:
    create_topic(cluster, "alive", 1)
    member = Member(cluster, "alive", "alive", 0)
    (place,) = places("alive", 0)
    assert isinstance(
        commit_offsets(cluster, "alive", {place: 1})[place], UnknownMemberId
    )
    assert isinstance(
        delete_offsets(cluster, "alive", [place])[place], GroupSubscribedToTopic
    )
    assert committed_offsets(cluster, "alive") == {}
    member.leave()
    assert commit_offsets(cluster, "alive", {place: 1}) == {}


def answer_fetch(script: ScriptedCluster, code: int = 0, group_code: int = 0) -> None:
    """One partition with an offset, one without; in the shape of any version."""

    def answer(request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
        if version < 8:
            assert (request.group_id, request.topics) == ("g", None)
            old = [
                OffsetFetchResponsePartition(partition_index=1, committed_offset=-1),
                OffsetFetchResponsePartition(
                    partition_index=0, committed_offset=5, error_code=code
                ),
            ]
            topic = OffsetFetchResponseTopic(name="t", partitions=old)
            return OffsetFetchResponse(topics=[topic], error_code=group_code)
        (asked,) = request.groups
        assert (asked.group_id, asked.topics) == ("g", None)
        new = [
            OffsetFetchResponsePartitions(
                partition_index=0, committed_offset=5, error_code=code, metadata=None
            ),
            OffsetFetchResponsePartitions(partition_index=1, committed_offset=-1),
        ]
        group = OffsetFetchResponseGroup(
            group_id="g",
            topics=[OffsetFetchResponseTopics(name="t", partitions=new)],
            error_code=group_code,
        )
        return OffsetFetchResponse(groups=[group])

    script.script(OffsetFetchRequest, answer)


@pytest.mark.parametrize("version", [2, 7, 8, 9, 10])
def test_offsets_of_brokers_of_every_age(version: int) -> None:
    with scripted_cluster() as script, script.client() as cluster:
        answer_fetch(script)
        script.limit(OffsetFetchRequest, version)
        assert committed_offsets(cluster, "g") == {("t", 0): (5, -1, "")}


@pytest.mark.parametrize("version", [7, 9])
def test_an_offset_that_cannot_be_told_is_an_error_with_its_place(version: int) -> None:
    with scripted_cluster() as script, script.client() as cluster:
        answer_fetch(script, code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        script.limit(OffsetFetchRequest, version)
        with pytest.raises(UnstableOffsetCommit, match=r"^t-0: The offset may still"):
            committed_offsets(cluster, "g")


@pytest.mark.parametrize("version", [7, 9])
def test_an_error_of_the_group(version: int) -> None:
    with scripted_cluster() as script, script.client() as cluster:
        answer_fetch(script, group_code=ErrorCode.GROUP_ID_NOT_FOUND)
        script.limit(OffsetFetchRequest, version)
        with pytest.raises(GroupIdNotFound):
            committed_offsets(cluster, "g")


def test_a_commit_goes_to_where_the_coordinator_is_now() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:

        def answer(code: int) -> OffsetCommitResponse:
            partitions = [
                OffsetCommitResponsePartition(partition_index=number, error_code=code)
                for number in (0, 1)
            ]
            topic = OffsetCommitResponseTopic(name="t", partitions=partitions)
            return OffsetCommitResponse(topics=[topic])

        def moved(request: OffsetCommitRequest, version: int) -> OffsetCommitResponse:
            script.coordinator = 2
            return answer(ErrorCode.NOT_COORDINATOR)

        script.brokers[1].answers[OffsetCommitRequest] = moved
        script.brokers[2].answers[OffsetCommitRequest] = lambda *_: answer(0)
        assert commit_offsets(cluster, "g", dict.fromkeys(places("t", 0, 1), 3)) == {}
        (request,) = (
            each
            for each in script.brokers[2].asked
            if isinstance(each, OffsetCommitRequest)
        )
        assert (request.generation_id_or_member_epoch, request.member_id) == (-1, "")
        (topic,) = request.topics
        assert topic.name == "t"
        assert [each.committed_offset for each in topic.partitions] == [3, 3]
