"""Where leader epochs ended, asked of a broker that has been started twice."""

from pathlib import Path

from odradek.client.cluster import Cluster
from odradek.client.leader_epochs import UNKNOWN, EpochEnd, epoch_ends
from odradek.client.list_offsets import LATEST, list_offsets
from odradek.protocol.errors import UnknownTopicOrPartition
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import running_broker
from tests.client.live import connected, create_topic, produce


def test_epochs_of_a_broker_that_was_restarted(tmp_path: Path) -> None:
    place = TopicPartition("epochs", 0)
    keep = ("-o", "log.retention.ms=-1")  # the records of the test are old
    with running_broker(tmp_path / "data", *keep) as broker:
        with connected(broker.port) as cluster:
            create_topic(cluster, "epochs", 1)
            produce(cluster, "epochs", 0, [1, 2, 3])
            first = list_offsets(cluster, {place: LATEST}).found[place].leader_epoch
        broker.kill()
        broker.start()
        with connected(broker.port) as cluster:
            produce(cluster, "epochs", 0, [4, 5])
            now = list_offsets(cluster, {place: LATEST}).found[place].leader_epoch
            assert now > first
            for epoch, expected in {
                first: EpochEnd(first, 3),
                now: EpochEnd(now, 5),
                now + 1: EpochEnd(UNKNOWN, UNKNOWN),
            }.items():
                assert epoch_ends(cluster, {place: epoch}) == ({place: expected}, {})


def test_what_is_not_there_is_no_reason_to_tell_nothing(cluster: Cluster) -> None:
    create_topic(cluster, "epochs-partly", 1)
    there, nowhere = (TopicPartition(f"epochs-{n}", 0) for n in ("partly", "not"))
    ends = epoch_ends(cluster, {there: 0, nowhere: 0}, settle_s=0)
    assert set(ends.found) == {there}
    assert isinstance(ends.failed[nowhere], UnknownTopicOrPartition)


def test_nothing_asked_for_asks_nobody(cluster: Cluster) -> None:
    assert epoch_ends(cluster, {}) == ({}, {})
