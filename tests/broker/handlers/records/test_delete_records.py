import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.records.delete_records import (
    handle_delete_records,
    refuse_delete_records,
)
from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.broker.handlers.records.list_offsets import handle_list_offsets
from odradek.broker.handlers.records.produce import handle_produce
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.answers import fetched
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, base_offsets, batch_of, replicas

T0 = TopicPartition("t", 0)


def request(*wanted: tuple[int, int], name: str = "t") -> DeleteRecordsRequest:
    """A request with (partition, offset) pairs of one topic."""
    partitions = [
        DeleteRecordsPartition(partition_index=partition, offset=offset)
        for partition, offset in wanted
    ]
    topic = DeleteRecordsTopic(name=name, partitions=partitions)
    return DeleteRecordsRequest(topics=[topic], timeout_ms=1000)


async def ask(
    broker: Replicas, asked: DeleteRecordsRequest, version: int = 2
) -> list[DeleteRecordsTopic]:
    answer = handle_delete_records(broker.context(version), asked)
    if not isinstance(answer, DeleteRecordsResponse):
        answer = await answer
    data = memoryview(answer.encode(version))
    return decoder(DeleteRecordsResponse, version)(data, 0)[0].topics


def result(
    low_watermark: int, partition: int = 0, error_code: int = ErrorCode.NONE
) -> Any:
    return DeleteRecordsPartitionResult(
        partition_index=partition, low_watermark=low_watermark, error_code=error_code
    )


async def fill(broker: Replicas, count: int = 5, partitions: int = 1) -> None:
    await broker.create_topic(partitions=partitions)
    for _ in range(count):
        for number in range(partitions):
            entries = {TopicPartition("t", number): batch_of(b"v")}
            broker.manager.append_records(entries, acks=1, timeout_ms=1000)
    await broker.commit()


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_every_partition_is_answered(tmp_path: Path, version: int) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker, partitions=2)
        asked = request((0, 2), (1, -1), (7, 0))
        asked.topics += request((0, 0), name="nope").topics
        known, unknown = await ask(broker, asked, version)
        no_such = result(-1, 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        assert known.partitions == [result(2), result(5, 1), no_such]
        assert unknown.name == "nope"
        assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def write(broker: Replicas, number: int = 0) -> None:
    """Another record, which acks=1 has acknowledged and nobody has synced."""
    entries = {TopicPartition("t", number): batch_of(b"v")}
    results = broker.manager.append_records(entries, acks=1, timeout_ms=1000)
    assert [each.error_code for each in results.values()] == [ErrorCode.NONE]


@pytest.mark.parametrize("offset", [-1, 6])
async def test_what_is_not_durable_yet_can_be_forgotten(
    tmp_path: Path, offset: int
) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker, partitions=2)
        write(broker)
        answer = asyncio.create_task(ask(broker, request((0, offset), (1, -1))))
        await asyncio.sleep(0)
        assert not answer.done()
        await broker.commit()
        (topic,) = await answer
        assert topic.partitions == [result(6), result(5, 1)]
        assert broker.log_of(T0).log_start_offset == 6


async def test_what_was_visible_before_waits_for_no_sync_of_newer_records(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker)
        write(broker)
        asked = request((0, 2), (1, -1))
        answer = handle_delete_records(broker.context(2), asked)
        assert broker.log_of(T0).log_start_offset == 2
        assert (await answer).topics[0].partitions[0] == result(2)
        (topic,) = await ask(broker, request((0, 7)))
        assert topic.partitions == [result(-1, 0, ErrorCode.OFFSET_OUT_OF_RANGE)]


async def test_with_a_slow_disk_nothing_is_forgotten(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker, partitions=2)
        write(broker)
        answer = asyncio.create_task(ask(broker, request((0, -1), (1, -1))))
        await asyncio.sleep(0)
        broker.clock.advance(6000)
        (topic,) = await answer
        refused = result(-1, 0, ErrorCode.REQUEST_TIMED_OUT)
        assert sorted(topic.partitions, key=lambda x: x.partition_index) == [
            refused,
            result(5, 1),
        ]
        assert broker.log_of(T0).log_start_offset == 0


async def test_of_a_partition_that_is_named_twice_the_last_counts(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker)
        asked = request((0, 4), (0, 1))
        asked.topics += request((0, 2)).topics
        (topic,) = await ask(broker, asked)
        assert topic.partitions == [result(2)]


async def test_a_log_that_was_not_used_yet_is_opened(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await fill(broker)
    async with replicas(tmp_path, files) as broker:
        (topic,) = await ask(broker, request((0, 3)))
        assert topic.partitions == [result(3)]
    async with replicas(tmp_path, files) as broker:
        (topic,) = await ask(broker, request((0, 1)))
        assert topic.partitions == [result(3)], "after a clean stop, too"


async def test_a_request_without_topics_is_answered(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        assert await ask(broker, DeleteRecordsRequest(timeout_ms=0)) == []


async def test_everybody_is_told_where_the_log_begins(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await fill(broker)
        await ask(broker, request((0, 3)))
        context = broker.context(11)
        first = ListOffsetsPartition(partition_index=0, timestamp=-2)
        asked = ListOffsetsTopic(name="t", partitions=[first])
        found = handle_list_offsets(
            context, ListOffsetsRequest(replica_id=-1, topics=[asked])
        )
        assert found.topics[0].partitions[0].offset == 3
        assert read_from(broker, 2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1, [])
        assert read_from(broker, 3) == (ErrorCode.NONE, 3, [3, 4])
        assert produced(broker) == 3


def read_from(broker: Replicas, offset: int) -> tuple[int, int, list[int]]:
    """The error, the log start and the batches that a fetch gets."""
    at = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1000)
    topic = FetchTopic(topic="t", partitions=[at])
    asked = FetchRequest(max_wait_ms=0, min_bytes=1, topics=[topic])
    answer = fetched(handle_fetch(broker.context(11), asked), 11)
    (data,) = answer.responses[0].partitions
    return data.error_code, data.log_start_offset, base_offsets(data.records)


def produced(broker: Replicas) -> int:
    """The log start that a producer is told."""
    data = PartitionProduceData(index=0, records=batch_of(b"v"))
    topic = TopicProduceData(name="t", partition_data=[data])
    asked = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
    body = handle_produce(broker.context(9), asked)
    answer, _ = decoder(ProduceResponse, 9)(memoryview(body), 0)
    log_start: int = answer.responses[0].partition_responses[0].log_start_offset
    return log_start


def test_a_request_that_fails_as_a_whole_names_every_partition() -> None:
    answer = refuse_delete_records(request((0, 1), (1, 1)), KafkaStorageError())
    code = ErrorCode.KAFKA_STORAGE_ERROR
    assert answer.topics[0].partitions == [result(-1, 0, code), result(-1, 1, code)]
