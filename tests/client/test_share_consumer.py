"""A member of a share group, with a broker."""

from collections.abc import Iterator

import pytest

from odradek.client.cluster import Cluster
from odradek.client.fetcher import FetchLimits
from odradek.client.producer import Producer
from odradek.client.share_consumer import ShareConsumer
from odradek.client.topics import NewTopic, create_topic, delete_topic
from odradek.protocol.errors import InvalidRequest
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess
from tests.client.live import connected
from tests.client.share_groups import begin_with_the_first

LIMITS = FetchLimits(max_wait_ms=50)


def written(cluster: Cluster, topic: str, count: int, partitions: int = 1) -> None:
    create_topic(cluster, NewTopic(topic, partitions))
    with Producer(cluster) as producer:
        for value in range(count):
            record = NewRecord(None, b"%d" % value, 1000)
            producer.send(topic, record, value % partitions)


def values(consumer: ShareConsumer, count: int) -> Iterator[int]:
    """So many records, however often is asked."""
    while True:
        for records in consumer.fetch(LIMITS):
            for _, record in records:
                yield int(record.value or b"")
                count -= 1
                if not count:
                    return


def test_each_record_is_handed_to_one(cluster: Cluster, broker: BrokerProcess) -> None:
    written(cluster, "handed-out", 20, partitions=2)
    begin_with_the_first(cluster, "workers")
    one = ShareConsumer(cluster, "workers", ["handed-out"])
    first = list(values(one, 12))
    assert one.assignment == [TopicPartition("handed-out", each) for each in range(2)]
    one.accept()
    one.leave()
    with connected(broker.port) as elsewhere:
        other = ShareConsumer(elsewhere, "workers", ["handed-out"])
        rest = list(values(other, 8))
        other.accept()
        other.leave()
    assert sorted(first + rest) == list(range(20))


def test_what_was_not_accepted_comes_again(cluster: Cluster) -> None:
    written(cluster, "given-again", 3)
    begin_with_the_first(cluster, "given-again")
    one = ShareConsumer(cluster, "given-again", ["given-again"])
    assert list(values(one, 2)) == [0, 1]
    one.leave()  # without a word of the second one
    assert list(values(one, 2)) == [1, 2]
    one.leave()


def test_a_member_that_is_out_joins_again(cluster: Cluster) -> None:
    written(cluster, "fenced", 2)
    begin_with_the_first(cluster, "fenced")
    one = ShareConsumer(cluster, "fenced", ["fenced"])
    reading = values(one, 2)
    assert next(reading) == 0
    one._epoch, one._beat_at_s = 77, 0.0
    assert next(reading) == 1
    list(one.fetch(LIMITS))
    assert one._epoch != 77
    one.leave()


def test_nobody_can_share_nothing(cluster: Cluster) -> None:
    with pytest.raises(InvalidRequest):
        list(ShareConsumer(cluster, "of-nothing", []).fetch(LIMITS))


def test_without_partitions_there_is_nothing(cluster: Cluster) -> None:
    one = ShareConsumer(cluster, "early", ["not-there-yet"])
    assert list(one.fetch(LIMITS)) == []
    assert one.assignment == []
    one.leave()
    one.leave()


def test_what_is_gone_while_it_is_read(cluster: Cluster) -> None:
    written(cluster, "short-lived", 1)
    begin_with_the_first(cluster, "short-lived")
    one = ShareConsumer(cluster, "short-lived", ["short-lived"])
    assert list(values(one, 1)) == [0]
    one.accept()
    delete_topic(cluster, "short-lived")
    for records in one.fetch(LIMITS):
        assert list(records) == []
    one.leave()
