from odradek.client.cluster import Cluster
from odradek.client.list_offsets import EARLIEST, list_offsets
from odradek.client.records_deletion import HIGH_WATERMARK, delete_records
from odradek.client.topics import NewTopic, create_topic
from odradek.protocol.errors import OffsetOutOfRange, UnknownTopicOrPartition
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import produce
from tests.fakes.scripted import scripted_cluster


def test_what_is_before_an_offset_is_deleted(cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("cut", 3))
    zero, one, two = (TopicPartition("cut", number) for number in range(3))
    for place in zero, one, two:
        produce(cluster, "cut", place.partition, [1, 2, 3, 4])
    beyond = TopicPartition("cut", 9)
    before = {zero: 2, one: HIGH_WATERMARK, two: 5, beyond: 1}
    deletion = delete_records(cluster, before)
    assert deletion.log_starts == {zero: 2, one: 4}
    assert isinstance(deletion.failed[two], OffsetOutOfRange)
    assert isinstance(deletion.failed[beyond], UnknownTopicOrPartition)
    found = list_offsets(cluster, dict.fromkeys([zero, one, two], EARLIEST)).found
    assert [found[place].offset for place in (zero, one, two)] == [2, 4, 0]


def test_nothing_to_delete_asks_nobody() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        assert delete_records(cluster, {}) == ({}, {})
        assert script.brokers[1].asked == []
