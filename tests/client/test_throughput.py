import pytest

from odradek.client.cluster import Cluster
from odradek.client.list_offsets import LATEST, list_offsets
from odradek.client.throughput import Load, Measured, measure_consume, measure_produce
from odradek.client.topics import NewTopic, create_topic
from odradek.protocol.errors import MessageTooLarge
from odradek.protocol.topic_partition import TopicPartition


@pytest.mark.parametrize("compression", [0, 3])
def test_all_is_written_and_read(cluster: Cluster, compression: int) -> None:
    topic = f"throughput-{compression}"
    create_topic(cluster, NewTopic(topic, 3))
    seen = []
    load = Load(5000, 100, 10_000, compression)
    written = measure_produce(cluster, topic, load, lambda n, size: seen.append(n))
    assert written.records_count >= 5000
    assert seen == sorted(seen)
    assert seen[-1] == written.records_count
    places = {TopicPartition(topic, number): LATEST for number in range(3)}
    ends = [each.offset for each in list_offsets(cluster, places).found.values()]
    assert sum(ends) == written.records_count
    assert max(ends) - min(ends) < 200  # a batch
    read = measure_consume(cluster, topic, 5000, lambda n, size: None)
    assert read.records_count >= 5000
    assert read.elapsed_s > 0
    assert all(latency > 0 for latency in [*written.latencies_s, *read.latencies_s])


def test_a_refusal_ends_it(cluster: Cluster) -> None:
    small = {"max.message.bytes": "100"}
    create_topic(cluster, NewTopic("throughput-small", 1, configs=small))
    with pytest.raises(MessageTooLarge):
        measure_produce(cluster, "throughput-small", Load(100, 100), lambda *_: None)


def test_quantiles() -> None:
    measured = Measured(1, 1, 1.0, [number / 1000 for number in range(100)])
    assert measured.latency_ms(0.5) == pytest.approx(50)
    assert measured.latency_ms(1.0) == pytest.approx(99)
    assert Measured(1, 1, 1.0, []).latency_ms(0.5) is None
