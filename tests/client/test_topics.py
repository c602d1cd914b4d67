import pytest

from odradek.client.cluster import Cluster
from odradek.client.topics import (
    NewTopic,
    create_partitions,
    create_topic,
    delete_topic,
    describe_topics,
)
from odradek.protocol.errors import (
    ErrorCode,
    InvalidConfig,
    InvalidPartitions,
    TopicAlreadyExists,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tests.fakes.scripted import scripted_cluster


def test_a_topic_is_made_widened_described_and_deleted(cluster: Cluster) -> None:
    config = {"cleanup.policy": "compact"}
    made = create_topic(cluster, NewTopic("made-and-deleted", 2, 1, config))
    assert (made.name, made.partitions, made.replication_factor) == (
        "made-and-deleted",
        2,
        1,
    )
    with pytest.raises(TopicAlreadyExists, match="'made-and-deleted' already exists"):
        create_topic(cluster, NewTopic("made-and-deleted"))
    create_partitions(cluster, "made-and-deleted", 3, validate_only=True)
    create_partitions(cluster, "made-and-deleted", 4)
    topic = describe_topics(cluster, ["made-and-deleted"]).found["made-and-deleted"]
    assert (topic.topic_id, topic.is_internal) == (made.topic_id, False)
    assert [each.partition for each in topic.partitions] == [0, 1, 2, 3]
    assert topic.partitions[3][1:] == (1, [1], [1], [])
    with pytest.raises(InvalidPartitions):
        create_partitions(cluster, "made-and-deleted", 4)
    delete_topic(cluster, "made-and-deleted")
    with pytest.raises(UnknownTopicOrPartition):
        delete_topic(cluster, "made-and-deleted")
    assert set(describe_topics(cluster, ["made-and-deleted"]).failed) == {
        "made-and-deleted"
    }


def test_what_could_be_made_is_not_made(cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("only-asked"), validate_only=True)
    with pytest.raises(InvalidConfig, match="nonsense"):
        create_topic(cluster, NewTopic("x", configs={"nonsense": "1"}))
    with pytest.raises(UnknownTopicOrPartition):
        create_partitions(cluster, "only-asked", 3)
    assert {"only-asked", "x"}.isdisjoint(describe_topics(cluster).found)


def test_replicas_of_each_partition_may_be_named(cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("placed", replicas=[[1], [1], [1]]))
    assert len(describe_topics(cluster, ["placed"]).found["placed"].partitions) == 3


def test_a_controller_that_moves_is_asked_again() -> None:
    codes = [ErrorCode.NOT_CONTROLLER, ErrorCode.NONE]

    def answer(request: CreateTopicsRequest, version: int) -> CreateTopicsResponse:
        made = CreatableTopicResult(name="t", error_code=codes.pop(0), configs=None)
        return CreateTopicsResponse(topics=[made])

    with scripted_cluster() as script, script.client() as cluster:
        script.script(CreateTopicsRequest, answer)
        assert create_topic(cluster, NewTopic("t")).name == "t"
        assert script.time.pauses == [0.05]


@pytest.mark.parametrize("version", [1, 5, 6])
def test_deletion_names_the_topic_in_every_version(version: int) -> None:
    asked = []

    def answer(request: DeleteTopicsRequest, version: int) -> DeleteTopicsResponse:
        asked.append(
            [each.name for each in request.topics]
            if version >= 6
            else request.topic_names
        )
        return DeleteTopicsResponse(responses=[DeletableTopicResult(name="t")])

    with scripted_cluster() as script, script.client() as cluster:
        script.script(DeleteTopicsRequest, answer)
        script.limit(DeleteTopicsRequest, version)
        delete_topic(cluster, "t")
        assert asked == [["t"]]
