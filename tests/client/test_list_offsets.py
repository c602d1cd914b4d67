import pytest

from odradek.client.cluster import Cluster
from odradek.client.list_offsets import EARLIEST, LATEST, list_offsets
from odradek.protocol.errors import (
    ErrorCode,
    LeaderNotAvailable,
    NetworkException,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import create_topic, produce
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

ZERO, ONE, TWO = (TopicPartition("t", number) for number in range(3))


def test_beginning_end_and_times(cluster: Cluster) -> None:
    create_topic(cluster, "times", 2)
    produce(cluster, "times", 0, [1000, 2000, 3000])
    full, empty = TopicPartition("times", 0), TopicPartition("times", 1)
    for time, expected in {
        EARLIEST: (0, -1),
        LATEST: (3, -1),
        1: (0, 1000),
        1001: (1, 2000),
        3000: (2, 3000),
        3001: (-1, -1),
    }.items():
        listing = list_offsets(cluster, {full: time, empty: time})
        assert listing.failed == {}
        assert listing.found[full][:2] == expected
        assert listing.found[empty][:2] == ((0, -1) if time < 0 else (-1, -1))


def test_what_is_not_there_is_no_reason_to_tell_nothing(cluster: Cluster) -> None:
    create_topic(cluster, "partly", 1)
    there, beyond = TopicPartition("partly", 0), TopicPartition("partly", 1)
    nowhere = TopicPartition("partly-not", 0)
    listing = list_offsets(cluster, dict.fromkeys([there, beyond, nowhere], LATEST))
    assert set(listing.found) == {there}
    assert set(listing.failed) == {beyond, nowhere}
    for error in listing.failed.values():
        assert isinstance(error, UnknownTopicOrPartition)


def test_nothing_asked_for_asks_nobody() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        assert list_offsets(cluster, {}) == ({}, {})
        assert script.brokers[1].asked == []


def answer_offsets(script: ScriptedCluster, offset: int = 7) -> None:
    """Only the leader knows; the others say that they are not."""

    def answer_of(node_id: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        (topic,) = request.topics
        partitions = []
        for asked in topic.partitions:
            number = asked.partition_index
            partition = ListOffsetsPartitionResponse(partition_index=number)
            if script.leaders["t"][number] == node_id:
                partition.offset = offset + number
            else:
                partition.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            partitions.append(partition)
        found = ListOffsetsTopicResponse(name="t", partitions=partitions)
        return ListOffsetsResponse(topics=[found])

    for node_id, broker in script.brokers.items():
        broker.answers[ListOffsetsRequest] = lambda request, version, node_id=node_id: (
            answer_of(node_id, request)
        )


def test_each_leader_is_asked_for_its_own() -> None:
    with scripted_cluster(3) as script, script.client() as cluster:
        script.leaders = {"t": [2, 3, 2]}
        answer_offsets(script)
        listing = list_offsets(cluster, dict.fromkeys([ZERO, ONE, TWO], LATEST))
        assert {place: each.offset for place, each in listing.found.items()} == {
            ZERO: 7,
            ONE: 8,
            TWO: 9,
        }
        counts = [
            each.asked_for(ListOffsetsRequest) for each in script.brokers.values()
        ]
        assert counts == [0, 1, 1]


def test_a_leader_that_has_moved_is_found_and_only_the_rest_asked_again() -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.leaders = {"t": [1, 1]}
        answer_offsets(script)
        metadata = script.brokers[1].answers[MetadataRequest]
        told: list[None] = []

        def stale_once(request: MetadataRequest, version: int) -> object:
            answer = metadata(request, version)
            if not told:
                script.leaders = {"t": [1, 2]}
            told.append(None)
            return answer

        script.brokers[1].answers[MetadataRequest] = stale_once  # type: ignore[assignment]
        listing = list_offsets(cluster, dict.fromkeys([ZERO, ONE], LATEST))
        assert listing.failed == {}
        assert listing.found[ONE].offset == 8
        assert [
            each.asked_for(ListOffsetsRequest) for each in script.brokers.values()
        ] == [
            1,
            1,
        ]


def test_a_partition_without_a_leader_is_waited_for_and_then_told() -> None:
    with scripted_cluster() as script, script.client() as cluster:
        script.leaders = {"t": [1, -1]}
        answer_offsets(script)
        listing = list_offsets(cluster, dict.fromkeys([ZERO, ONE], LATEST), settle_s=2)
        assert set(listing.found) == {ZERO}
        assert isinstance(listing.failed[ONE], LeaderNotAvailable)
        assert 1 < sum(script.time.pauses) <= 2


@pytest.mark.parametrize("hangs_up", [True, False])
def test_a_leader_that_cannot_be_reached(hangs_up: bool) -> None:
    with scripted_cluster(2) as script, script.client() as cluster:
        script.leaders = {"t": [1, 2]}
        answer_offsets(script)
        if hangs_up:
            script.brokers[2].answers[ListOffsetsRequest] = lambda *_: None
        else:
            script.brokers[2].close()
        listing = list_offsets(cluster, dict.fromkeys([ZERO, ONE], LATEST))
        assert set(listing.found) == {ZERO}
        assert isinstance(listing.failed[ONE], NetworkException)
        said = "closed the connection" if hangs_up else "broker 2 (127.0.0.1:"
        assert said in str(listing.failed[ONE])
