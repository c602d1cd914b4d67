from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.records.offset_for_leader_epoch import (
    handle_offset_for_leader_epoch,
    refuse_offset_for_leader_epoch,
)
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.list_offsets import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.cluster import led_by
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, batch_of, replicas

T0 = TopicPartition("t", 0)


def asking(
    *epochs: int, current: int = -1, partition: int = 0, **fields: Any
) -> OffsetForLeaderEpochRequest:
    wanted = [
        OffsetForLeaderPartition(
            partition=partition, current_leader_epoch=current, leader_epoch=epoch
        )
        for epoch in epochs
    ]
    topic = OffsetForLeaderTopic(topic=fields.pop("topic", "t"), partitions=wanted)
    return OffsetForLeaderEpochRequest(topics=[topic], **fields)


async def answers(
    broker: Replicas, asked: OffsetForLeaderEpochRequest, version: int = 4
) -> list[tuple[int, int, int]]:
    """Error, epoch and end offset of each."""
    answer = handle_offset_for_leader_epoch(broker.context(version), asked)
    if not isinstance(answer, OffsetForLeaderEpochResponse):
        answer = await answer
    data = memoryview(answer.encode(version))
    (topic,) = decoder(OffsetForLeaderEpochResponse, version)(data, 0)[0].topics
    return [
        (each.error_code, each.leader_epoch, each.end_offset)
        for each in topic.partitions
    ]


async def two_epochs(broker: Replicas) -> None:
    """Epoch 2 of two records, epoch 5 of one."""
    await broker.create_topic()
    partition = broker.manager.partition(T0)
    for epoch, count in ((2, 2), (5, 1)):
        partition.make_leader(led_by(1, 1, replicas=(1,), leader_epoch=epoch))
        for _ in range(count):
            entries = {T0: batch_of(b"v")}
            broker.manager.append_records(entries, acks=1, timeout_ms=1000)
    await broker.commit()


@pytest.mark.parametrize("version", [2, 3, 4])
async def test_where_epochs_ended(tmp_path: Path, version: int) -> None:
    async with replicas(tmp_path) as broker:
        await two_epochs(broker)
        assert await answers(broker, asking(0, 2, 3, 5, 6, -1), version) == [
            (0, 0, 0),
            (0, 2, 2),
            (0, 2, 2),
            (0, 5, 3),
            (0, -1, -1),
            (0, -1, -1),
        ]


async def refusal(broker: Replicas, current: int = -1, **fields: Any) -> int:
    (answer,) = await answers(broker, asking(2, current=current, **fields))
    assert answer[1:] == (-1, -1) or not answer[0]
    return answer[0]


async def test_t108_offset_for_leader_epoch_error_matrix(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await two_epochs(broker)
        assert await refusal(broker, current=4) == ErrorCode.FENCED_LEADER_EPOCH
        assert await refusal(broker, current=6) == ErrorCode.UNKNOWN_LEADER_EPOCH
        assert await refusal(broker, current=5) == ErrorCode.NONE
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await refusal(broker, topic="nope") == unknown
        assert await refusal(broker, partition=9) == unknown
        partition = broker.manager.partition(T0)
        partition.make_follower(led_by(2, leader_epoch=6))
        assert await refusal(broker) == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert await refusal(broker, current=5) == ErrorCode.FENCED_LEADER_EPOCH
        assert await refusal(broker, current=6) == ErrorCode.NOT_LEADER_OR_FOLLOWER
        partition.refuse(KafkaStorageError("its disk is gone"))
        assert await refusal(broker) == ErrorCode.KAFKA_STORAGE_ERROR
        assert await refusal(broker, current=4) == ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("replica_id", [-2, -1, 0, 7])
async def test_whoever_asks_is_answered(tmp_path: Path, replica_id: int) -> None:
    async with replicas(tmp_path) as broker:
        await two_epochs(broker)
        asked = asking(5, 5, replica_id=replica_id)
        assert await answers(broker, asked) == [(0, 5, 3)] * 2


async def test_what_no_consumer_sees_yet_is_told(tmp_path: Path) -> None:
    """So an operator can see what lies between high watermark and log end."""
    async with replicas(tmp_path) as broker:
        await two_epochs(broker)
        broker.manager.append_records({T0: batch_of(b"v")}, acks=1, timeout_ms=1000)
        assert broker.manager.partition(T0).view.high_watermark == 3
        assert await answers(broker, asking(5)) == [(0, 5, 4)]


async def test_a_partition_that_was_never_written(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        assert await answers(broker, asking(0, 1, -1)) == [
            (0, 0, 0),
            (0, -1, -1),
            (0, -1, -1),
        ]


async def test_a_log_that_was_not_used_yet_is_opened(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await two_epochs(broker)
    async with replicas(tmp_path, files) as broker:
        assert await answers(broker, asking(2)) == [(0, 2, 2)]


def test_a_request_that_fails_as_a_whole_names_every_partition() -> None:
    answer = refuse_offset_for_leader_epoch(asking(1), KafkaStorageError())
    assert answer.topics[0].partitions == [
        EpochEndOffset(partition=0, error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    ]
