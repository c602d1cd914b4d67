import pytest

from odradek.broker.cluster.fetchers.fetch_session_handler import Place, SessionRequest
from odradek.broker.cluster.fetchers.fetch_settings import fetch_settings
from odradek.broker.cluster.fetchers.leader_requests import (
    Asked,
    end_of,
    end_request,
    fetch_request,
)
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.protocol.errors import NotLeaderOrFollower, UnknownTopicOrPartition
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

A0 = Asked("a", b"A" * 16, 0, 5, 100, 4, 10, 1 << 20)
A1, B0 = A0._replace(partition=1), A0._replace(topic="b", topic_id=b"B" * 16)


def request_of(*asked: Asked, forgotten: list[Place] | None = None) -> FetchRequest:
    said = SessionRequest(9, 3, list(asked), forgotten or [])
    return fetch_request(2, 77, said, fetch_settings(BrokerConfig()))


@pytest.mark.parametrize("version", [13, 14, 15, 18])
def test_a_follower_says_who_it_is(version: int) -> None:
    request = request_of(A0)
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
    request = request_of(B0, A1, A0)
    assert [(x.topic_id[:1], len(x.partitions)) for x in request.topics] == [
        (b"B", 1),
        (b"A", 2),
    ]


def test_what_is_not_to_be_read_any_more_is_said_by_topic() -> None:
    a, b = A0.topic_id, B0.topic_id
    request = request_of(forgotten=[(a, 0), (b, 0), (a, 1)])
    read = FetchRequest.decode(request.encode(17), 17)
    assert (read.session_id, read.session_epoch) == (9, 3)
    found = [(x.topic_id[:1], x.partitions) for x in read.forgotten_topics_data]
    assert found == [(b"A", [0, 1]), (b"B", [0])]


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
