from pathlib import Path
from typing import Any

from odradek.broker.handlers.records.describe_producers import (
    handle_describe_producers,
    refuse_describe_producers,
)
from odradek.broker.replica.appends import AppendTerms
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.txn_admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeProducersTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.producers.append_info import AppendOrigin
from tests.fakes.cluster import led_by
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import NOW_MS, Replicas, batch_of, marker_of, replicas

T0 = TopicPartition("t", 0)


def asking(*places: tuple[str, int]) -> DescribeProducersRequest:
    return DescribeProducersRequest(
        topics=[
            DescribeProducersTopic(name=topic, partition_indexes=[partition])
            for topic, partition in places
        ]
    )


async def answered(broker: Replicas, *places: tuple[str, int]) -> list[Any]:
    """The partitions of the answer, as they come out of its bytes."""
    answer = handle_describe_producers(broker.context(0), asking(*places))
    if not isinstance(answer, DescribeProducersResponse):
        answer = await answer
    decoded, _ = decoder(DescribeProducersResponse, 0)(memoryview(answer.encode(0)), 0)
    return [each for topic in decoded.topics for each in topic.partitions]


def append(
    broker: Replicas,
    batch: memoryview,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> None:
    answer = broker.manager.append_records(
        {T0: batch}, acks=1, timeout_ms=1000, terms=AppendTerms(origin)
    )
    assert answer[T0].error_code == 0


def transactional(*values: bytes, producer_id: int, **options: Any) -> memoryview:
    return batch_of(
        *values,
        producer_id=producer_id,
        producer_epoch=1,
        base_sequence=0,
        is_transactional=True,
        **options,
    )


def states(partition: Any) -> list[tuple[int, ...]]:
    return [
        (
            each.producer_id,
            each.producer_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.coordinator_epoch,
            each.current_txn_start_offset,
        )
        for each in partition.active_producers
    ]


async def test_what_the_log_knows_of_producers(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, batch_of(b"by nobody"))
        plain = batch_of(b"a", b"b", producer_id=5, producer_epoch=3, base_sequence=7)
        append(broker, plain)
        append(broker, transactional(b"c", producer_id=6))
        append(broker, transactional(b"d", producer_id=7))
        append(broker, marker_of(7, 2, commits=True), AppendOrigin.COORDINATOR)
        (partition,) = await answered(broker, T0)
        assert (partition.error_code, partition.error_message) == (0, None)
        assert states(partition) == [
            (5, 3, 8, NOW_MS, -1, -1),
            (6, 1, 0, NOW_MS, -1, 3),
            (7, 2, -1, NOW_MS, 0, -1),
        ]


async def test_each_partition_is_answered_in_order(tmp_path: Path) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        places = (("u", 0), T0, ("t", 1), ("t", -1), T0)
        found = await answered(broker, *places)
        codes = [(each.partition_index, each.error_code) for each in found]
        assert codes == [(0, unknown), (0, 0), (1, unknown), (-1, unknown), (0, 0)]
        assert found[0].error_message
        assert [each.active_producers for each in found] == [[]] * 5


async def test_only_the_leader_answers(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        broker.manager.partition(T0).make_follower(led_by(2, 2, replicas=(1, 2)))
        (partition,) = await answered(broker, T0)
        assert partition.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_log_that_was_not_used_yet_is_opened(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await broker.create_topic()
        append(broker, transactional(b"c", producer_id=6))
        await broker.commit()
    async with replicas(tmp_path, files) as broker:
        (partition,) = await answered(broker, T0)
        assert states(partition) == [(6, 1, 0, NOW_MS, -1, 0)]


def test_what_fails_as_a_whole_fails_for_every_partition() -> None:
    answer = refuse_describe_producers(
        asking(("a", 0), ("b", 3)), KafkaStorageError("gone")
    )
    assert [
        (topic.name, each.partition_index, each.error_code, each.error_message)
        for topic in answer.topics
        for each in topic.partitions
    ] == [("a", 0, 56, "gone"), ("b", 3, 56, "gone")]
    assert answer.encode(0)
