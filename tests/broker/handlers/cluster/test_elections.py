from pathlib import Path

import pytest

from odradek.broker.handlers.cluster.elections import refuse_elect_leaders
from odradek.protocol.errors import ErrorCode, InvalidRequest, KafkaStorageError
from odradek.protocol.messages.elections import ElectLeadersRequest, TopicPartitions
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.topics import topic_broker

PREFERRED, UNCLEAN = 0, 1


def of_t(*partitions: int, kind: int = PREFERRED) -> ElectLeadersRequest:
    named = [TopicPartitions(topic="t", partitions=list(partitions))]
    return ElectLeadersRequest(election_type=kind, topic_partitions=named)


async def test_everybody_has_a_leader(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("t", 2)
        for version in range(3):
            answer = await broker.ask(of_t(0, 9), version)
            [topic] = answer.replica_election_results
            assert [each.error_code for each in topic.partition_result] == [
                ErrorCode.ELECTION_NOT_NEEDED,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ]
        answer = await broker.ask(ElectLeadersRequest(topic_partitions=None), 2)
        [topic] = answer.replica_election_results
        assert (topic.topic, topic.partition_result) == ("t", [])


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (PREFERRED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
        (UNCLEAN, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
    ],
)
async def test_what_is_offline_gets_no_leader(
    tmp_path: Path, kind: int, code: int
) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("t", 1)
        broker.topics.offline.add(TopicPartition("t", 0))
        [topic] = (await broker.ask(of_t(0, kind=kind), 2)).replica_election_results
        assert topic.partition_result[0].error_code == code


async def test_there_are_two_kinds_of_elections(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        with pytest.raises(InvalidRequest):
            await broker.ask(of_t(0, kind=2), 2)


def test_a_refused_request_has_the_error_at_every_partition() -> None:
    refused = refuse_elect_leaders(of_t(0, 1), KafkaStorageError("no"))
    [topic] = refused.replica_election_results
    assert [each.error_message for each in topic.partition_result] == ["no", "no"]
    assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
