import time
from collections.abc import Iterator

import pytest

from odradek.client.cluster import Cluster
from odradek.client.hanging import abort_hanging, find_hanging, owner_of
from odradek.client.list_offsets import LATEST, list_offsets
from odradek.client.producers import ActiveProducer, describe_producers
from odradek.protocol.errors import (
    ClusterAuthorizationFailed,
    ErrorCode,
    InvalidTxnState,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.txn_admin import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected, create_topic, wait_until
from tests.client.live_transactions import NO_VERIFICATION, Producer, write
from tests.fakes.scripted import scripted_cluster

LATER_MS = int(time.time() * 1000) + 3_600_000
PRODUCER = ActiveProducer(TopicPartition("t", 0), 7, 1, 0, 0, -1, 5)


@pytest.fixture(scope="module")
def lax_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    data_dir = tmp_path_factory.mktemp("hanging") / "data"
    with running_broker(data_dir, *NO_VERIFICATION) as process:
        yield process
        assert "Traceback" not in process.log()


@pytest.fixture
def cluster(lax_broker: BrokerProcess) -> Iterator[Cluster]:
    with connected(lax_broker.port) as cluster:
        yield cluster


def test_what_no_coordinator_knows_hangs_and_is_aborted(cluster: Cluster) -> None:
    create_topic(cluster, "hanging", 2)
    owned, lost = TopicPartition("hanging", 0), TopicPartition("hanging", 1)
    producer = Producer(cluster, "hanging")
    producer.add(owned)
    producer.write(owned)
    write(cluster, lost, 777_000)
    places = [owned, lost, TopicPartition("none", 0)]
    hanging = find_hanging(cluster, places, LATER_MS)
    (found,) = hanging.found
    assert (found.place, found.producer_id, found.start_offset) == (lost, 777_000, 0)
    assert list(hanging.failed) == places[2:]
    assert owner_of(cluster, found) is None
    assert find_hanging(cluster, places, found.last_timestamp_ms).found == []

    assert list_offsets(cluster, {lost: LATEST}).found[lost].offset == 1
    abort_hanging(cluster, found)
    assert list_offsets(cluster, {lost: LATEST}).found[lost].offset == 2
    with pytest.raises(InvalidTxnState):
        abort_hanging(cluster, found)
    assert find_hanging(cluster, places, LATER_MS).found == []

    (ours,) = describe_producers(cluster, [owned]).found[owned]
    owner = owner_of(cluster, ours)
    assert owner is not None
    assert owner.transactional_id == "hanging"
    with pytest.raises(ClusterAuthorizationFailed):
        abort_hanging(cluster, ours)
    producer.end(commit=True)
    wait_until(lambda: owner_of(cluster, ours) is None)


def test_the_new_leader_is_asked() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.leaders["t"] = [1]

        def moved(
            request: WriteTxnMarkersRequest, version: int
        ) -> WriteTxnMarkersResponse:
            script.leaders["t"] = [2]
            return answer(ErrorCode.NOT_LEADER_OR_FOLLOWER)

        def answer(code: int) -> WriteTxnMarkersResponse:
            partition = WritableTxnMarkerPartitionResult(error_code=code)
            topic = WritableTxnMarkerTopicResult(name="t", partitions=[partition])
            result = WritableTxnMarkerResult(producer_id=7, topics=[topic])
            return WriteTxnMarkersResponse(markers=[result])

        script.brokers[1].answers[WriteTxnMarkersRequest] = moved
        script.brokers[2].answers[WriteTxnMarkersRequest] = lambda *_: answer(0)
        abort_hanging(cluster, PRODUCER)
        (asked,) = script.brokers[2].asked[-1:]
        assert isinstance(asked, WriteTxnMarkersRequest)
        (marker,) = asked.markers
        assert (marker.producer_id, marker.producer_epoch) == (7, 1)
        assert (marker.transaction_result, marker.coordinator_epoch) == (False, 0)


def test_a_topic_that_is_gone() -> None:
    with (
        scripted_cluster() as script,
        script.client() as cluster,
        pytest.raises(UnknownTopicOrPartition),
    ):
        abort_hanging(cluster, PRODUCER)
