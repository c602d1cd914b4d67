from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.fakes.topics import topic_broker


@pytest.mark.parametrize(
    ("topic", "number", "replicas", "code"),
    [
        ("t", 0, [1], 0),
        ("t", 0, None, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
        ("t", 0, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 0, [2], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 0, [1, 1], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("t", 9, [1], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("u", 0, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
async def test_a_partition_can_be_where_it_is(
    tmp_path: Path, topic: str, number: int, replicas: list[int] | None, code: int
) -> None:
    partition = ReassignablePartition(partition_index=number, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=topic, partitions=[partition])]
    )
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("t", 1)
        for version in (0, 1):
            answer = await broker.ask(request, version)
            assert (answer.error_code, answer.error_message) == (0, None)
            [result] = answer.responses[0].partitions
            assert (result.partition_index, result.error_code) == (number, code)
            silent = code in (0, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
            assert (result.error_message is None) == silent


async def test_nothing_moves(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("t", 1)
        request = ListPartitionReassignmentsRequest(topics=None)
        answer = await broker.ask(request, 0)
        assert (answer.error_code, answer.error_message, answer.topics) == (0, None, [])
