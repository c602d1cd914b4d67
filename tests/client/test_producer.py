"""A producer on a broker: exact contents, order, and clear errors."""

import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest

from odradek.client.batch_builder import NOBODY, BatchBuilder
from odradek.client.cluster import Cluster
from odradek.client.fetcher import Fetcher
from odradek.client.producer import DeliveryFailed, Producer, ProducerSettings, Written
from odradek.client.record_reader import read_records
from odradek.client.topics import NewTopic, create_topic
from odradek.protocol.errors import InvalidRecord, UnknownTopicOrPartition
from odradek.protocol.murmur2 import partition_of_key
from odradek.protocol.record_batch import read_header, scan
from odradek.protocol.records import NewRecord, Record
from odradek.protocol.topic_partition import TopicPartition
from odradek.testing import Broker
from tests.client.live import connected_to, wait_until

NOW = 1_700_000_000_000


def records_in(cluster: Cluster, topic: str, partition: int) -> Iterator[Record]:
    place, offset = TopicPartition(topic, partition), 0
    fetcher = Fetcher(cluster, committed=True)
    while True:
        fetched = fetcher.fetch(place, offset, max_wait_ms=0, min_bytes=0)
        if not fetched.records:
            return
        yield from read_records(fetched, offset, committed=True)
        offset = fetched.next_offset(offset)


@pytest.mark.parametrize("compression", range(5))
def test_keys_choose_partitions_and_order_stays(
    cluster: Cluster, compression: int
) -> None:
    topic = f"keyed-{compression}"
    create_topic(cluster, NewTopic(topic, 3))
    sent: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    settings = ProducerSettings(compression=compression, batch_size=2000)
    with Producer(cluster, settings) as producer:
        for number in range(2000):
            key, value = b"%d" % (number % 100), b"%d" % number
            place = producer.send(topic, NewRecord(key, value, NOW))
            assert place.partition == partition_of_key(key, 3)
            sent[place.partition].append(value)
    for partition, values in sent.items():
        found = [each.value for each in records_in(cluster, topic, partition)]
        assert found == values


def test_batches_of_an_idempotent_producer_have_their_sequences(
    cluster: Cluster,
) -> None:
    create_topic(cluster, NewTopic("sequences", 1))
    with Producer(cluster, ProducerSettings(batch_size=200)) as producer:
        for number in range(50):
            producer.send("sequences", NewRecord(None, b"%d" % number * 10, NOW))
    place = TopicPartition("sequences", 0)
    fetched = Fetcher(cluster).fetch(place, 0)
    headers = [header for _, header in scan(fetched.records)]
    assert len(headers) > 5
    assert all(each.base_sequence == each.base_offset for each in headers)
    assert len({each.producer_id for each in headers}) == 1
    assert headers[0].producer_id >= 0


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_without_idempotence_batches_are_nobodys(cluster: Cluster, acks: int) -> None:
    topic = f"plain-{acks}"
    create_topic(cluster, NewTopic(topic, 1))
    written: list[Written] = []
    settings = ProducerSettings(acks=acks, idempotent=False)
    with Producer(cluster, settings, on_written=written.append) as producer:
        producer.send(topic, NewRecord(b"k", b"v", NOW))
        producer.flush()
        producer.send(topic, NewRecord(b"k", b"w", NOW))
    assert [each.base_offset for each in written] == ([-1, -1] if acks == 0 else [0, 1])
    assert read_header(written[0].batch.data).producer_id == NOBODY.producer_id
    if acks:  # the leader alone has them a moment before consumers see them
        wait_until(lambda: len(list(records_in(cluster, topic, 0))) == 2)
        found = [each.value for each in records_in(cluster, topic, 0)]
        assert found == [b"v", b"w"]


def test_records_without_a_key_fill_one_batch_after_the_other(
    cluster: Cluster,
) -> None:
    create_topic(cluster, NewTopic("sticky", 4))
    settings = ProducerSettings(batch_size=1000, linger_ms=60_000)
    record = NewRecord(None, b"v" * 100, NOW)
    with Producer(cluster, settings) as producer:
        places = [producer.send("sticky", record) for _ in range(40)]
    changes = sum(one != two for one, two in pairwise(places))
    assert 3 <= changes <= 6


def test_a_batch_that_is_encoded_goes_behind_what_was_taken_before(
    cluster: Cluster,
) -> None:
    create_topic(cluster, NewTopic("encoded", 1))
    place = TopicPartition("encoded", 0)
    builder = BatchBuilder(place, 1000, 0)
    for value in (b"2", b"3"):
        assert builder.try_add(NewRecord(None, value, NOW))
    settings = ProducerSettings(linger_ms=60_000)
    with Producer(cluster, settings) as producer:
        producer.send("encoded", NewRecord(None, b"1", NOW))
        producer.send_encoded(place, builder.records())
        producer.send("encoded", NewRecord(None, b"4", NOW))
        with pytest.raises(UnknownTopicOrPartition, match="no partition 1, only 0"):
            producer.send_encoded(TopicPartition("encoded", 1), builder.records())
    found = [each.value for each in records_in(cluster, "encoded", 0)]
    assert found == [b"1", b"2", b"3", b"4"]


def test_what_the_broker_finds_too_large_is_split(cluster: Cluster) -> None:
    small = {"max.message.bytes": "2000"}
    create_topic(cluster, NewTopic("small", 1, configs=small))
    settings = ProducerSettings(batch_size=16_000, linger_ms=60_000)
    values = [b"%03d" % number * 30 for number in range(300)]
    with Producer(cluster, settings) as producer:
        for value in values:
            producer.send("small", NewRecord(None, value, NOW))
    assert [each.value for each in records_in(cluster, "small", 0)] == values


def test_a_record_that_nobody_takes_is_told_and_the_next_begins_anew(
    cluster: Cluster,
) -> None:
    compacted = {"cleanup.policy": "compact"}
    create_topic(cluster, NewTopic("compacted", 1, configs=compacted))
    with Producer(cluster) as producer:
        producer.send("compacted", NewRecord(None, b"no key", NOW))
        producer.send("compacted", NewRecord(b"k", b"v", NOW))
        with pytest.raises(DeliveryFailed, match=r"compacted-0: .*2 records") as failed:
            producer.flush()
        assert isinstance(failed.value.error, InvalidRecord)
        assert failed.value.lost == {TopicPartition("compacted", 0): 2}
        producer.send("compacted", NewRecord(b"k", b"v", NOW))
    assert [each.value for each in records_in(cluster, "compacted", 0)] == [b"v"]


def test_no_such_topic_and_no_such_partition(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.client.producer._UNKNOWN_TOPIC_S", 0.1)
    create_topic(cluster, NewTopic("one", 1))
    record = NewRecord(None, b"v", NOW)
    with Producer(cluster) as producer:
        with pytest.raises(UnknownTopicOrPartition):
            producer.send("none-of-these", record)
        with pytest.raises(UnknownTopicOrPartition, match="no partition 1, only 0"):
            producer.send("one", record, 1)


def test_no_topic_is_made_for_a_partition_that_it_would_not_have(
    cluster: Cluster,
) -> None:
    record = NewRecord(None, b"v", NOW)
    with Producer(cluster, ProducerSettings(creates_topics=True)) as producer:
        with pytest.raises(UnknownTopicOrPartition, match="have no partition 17"):
            producer.send("would-be", record, 17)
        assert "would-be" not in cluster.metadata().topics
        assert producer.send("would-be", record, 0) == ("would-be", 0)
    assert "would-be" in cluster.metadata().topics


def test_records_without_a_key_are_spread_although_they_linger(
    cluster: Cluster,
) -> None:
    """Each is sent at once, and no batch is ever full."""
    create_topic(cluster, NewTopic("spread", 3))
    record = NewRecord(None, b"v" * 1000, NOW)
    with Producer(cluster, ProducerSettings(linger_ms=-1)) as producer:
        places = [producer.send("spread", record) for _ in range(170)]
    changes = sum(one != two for one, two in pairwise(places))
    assert changes == 9  # each 17 of them are more than 16 KB


def test_what_lingers_goes_with_what_comes_later(cluster: Cluster) -> None:
    create_topic(cluster, NewTopic("lingering", 1))
    written: list[Written] = []
    settings = ProducerSettings(linger_ms=-1)
    with Producer(cluster, settings, on_written=written.append) as producer:
        producer.send("lingering", NewRecord(None, b"1", NOW))
        producer.send("lingering", NewRecord(None, b"2", NOW))
        producer.send_waiting()
        producer.flush()
        assert [each.batch.records_count for each in written] == [1, 1]


def test_what_is_not_flushed_is_dropped_when_the_caller_fails(
    cluster: Cluster,
) -> None:
    create_topic(cluster, NewTopic("dropped", 1))

    def fail() -> None:
        with Producer(cluster) as producer:
            producer.send("dropped", NewRecord(None, b"1", NOW))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(records_in(cluster, "dropped", 0)) == []


def test_a_broker_that_is_killed_and_comes_back(odradek_own: Broker) -> None:
    topic = odradek_own.topic("killed", 2)
    with connected_to(odradek_own) as cluster:
        settings = ProducerSettings(batch_size=500, linger_ms=0)
        sent: dict[int, list[bytes]] = {0: [], 1: []}
        with Producer(cluster, settings) as producer:
            for number in range(600):
                if number in (200, 400):
                    odradek_own.kill()
                    back = threading.Timer(0.3, odradek_own.start)
                    back.start()
                value = b"%d" % number
                producer.send(topic, NewRecord(None, value, NOW), number % 2)
                sent[number % 2].append(value)
            producer.flush()
            back.join()
        for partition, values in sent.items():
            found = [each.value for each in records_in(cluster, topic, partition)]
            assert found == values
