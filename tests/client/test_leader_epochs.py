"""Where leader epochs ended, asked of a broker that has been started twice."""

from odradek.client.cluster import Cluster
from odradek.client.leader_epochs import UNKNOWN, EpochEnd, epoch_ends
from odradek.client.list_offsets import LATEST, list_offsets
from odradek.protocol.errors import UnknownTopicOrPartition
from odradek.protocol.topic_partition import TopicPartition
from odradek.testing import Broker
from tests.client.live import connected_to, create_topic


def test_epochs_of_a_broker_that_was_restarted(odradek_own: Broker) -> None:
    topic = odradek_own.topic("epochs")
    place = TopicPartition(topic, 0)
    with connected_to(odradek_own) as cluster:
        topic.produce(["1", "2", "3"])
        first = list_offsets(cluster, {place: LATEST}).found[place].leader_epoch
    odradek_own.kill()
    odradek_own.start()
    with connected_to(odradek_own) as cluster:
        topic.produce(["4", "5"])
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
