import pytest

from odradek.broker.cluster.fetchers.followed_partition import Asked
from odradek.broker.cluster.fetchers.leader_requests import (
    answers_of,
    end_of,
    end_request,
    fetch_request,
)
from odradek.protocol.errors import NotLeaderOrFollower, UnknownTopicOrPartition
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

A0 = Asked("a", b"A" * 16, 0, 5, 100, 4, 10, 1 << 20)
A1, B0 = A0._replace(partition=1), A0._replace(topic="b", topic_id=b"B" * 16)


@pytest.mark.parametrize("version", [13, 14, 15, 18])
def test_a_follower_says_who_it_is(version: int) -> None:
    request = fetch_request(2, 77, [A0])
    read = FetchRequest.decode(request.encode(version), version)
    (partition,) = read.topics[0].partitions
    if version < 15:
        assert read.replica_id == 2
    else:
        state = read.replica_state
        assert (state.replica_id, state.replica_epoch) == (2, 77)
    assert partition.current_leader_epoch == 5
    assert partition.last_fetched_epoch == 4
    assert (partition.fetch_offset, partition.log_start_offset) == (100, 10)


def test_topics_come_in_the_order_of_their_first_partitions() -> None:
    request = fetch_request(2, 77, [B0, A1, A0])
    assert [(x.topic_id[:1], len(x.partitions)) for x in request.topics] == [
        (b"B", 1),
        (b"A", 2),
    ]


def test_a_refusal_of_the_whole_is_raised() -> None:
    with pytest.raises(NotLeaderOrFollower):
        answers_of(FetchResponse(error_code=6))


def test_the_end_is_asked_for_as_a_replica() -> None:
    request = end_request(2, A0, is_start=False)
    (partition,) = request.topics[0].partitions
    assert (request.replica_id, partition.timestamp) == (2, -1)
    assert partition.current_leader_epoch == 5
    (partition,) = end_request(2, A0, is_start=True).topics[0].partitions
    assert partition.timestamp == -2


def test_an_end_or_the_error() -> None:
    def answer(code: int) -> ListOffsetsResponse:
        end = ListOffsetsPartitionResponse(partition_index=0, error_code=code, offset=9)
        return ListOffsetsResponse(
            topics=[ListOffsetsTopicResponse(name="a", partitions=[end])]
        )

    assert end_of(answer(0)) == 9
    with pytest.raises(NotLeaderOrFollower):
        end_of(answer(6))
    with pytest.raises(UnknownTopicOrPartition):
        end_of(ListOffsetsResponse(topics=[]))
