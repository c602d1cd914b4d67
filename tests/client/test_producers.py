from odradek.client.cluster import Cluster
from odradek.client.producers import describe_producers
from odradek.protocol.errors import LeaderNotAvailable, UnknownTopicOrPartition
from odradek.protocol.messages.txn_admin import (
    DescribedProducersPartition,
    DescribedProducersTopic,
    DescribeProducersRequest,
    DescribeProducersResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import create_topic
from tests.client.live_transactions import Producer
from tests.fakes.scripted import scripted_cluster


def test_what_a_log_knows(cluster: Cluster) -> None:
    create_topic(cluster, "producers", 2)
    first, second = TopicPartition("producers", 0), TopicPartition("producers", 1)
    producer = Producer(cluster, "producers")
    producer.add(first)
    offset = producer.write(first)
    missing = TopicPartition("producers", 7)
    found, failed = describe_producers(cluster, [first, second, missing])
    (state,) = found[first]
    assert state[:4] == (first, producer.producer_id, producer.epoch, 0)
    assert (state.coordinator_epoch, state.start_offset) == (-1, offset)
    assert found[second] == []
    assert list(failed) == [missing]
    assert isinstance(failed[missing], UnknownTopicOrPartition)
    producer.end(commit=True)
    assert describe_producers(cluster, []) == ({}, {})


def test_each_partition_is_asked_of_its_leader() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.leaders["t"] = [1, 2, -1]

        def answer(
            request: DescribeProducersRequest, version: int
        ) -> DescribeProducersResponse:
            (topic,) = request.topics
            (number,) = topic.partition_indexes
            partition = DescribedProducersPartition(partition_index=number)
            if number == 1:
                partition.error_code = 3
                partition.error_message = "gone"
            found = DescribedProducersTopic(name="t", partitions=[partition])
            return DescribeProducersResponse(topics=[found])

        script.script(DescribeProducersRequest, answer)
        places = [TopicPartition("t", number) for number in range(3)]
        found, failed = describe_producers(cluster, places)
        assert found == {places[0]: []}
        assert str(failed[places[1]]) == "gone"
        assert isinstance(failed[places[2]], LeaderNotAvailable)
