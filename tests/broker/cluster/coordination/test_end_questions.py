from odradek.broker.cluster.coordination.end_questions import EndQuestions
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.topic_partition import TopicPartition

A0, A1, B0 = (TopicPartition(*each) for each in (("a", 0), ("a", 1), ("b", 0)))


def test_it_asks_as_clients_do() -> None:
    request = EndQuestions().request([A0, B0, A1])
    assert (request.replica_id, request.isolation_level) == (-1, 0)
    asked = {
        topic.name: [
            (each.partition_index, each.timestamp) for each in topic.partitions
        ]
        for topic in request.topics
    }
    assert asked == {"a": [(0, -1), (1, -1)], "b": [(0, -1)]}
    assert len({EndQuestions().group_of(each) for each in (A0, B0)}) == 1


def test_what_is_not_said_is_unknown() -> None:
    partitions = [
        ListOffsetsPartitionResponse(partition_index=0, error_code=0, offset=7),
        ListOffsetsPartitionResponse(partition_index=1, error_code=6, offset=9),
    ]
    topic = ListOffsetsTopicResponse(name="a", partitions=partitions)
    found = EndQuestions().answers(ListOffsetsResponse(topics=[topic]))
    told = [EndQuestions().told(each, found.get(each)) for each in (A0, A1, B0)]
    assert told == [7, -1, -1]
