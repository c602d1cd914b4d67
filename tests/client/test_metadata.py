import pytest

from odradek.client.address import Address
from odradek.client.metadata import metadata_request, read_metadata
from odradek.protocol.errors import LeaderNotAvailable, UnknownTopicOrPartition
from odradek.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.topic_partition import TopicPartition


def test_asking_creates_no_topic() -> None:
    request = metadata_request(["a", "b"])
    assert not request.allow_auto_topic_creation
    assert [each.name for each in request.topics or ()] == ["a", "b"]
    assert metadata_request(None).topics is None
    assert metadata_request(()).topics == []


def test_an_answer_by_names_and_numbers() -> None:
    partitions = [
        MetadataResponsePartition(partition_index=1, leader_id=-1, error_code=5),
        MetadataResponsePartition(partition_index=0, leader_id=7),
    ]
    metadata = read_metadata(
        MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=7, host="h", port=1)],
            topics=[
                MetadataResponseTopic(name="a", topic_id=b"i", partitions=partitions),
                MetadataResponseTopic(name="b", error_code=3),
            ],
        )
    )
    assert metadata.brokers == {7: (7, Address("h", 1))}
    assert str(metadata.brokers[7]) == "7 (h:1)"
    assert metadata.topics == {"a": ("a", b"i", {0: 7, 1: -1})}
    assert list(metadata.topics["a"].leaders) == [0, 1]
    assert isinstance(metadata.failed["b"], UnknownTopicOrPartition)
    assert metadata.leader_of(TopicPartition("a", 0)) == 7
    for place, error in (
        (TopicPartition("a", 1), LeaderNotAvailable),
        (TopicPartition("a", 2), UnknownTopicOrPartition),
        (TopicPartition("b", 0), UnknownTopicOrPartition),
        (TopicPartition("c", 0), UnknownTopicOrPartition),
    ):
        with pytest.raises(error):
            metadata.leader_of(place)
