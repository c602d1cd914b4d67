"""The source as a real broker answers it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.mirror.settings import MirrorSettings
from odradek.broker.mirror.source import Source, Wanted
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets
from odradek.protocol.record_batch import read_header
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected, create_topic, produce

T0 = TopicPartition("t", 0)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("source") / "data"
    with running_broker(data_dir, "-o", "offsets.topic.num.partitions=1") as process:
        yield process


@pytest.fixture
def cluster(broker: BrokerProcess) -> Iterator[Cluster]:
    with connected(broker.port) as cluster:
        yield cluster


def test_what_it_is_asked(broker: BrokerProcess, cluster: Cluster) -> None:
    create_topic(cluster, "t", 1)
    create_topic(cluster, "other", 1)
    produce(cluster, "t", 0, [1, 2])
    commit_offsets(cluster, "g", {T0: 1})
    source = Source(MirrorSettings("m", broker.address, "t|__.*"))
    assert not source.is_connected
    view = source.look()
    assert source.is_connected
    assert list(view.topics) == ["t"]
    topic = view.topics["t"]
    (leader,) = topic.leaders.values()
    assert source.ends([T0]) == {T0: (0, 2)}
    assert source.group_offsets()["g"][T0].offset == 1
    found = source.fetch(leader, [Wanted(topic.topic_id, 0, 0, -1, 1 << 20)])
    answer = found[topic.topic_id, 0]
    assert (answer.error_code, answer.high_watermark) == (0, 2)
    assert read_header(answer.records).last_offset == 1
    # Of a history that went on in the epoch after ours.
    lost = source.fetch(leader, [Wanted(topic.topic_id, 0, 9, 0, 1 << 20)])
    assert lost[topic.topic_id, 0].diverging_epoch.end_offset == 2
    source.close()
    assert not source.is_connected
    source.find_brokers()
    assert source.is_connected
    source.close()


def test_a_broker_that_is_not_there(tmp_path: Path) -> None:
    source = Source(MirrorSettings("m", "127.0.0.1:1", ".*"))
    with pytest.raises(OSError, match=r"127\.0\.0\.1:1"):
        source.look()
