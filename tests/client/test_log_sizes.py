from odradek.client.cluster import Cluster
from odradek.client.log_sizes import log_sizes
from odradek.protocol.messages.log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import create_topic, produce
from tests.fakes.scripted import scripted_cluster

PLACE = TopicPartition("t", 0)


def test_sizes_of_logs(cluster: Cluster) -> None:
    create_topic(cluster, "sized", 2)
    full, empty = TopicPartition("sized", 0), TopicPartition("sized", 1)
    produce(cluster, "sized", 0, range(100))
    found = log_sizes(cluster, [full, empty])
    assert found[full] > 0
    assert found.get(empty, 0) == 0
    assert log_sizes(cluster, []) == {}
    assert log_sizes(cluster, [TopicPartition("not-there", 0)]) == {}


def answer(*sizes: tuple[int, bool], error_code: int = 0) -> DescribeLogDirsResponse:
    partitions = [
        DescribeLogDirsPartition(
            partition_index=0, partition_size=size, is_future_key=is_future
        )
        for size, is_future in sizes
    ]
    topic = DescribeLogDirsTopic(name="t", partitions=partitions)
    result = DescribeLogDirsResult(log_dir="/d", topics=[topic])
    return DescribeLogDirsResponse(results=[result], error_code=error_code)


def test_a_copy_on_its_way_is_no_log() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [1]}
        script.script(DescribeLogDirsRequest, lambda *_: answer((7, False), (3, True)))
        assert log_sizes(cluster, [PLACE]) == {PLACE: 7}


def test_who_has_no_right_is_told_nothing() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [1]}
        refused = DescribeLogDirsResponse(error_code=31)
        script.script(DescribeLogDirsRequest, lambda *_: refused)
        assert log_sizes(cluster, [PLACE]) == {}
