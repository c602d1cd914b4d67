import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.records.produce import (
    handle_produce,
    read_refused_produce,
    refuse_produce,
)
from odradek.broker.requests.registry import NO_RESPONSE, registered_handlers
from odradek.broker.runtime.parked import Parked
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import (
    ErrorCode,
    TransactionalIdAuthorizationFailed,
    UnsupportedVersion,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.record_batch import COMPRESSION_ZSTD
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import ZERO_UUID
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import NOW_MS, Replicas, batch_of, replicas

TRANSACTIONAL = {
    "producer_id": 7,
    "producer_epoch": 0,
    "base_sequence": 0,
    "is_transactional": True,
}


def request(
    *batches: tuple[str, int, Any], acks: int = 1, **fields: Any
) -> ProduceRequest:
    topics: dict[str, list[PartitionProduceData]] = {}
    for name, index, records in batches:
        data = PartitionProduceData(index=index, records=records)
        topics.setdefault(name, []).append(data)
    return ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(name=name, partition_data=data)
            for name, data in topics.items()
        ],
        **fields,
    )


def decoded(answer: Any, version: int) -> ProduceResponse:
    """The response; its body may be all that there is of it."""
    is_body = isinstance(answer, bytes)
    return ProduceResponse.decode(answer, version) if is_body else answer


async def produce(
    broker: Replicas, asked: ProduceRequest, version: int = 9, **context: Any
) -> list[PartitionProduceResponse]:
    """Every partition's answer; syncs when the answer waits for that."""
    answer = handle_produce(broker.context(version, **context), asked)
    if isinstance(answer, Parked):
        await broker.commit()
        answer = await answer
    answer = decoded(answer, version)
    answer.encode(version)
    return [each for topic in answer.responses for each in topic.partition_responses]


async def code_of(broker: Replicas, records: Any, version: int = 9) -> int:
    (answer,) = await produce(broker, request(("t", 0, records)), version)
    return answer.error_code


async def test_base_offsets_and_start_are_answered(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        for acks, offset in ((1, 0), (-1, 3)):
            asked = request(("t", 0, batch_of(b"a", b"b", b"c")), acks=acks)
            (answer,) = await produce(broker, asked)
            assert answer == PartitionProduceResponse(
                index=0, base_offset=offset, log_start_offset=0
            )


async def test_log_append_time_is_answered(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic(message_timestamp_type="LogAppendTime")
        (answer,) = await produce(broker, request(("t", 0, batch_of(b"v"))))
        assert answer.log_append_time_ms == NOW_MS


async def test_topics_are_called_by_id_from_version_13(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        topic = broker.topics.get("t")
        assert topic is not None
        asked = request(("", 0, batch_of(b"v")))
        asked.topic_data[0].topic_id = topic.topic_id
        answer = decoded(handle_produce(broker.context(13), asked), 13)
        assert answer.responses[0].topic_id == topic.topic_id
        assert answer.responses[0].partition_responses[0].error_code == 0
        for unknown in (ZERO_UUID, b"x" * 16):
            asked = request(("", 0, batch_of(b"v")))
            asked.topic_data[0].topic_id = unknown
            (answer,) = await produce(broker, asked, 13)
            assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_ID
            assert answer.base_offset == -1


async def test_t006_two_batches_in_one_partition_rejected(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic(partitions=2)
        two = bytes(batch_of(b"a")) + bytes(batch_of(b"b"))
        asked = request(("t", 0, memoryview(two)), ("t", 1, batch_of(b"c")))
        bad, good = await produce(broker, asked)
        assert bad.error_code == ErrorCode.INVALID_RECORD
        assert bad.log_start_offset == -1  # it was refused before the log was asked
        assert good.error_code == ErrorCode.NONE
        assert broker.manager.partition(TopicPartition("t", 0)).view.log_end_offset == 0


@pytest.mark.parametrize("index", [7, -1])
async def test_unknown_partitions(tmp_path: Path, index: int) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        asked = request(("t", index, batch_of(b"v")), ("nope", 0, batch_of(b"v")))
        for answer in await produce(broker, asked):
            assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert (answer.base_offset, answer.log_start_offset) == (-1, -1)


async def test_shapes_that_are_no_batch(tmp_path: Path) -> None:
    whole = bytes(batch_of(b"v"))
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        assert await code_of(broker, None) == ErrorCode.INVALID_RECORD
        assert await code_of(broker, memoryview(b"")) == ErrorCode.INVALID_RECORD
        assert await code_of(broker, whole[:-1]) == ErrorCode.INVALID_RECORD
        assert await code_of(broker, whole[:40]) == ErrorCode.INVALID_RECORD
        assert await code_of(broker, whole[:20]) == ErrorCode.INVALID_RECORD
        broken = whole[:-1] + bytes([whole[-1] ^ 1])
        assert await code_of(broker, broken) == ErrorCode.CORRUPT_MESSAGE
        assert await code_of(broker, whole + whole[:20]) == ErrorCode.NONE
        noise = bytes(range(255, 155, -1))
        assert await code_of(broker, noise) == ErrorCode.CORRUPT_MESSAGE


async def test_bad_records_are_named(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic(cleanup_policy="compact")
        (answer,) = await produce(broker, request(("t", 0, batch_of(b"v", key=None))))
        assert answer.error_code == ErrorCode.INVALID_RECORD
        assert [error.batch_index for error in answer.record_errors] == [0]
        assert answer.log_start_offset == 0
        assert answer.error_message is not None


async def test_the_same_partition_twice_is_refused_and_answered_once(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic(partitions=2)
        asked = request(
            ("t", 0, batch_of(b"a")), ("t", 0, batch_of(b"b")), ("t", 1, batch_of(b"c"))
        )
        again = asked.topic_data[0].partition_data[:1]
        asked.topic_data.append(TopicProduceData(name="t", partition_data=again))
        answer = handle_produce(broker.context(9), asked)
        (topic,) = answer.responses
        refused, stored = topic.partition_responses
        assert refused.error_code == ErrorCode.INVALID_REQUEST
        assert stored.error_code == ErrorCode.NONE
        assert broker.manager.partition(TopicPartition("t", 0)).view.log_end_offset == 0


async def test_zstd_needs_version_7(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        batch = batch_of(b"v" * 100, compression=COMPRESSION_ZSTD)
        refused = await code_of(broker, bytes(batch), version=6)
        assert refused == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert await code_of(broker, batch, version=7) == ErrorCode.NONE


async def test_a_transactional_batch_needs_a_transactional_id(tmp_path: Path) -> None:
    """As Apache Kafka answers: for every partition of the request."""
    async with replicas(tmp_path) as broker:
        await broker.create_topic(partitions=2)
        batches = [("t", 0, batch_of(b"v", **TRANSACTIONAL)), ("t", 1, batch_of(b"v"))]
        for version in (9, 12):
            asked = request(*batches)
            with pytest.raises(TransactionalIdAuthorizationFailed) as error:
                handle_produce(broker.context(version), asked)
            refused = refuse_produce(asked, error.value)
            assert refused is not None
            (topic,) = refused.responses
            assert [each.error_code for each in topic.partition_responses] == [53, 53]
        for index in (0, 1):
            partition = broker.manager.partition(TopicPartition("t", index))
            assert partition.view.log_end_offset == 0


async def test_internal_topics_are_for_the_admin_client(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("__consumer_offsets")
        batch = bytes(batch_of(b"v"))
        asked = request(("__consumer_offsets", 0, batch))
        (answer,) = await produce(broker, asked)
        assert answer.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        (answer,) = await produce(broker, asked, client_id="__admin_client")
        assert answer.error_code == ErrorCode.NONE


async def test_acks_0_is_never_answered_and_an_error_closes(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        fine = request(("t", 0, batch_of(b"v")), acks=0)
        assert handle_produce(broker.context(9), fine) is NO_RESPONSE
        assert broker.closed_count == 0
        bad = request(("nope", 0, batch_of(b"v")), acks=0)
        assert handle_produce(broker.context(9), bad) is NO_RESPONSE
        assert broker.closed_count == 1
        nothing = request(("t", 0, None), acks=0)
        assert handle_produce(broker.context(9), nothing) is NO_RESPONSE
        assert broker.closed_count == 2


async def test_a_request_without_topics_is_answered(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        for acks in (1, -1):
            assert handle_produce(broker.context(9), request(acks=acks)).responses == []


async def test_one_good_partition_and_one_unknown_topic_with_acks_all(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        asked = request(("nope", 0, batch_of(b"v")), ("t", 0, batch_of(b"v")), acks=-1)
        unknown, stored = await produce(broker, asked)
        assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert stored.error_code == ErrorCode.NONE


async def test_a_log_on_disk_is_opened_first(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await broker.create_topic()
        await produce(broker, request(("t", 0, batch_of(b"v")), acks=-1))
    for acks, end in ((1, 2), (-1, 3)):
        async with replicas(tmp_path, files) as broker:
            asked = request(("t", 0, batch_of(b"v")), acks=acks)
            task = asyncio.ensure_future(handle_produce(broker.context(9), asked))
            partition = broker.manager.partition(TopicPartition("t", 0))
            while partition.view.log_end_offset < end:
                await broker.threads.run(int)
            await broker.commit()
            answer = await task
            answer = decoded(await answer if acks < 0 else answer, 9)
            assert answer.responses[0].partition_responses[0].error_code == 0


async def test_old_versions_are_advertised_and_refused() -> None:
    handler = registered_handlers()[ApiKey.PRODUCE]
    assert (handler.min_version, handler.max_version) == (3, 13)
    assert (handler.advertised_min, handler.advertised_max) == (0, 13)
    modern = request(("t", 3, batch_of(b"v"))).encode(3)
    old = memoryview(b"head" + modern[2:])  # without the transactional id
    read, end = read_refused_produce(old, 4)
    assert end == len(old)
    answer = refuse_produce(read, UnsupportedVersion())
    assert answer is not None
    assert answer.responses[0].name == "t"
    (refused,) = answer.responses[0].partition_responses
    assert (refused.index, refused.error_code) == (3, ErrorCode.UNSUPPORTED_VERSION)
    for version in (0, 1, 2):
        assert answer.encode(version)
    assert refuse_produce(request(acks=0), UnsupportedVersion()) is None
