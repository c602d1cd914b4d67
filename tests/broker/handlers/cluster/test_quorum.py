from pathlib import Path

import pytest

from odradek.protocol.errors import (
    ErrorCode,
    InconsistentClusterId,
    InvalidRequest,
    KafkaError,
    UnsupportedVersion,
)
from odradek.protocol.messages.quorum import (
    AddRaftVoterRequest,
    DescribeQuorumRequest,
    QuorumPartition,
    QuorumTopic,
    RemoveRaftVoterRequest,
)
from tests.fakes.topics import topic_broker

A_DIRECTORY = bytes(15) + b"1"


def of(topic: str, number: int = 0) -> DescribeQuorumRequest:
    partition = QuorumPartition(partition_index=number)
    return DescribeQuorumRequest(
        topics=[QuorumTopic(topic_name=topic, partitions=[partition])]
    )


async def test_this_broker_is_all_of_the_quorum(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, node_id=3) as broker:
        await broker.topics.create_topic("t", 1)
        for version in range(3):
            answer = await broker.ask(of("__cluster_metadata"), version)
            [partition] = answer.topics[0].partitions
            [voter] = partition.current_voters
            assert (partition.leader_id, partition.leader_epoch) == (3, 1)
            assert partition.high_watermark == voter.log_end_offset == 1
            assert voter.replica_id == 3
            assert (voter.last_caught_up_timestamp > 0) == (version > 0)
        assert [each.node_id for each in answer.nodes] == [3]
        await broker.topics.create_topic("u", 1)
        answer = await broker.ask(of("__cluster_metadata"), 2)
        assert answer.topics[0].partitions[0].high_watermark == 2


@pytest.mark.parametrize(
    ("topic", "number"), [("t", 0), ("__cluster_metadata", 1), ("", 0)]
)
async def test_it_has_no_other_log(tmp_path: Path, topic: str, number: int) -> None:
    async with topic_broker(tmp_path) as broker:
        answer = await broker.ask(of(topic, number), 2)
        [partition] = answer.topics[0].partitions
        assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert answer.nodes == []


@pytest.mark.parametrize(
    ("cluster_id", "directory", "error"),
    [
        (None, A_DIRECTORY, UnsupportedVersion),
        ("another", A_DIRECTORY, InconsistentClusterId),
        (None, bytes(16), InvalidRequest),
    ],
)
async def test_nobody_else_can_vote(
    tmp_path: Path, cluster_id: str | None, directory: bytes, error: type[KafkaError]
) -> None:
    async with topic_broker(tmp_path) as broker:
        remove = RemoveRaftVoterRequest(
            cluster_id=cluster_id, voter_id=1, voter_directory_id=directory
        )
        with pytest.raises(error):
            await broker.ask(remove, 0)
        add = AddRaftVoterRequest(
            cluster_id=cluster_id, voter_id=2, voter_directory_id=directory
        )
        added = UnsupportedVersion if error is InvalidRequest else error
        with pytest.raises(added):
            await broker.ask(add, 1)
