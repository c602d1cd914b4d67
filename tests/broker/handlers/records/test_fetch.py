import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.records.fetch import Fetch, handle_fetch
from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.broker.replica.partition.fetch_reader import FetchResult
from odradek.broker.replica.partition.replication import Replication
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import ZERO_UUID
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.answers import fetched
from tests.fakes.cluster import led_by
from tests.fakes.files import FakeFiles
from tests.fakes.led_with_another import OTHER, US, LedWithAnother
from tests.fakes.replicas import Replicas, base_offsets, batch_of, marker_of, replicas


def request(
    *wanted: tuple[str, FetchPartition], max_wait_ms: int = 0, **fields: Any
) -> FetchRequest:
    topics: dict[str, list[FetchPartition]] = {}
    for name, partition in wanted:
        topics.setdefault(name, []).append(partition)
    fields.setdefault("min_bytes", 1)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        topics=[
            FetchTopic(topic=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
        **fields,
    )


def at(offset: int = 0, partition: int = 0, **fields: Any) -> FetchPartition:
    fields.setdefault("partition_max_bytes", 1 << 20)
    return FetchPartition(partition=partition, fetch_offset=offset, **fields)


def fetch(
    broker: Replicas, asked: FetchRequest, version: int = 12
) -> list[PartitionData]:
    answer = fetched(handle_fetch(broker.context(version), asked), version)
    assert (answer.error_code, answer.session_id) == (0, 0)
    return [each for topic in answer.responses for each in topic.partitions]


async def filled(broker: Replicas, batches: int = 3, partitions: int = 1) -> None:
    await broker.create_topic(partitions=partitions)
    for number in range(partitions):
        for _ in range(batches):
            broker.manager.append_records(
                {TopicPartition("t", number): batch_of(b"v")}, acks=1, timeout_ms=1000
            )
    await broker.commit()


@pytest.mark.parametrize("version", range(4, 13))
async def test_records_are_answered_in_every_version(
    tmp_path: Path, version: int
) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        (data,) = fetch(broker, request(("t", at(1))), version)
        assert base_offsets(data.records) == [1, 2]
        assert (data.high_watermark, data.last_stable_offset) == (3, 3)
        assert data.aborted_transactions is None


@pytest.mark.parametrize("version", range(13, 19))
async def test_topics_are_called_by_id_from_version_13(
    tmp_path: Path, version: int
) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        topic = broker.topics.get("t")
        assert topic is not None
        ids = [topic.topic_id, ZERO_UUID, b"x" * 16]
        asked = request()
        asked.topics = [FetchTopic(topic_id=each, partitions=[at()]) for each in ids]
        answer = fetched(handle_fetch(broker.context(version), asked), version)
        assert [each.topic_id for each in answer.responses] == ids
        error_codes = [each.partitions[0].error_code for each in answer.responses]
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
        assert error_codes == [ErrorCode.NONE, unknown, unknown]


async def test_a_topic_that_is_named_twice_is_answered_once(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        asked = request(("t", at(0)), ("t", at(2)))
        asked.topics.append(FetchTopic(topic="t", partitions=[at(1)]))
        (data,) = fetch(broker, asked)
        assert base_offsets(data.records) == [1, 2]


async def test_max_bytes_of_0_still_give_the_first_batch(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, partitions=2)
        for max_bytes in (0, -5):
            asked = request(
                ("t", at(partition_max_bytes=0)),
                ("t", at(partition=1)),
                max_bytes=max_bytes,
            )
            first, second = fetch(broker, asked)
            assert base_offsets(first.records) == [0]
            assert bytes(second.records or b"") == b""


async def test_the_broker_has_a_cap_of_its_own(tmp_path: Path) -> None:
    async with replicas(tmp_path, fetch_max_bytes=1024) as broker:
        await filled(broker, batches=100)
        (data,) = fetch(broker, request(("t", at())))
        assert len(data.records or b"") == 1024


async def test_impossible_questions(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        (data,) = fetch(broker, request(("t", at(partition_max_bytes=-1))))
        assert data.error_code == ErrorCode.INVALID_REQUEST
        (data,) = fetch(broker, request(("t", at()), isolation_level=5))
        assert data.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("version", "replica"), [(12, {"replica_id": 3}), (15, {})])
async def test_other_brokers_have_no_copies(
    tmp_path: Path, version: int, replica: dict[str, int]
) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        topic = broker.topics.get("t")
        assert topic is not None
        for epoch, error in (
            (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
            (0, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ):
            asked = request(("t", at(current_leader_epoch=epoch)), **replica)
            asked.topics[0].topic_id = topic.topic_id
            asked.replica_state = ReplicaState(replica_id=3)
            (data,) = fetch(broker, asked, version)
            assert data.error_code == error
        asked.topics[0].partitions[0].partition = 99
        (data,) = fetch(broker, asked, version)
        assert data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_diverging_epoch_is_answered(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        (data,) = fetch(broker, request(("t", at(9, last_fetched_epoch=0))))
        assert data.error_code == ErrorCode.NONE
        assert data.diverging_epoch == EpochEndOffset(epoch=0, end_offset=3)
        (data,) = fetch(broker, request(("t", at(2, last_fetched_epoch=5))))
        assert data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_read_committed_answers_carry_a_list(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        (data,) = fetch(broker, request(("t", at()), isolation_level=1))
        assert data.aborted_transactions == []


@pytest.mark.parametrize("version", [4, 11, 12])
async def test_aborted_transactions_are_named(tmp_path: Path, version: int) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        transactional = batch_of(
            b"v",
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        for batch in (batch_of(b"v"), transactional, marker_of(7, commits=False)):
            broker.manager.append_records(
                {TopicPartition("t", 0): batch},
                acks=1,
                timeout_ms=1000,
                terms=OF_A_COORDINATOR,
            )
        await broker.commit()
        for isolation_level, named in (
            (0, None),
            (1, [AbortedTransaction(producer_id=7, first_offset=1)]),
        ):
            asked = request(("t", at()), isolation_level=isolation_level)
            read = fetched(handle_fetch(broker.context(version), asked), version)
            assert read.responses[0].partitions[0].aborted_transactions == named


async def test_from_version_11_on_a_follower_may_answer(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        partition = broker.manager.partition(TopicPartition("t", 0))
        partition.make_follower(led_by(2, leader_epoch=3))
        (data,) = fetch(broker, request(("t", at())), 10)
        assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        (data,) = fetch(broker, request(("t", at())), 11)
        assert base_offsets(data.records) == [0, 1, 2]
        (data,) = fetch(broker, request(("t", at(current_leader_epoch=2))), 11)
        assert data.error_code == ErrorCode.FENCED_LEADER_EPOCH


async def test_it_waits_for_records(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker)
        waiting = handle_fetch(
            broker.context(12), request(("t", at(3)), max_wait_ms=500)
        )
        assert isinstance(waiting, Parked)
        broker.clock.advance(600)
        answer = fetched(await waiting, 12)
        records = answer.responses[0].partitions[0].records
        assert not records


async def test_no_topics_no_wait(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        assert fetch(broker, request(max_wait_ms=500)) == []


async def test_a_log_on_disk_is_opened_first(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await filled(broker)
    async with replicas(tmp_path, files) as broker:
        asked = request(("t", at()))
        answer = fetched(await handle_fetch(broker.context(12), asked), 12)
        assert base_offsets(answer.responses[0].partitions[0].records) == [0, 1, 2]
    async with replicas(tmp_path, files) as broker:
        asked = request(("t", at(3)), max_wait_ms=500)
        task = asyncio.ensure_future(handle_fetch(broker.context(12), asked))
        while not broker.manager.fetches.delayed_count:
            await broker.threads.run(int)
        broker.clock.advance(600)
        answer = fetched(await task, 12)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE


async def test_a_follower_does_not_wait_for_a_log_that_is_not_open(
    tmp_path: Path,
) -> None:
    """It may follow other partitions by the same request."""
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await filled(broker)
    async with replicas(tmp_path, files) as broker:
        LedWithAnother(broker, TopicPartition("t", 0))
        asked = request(("t", at()), replica_id=2)
        (found,) = fetch(broker, asked)
        assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        await broker.manager.open([TopicPartition("t", 0)])  # it is under way
        (found,) = fetch(broker, asked)
        assert base_offsets(found.records) == [0, 1, 2]


async def test_what_a_follower_asked_for_in_an_earlier_epoch_says_nothing(
    tmp_path: Path,
) -> None:
    """While the disk is read, another leader epoch may begin."""
    place = TopicPartition("t", 0)
    async with replicas(tmp_path) as broker:
        await filled(broker)
        led = LedWithAnother(broker, place)
        epoch = led.partition.leadership.epoch
        asked = request(("t", at(current_leader_epoch=epoch)), replica_id=OTHER)
        found = Fetch(broker.context(12), asked)
        led.elect(OTHER)
        led.elect(US)
        read = FetchResult(ErrorCode.NONE, offset_metadata=OffsetMetadata(3))
        found.follower.note(found.wanted, [read])
        assert isinstance(led.partition.replication, Replication)
        follower = led.partition.replication.followers[OTHER]
        assert follower.end.offset < 3
        later = Fetch(broker.context(12), request(("t", at()), replica_id=OTHER))
        later.follower.note(later.wanted, [read])
        assert follower.end.offset == 3
        broker.manager.asked_for.clear()
        later.follower.note(later.wanted, [read])  # nobody has it any more
