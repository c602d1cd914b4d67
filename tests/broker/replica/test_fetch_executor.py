import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.partition.fetch_reader import (
    FetchParams,
    FetchResult,
    PartitionFetch,
)
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.replicas import Replicas, base_offsets, batch_of, replicas

SIZE = len(batch_of(b"v"))


def append(broker: Replicas, topic_partition: TopicPartition, count: int = 1) -> None:
    for _ in range(count):
        results = broker.manager.append_records(
            {topic_partition: batch_of(b"v")}, acks=1, timeout_ms=1000
        )
        assert results[topic_partition].error_code == ErrorCode.NONE


def fetch(
    broker: Replicas,
    *wanted: PartitionFetch,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
) -> Any:
    params = FetchParams(isolation, max_wait_ms, min_bytes, max_bytes)
    return broker.manager.fetch_records(params, wanted)


def fetch_one(broker: Replicas, wanted: PartitionFetch) -> FetchResult:
    params = FetchParams(FetchIsolation.HIGH_WATERMARK, 500, 1, 1 << 20)
    (result,) = broker.manager.fetch_executor.fetch_one(params, wanted, list)
    assert isinstance(result, FetchResult)
    return result


def at(
    topic_partition: TopicPartition,
    offset: int = 0,
    max_bytes: int = 1 << 20,
    **more: int,
) -> PartitionFetch:
    return PartitionFetch(topic_partition, offset, max_bytes, **more)


def offsets(results: list[FetchResult]) -> list[list[int]]:
    return [base_offsets(result.records) for result in results]


async def test_what_is_there_is_answered_at_once(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        append(broker, t0, 3)
        await broker.commit()
        (result,) = fetch(broker, at(t0, 1))
        assert base_offsets(result.records) == [1, 2]
        assert (result.high_watermark, result.last_stable_offset) == (3, 3)
        assert result.log_start_offset == 0
        assert result.aborted is None


async def test_a_partition_that_was_never_written_ends_at_0(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        committed = FetchIsolation.TXN_COMMITTED
        (result,) = fetch(broker, at(t0), max_wait_ms=0, isolation=committed)
        assert result[:4] == (ErrorCode.NONE, 0, 0, 0)
        assert (bytes(result.records), result.aborted) == (b"", [])
        (result,) = fetch(broker, at(t0, 1))
        assert result.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert not broker.logs.logs(), "reading makes no files"


async def test_a_fetch_is_woken_when_the_record_is_durable(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        waiting = fetch(broker, at(t0))
        append(broker, t0)
        assert not waiting.done()
        await broker.commit()
        assert offsets(await waiting) == [[0]]


async def test_those_who_wait_for_the_same_share_what_is_read(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        first, second = fetch(broker, at(t0)), fetch(broker, at(t0))
        short = fetch(broker, at(t0, max_bytes=SIZE + 10))
        patient = fetch(broker, at(t0), min_bytes=3 * SIZE)
        append(broker, t0, 2)
        await broker.commit()
        results = await first
        assert await second is results
        assert offsets(results) == [[0, 1]]
        assert len((await short)[0].records) == SIZE + 10
        assert not patient.done()
        append(broker, t0)
        await broker.commit()
        assert offsets(await patient) == [[0, 1, 2]]
        log = broker.logs.get(t0)
        assert log is not None
        assert log.fetched_bytes == (2 + 2 + 1 + 3) * SIZE + 10


async def test_what_one_check_has_read_is_not_kept_for_another(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        append(broker, t0)
        first = fetch(broker, at(t0), min_bytes=2 * SIZE)
        append(broker, t0)
        await broker.commit()
        assert offsets(await first) == [[0, 1]]
        second = fetch(broker, at(t0), min_bytes=3 * SIZE)
        broker.clock.advance(20)
        third = fetch(broker, at(t0), min_bytes=3 * SIZE)
        broker.clock.advance(510)
        results = await second
        assert offsets(results) == [[0, 1]]
        assert await third is not results, "nothing says that no append was between"


async def test_the_wait_ends_with_what_is_there(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        append(broker, t0)
        await broker.commit()
        waiting = fetch(broker, at(t0), min_bytes=10 * SIZE)
        broker.clock.advance(499)
        assert not waiting.done()
        broker.clock.advance(10)
        assert offsets(await waiting) == [[0]]


async def test_min_bytes_counts_all_partitions(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(partitions=2)
        t1 = TopicPartition("t", 1)
        waiting = fetch(broker, at(t0), at(t1), min_bytes=3 * SIZE)
        append(broker, t0)
        await broker.commit()
        append(broker, t0)
        await broker.commit()
        assert not waiting.done()
        append(broker, t1)
        await broker.commit()
        assert offsets(await waiting) == [[0, 1], [0]]


async def test_t034_consumer_between_hw_and_leo_empty_without_error(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        append(broker, t0, 3)
        (result,) = fetch(broker, at(t0, 2), max_wait_ms=0)
        assert (result.error_code, bytes(result.records)) == (ErrorCode.NONE, b"")
        assert result.high_watermark == 0
        waiting = fetch(broker, at(t0, 2))
        assert not waiting.done(), "asking again at once would bring nothing either"
        await broker.commit()
        assert offsets(await waiting) == [[2]]


@pytest.mark.parametrize(
    "isolation", [FetchIsolation.HIGH_WATERMARK, FetchIsolation.TXN_COMMITTED]
)
async def test_no_offset_up_to_the_log_end_is_out_of_range(
    tmp_path: Path, isolation: FetchIsolation
) -> None:
    async with replicas(tmp_path, stops_cleanly=False) as broker:
        t0 = await broker.create_topic()
        append(broker, t0, 2)
        await broker.commit()
        append(broker, t0, 2)

        def codes() -> list[int]:
            asked = [at(t0, offset) for offset in range(2, 6)]
            found = [
                fetch(broker, x, max_wait_ms=0, isolation=isolation) for x in asked
            ]
            assert not any(len(result.records) for (result,) in found)
            return [result.error_code for (result,) in found]

        beyond = [0, 0, 0, ErrorCode.OFFSET_OUT_OF_RANGE]
        assert codes() == beyond
        broker.files.fail("sync")
        broker.sync()
        assert codes() == beyond, "nobody is sent to the beginning for it"


async def test_t036_incomplete_first_batch_becomes_empty(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(partitions=2)
        t1 = TopicPartition("t", 1)
        append(broker, t0)
        append(broker, t1)
        await broker.commit()
        results = fetch(broker, at(t0), at(t1), max_bytes=SIZE + 10)
        assert [len(result.records) for result in results] == [SIZE, 0]
        (whole,) = fetch(broker, at(t0, max_bytes=1))
        assert len(whole.records) == SIZE, "the first batch comes whatever its size"


async def test_a_later_batch_is_cut_at_the_limit(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        append(broker, t0, 3)
        await broker.commit()
        (result,) = fetch(broker, at(t0, max_bytes=2 * SIZE + 10))
        assert len(result.records) == 2 * SIZE + 10


async def test_t037_partition_order_decides_budget(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic(partitions=3)
        all_three = [TopicPartition("t", number) for number in range(3)]
        for each in all_three:
            append(broker, each, 2)
        await broker.commit()

        def sizes(order: list[TopicPartition]) -> dict[int, int]:
            results = fetch(broker, *map(at, order), max_bytes=3 * SIZE)
            return {
                each.partition: len(result.records)
                for each, result in zip(order, results, strict=True)
            }

        assert sizes(all_three) == {0: 2 * SIZE, 1: SIZE, 2: 0}
        rotated = all_three[1:] + all_three[:1]
        assert sizes(rotated) == {1: 2 * SIZE, 2: SIZE, 0: 0}


async def test_t131_delayed_fetch_roll_without_data_does_not_complete(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        append(broker, t0)
        await broker.commit()
        waiting = fetch(broker, at(t0, 1), min_bytes=100 * SIZE)
        broker.log_of(t0).roll(broker.clock.now_ms())
        partition = broker.manager.partition(t0)
        broker.manager.check_waiting(partition)
        assert not waiting.done()
        append(broker, t0)
        await broker.commit()
        assert offsets(await waiting) == [[1]], "the end is in a newer segment"


async def test_t132_delayed_fetch_counts_partition_max_bytes_cap(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(partitions=2)
        t1 = TopicPartition("t", 1)
        capped = at(t0, max_bytes=SIZE)
        waiting = fetch(broker, capped, at(t1), min_bytes=2 * SIZE)
        append(broker, t0, 10)
        await broker.commit()
        assert not waiting.done(), "ten batches count as the one it would give"
        append(broker, t1)
        await broker.commit()
        assert offsets(await waiting) == [[0], [0]]


async def test_t133_read_committed_delayed_fetch_not_completed_by_uncommitted_data(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        committed = FetchIsolation.TXN_COMMITTED
        plain = fetch(broker, at(t0))
        waiting = fetch(broker, at(t0), isolation=committed)
        open_batch = batch_of(
            b"v",
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
        broker.manager.append_records({t0: open_batch}, acks=1, timeout_ms=1000)
        await broker.commit()
        assert offsets(await plain) == [[0]]
        assert not waiting.done()
        broker.clock.advance(600)
        (result,) = await waiting
        assert (bytes(result.records), result.aborted) == (b"", [])
        assert (result.high_watermark, result.last_stable_offset) == (1, 0)


async def test_a_deleted_partition_wakes_its_fetches(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        waiting = fetch(broker, at(t0))
        topic = broker.topics.get("t")
        assert topic is not None
        await broker.topics.begin_deletions([topic.topic_id])
        await broker.manager.stop([t0])
        (result,) = await waiting
        assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_new_epoch_wakes_fetches_that_name_the_old_one(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        waiting = fetch(broker, at(t0, current_leader_epoch=0))
        partition = broker.manager.partition(t0)
        partition.leadership.epoch = 1
        broker.manager.check_waiting(partition)
        (result,) = await waiting
        assert result.error_code == ErrorCode.FENCED_LEADER_EPOCH


async def test_an_error_or_a_divergence_is_answered_at_once(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        results = fetch(broker, at(t0), at(TopicPartition("nope", 0)))
        assert [result.error_code for result in results] == [
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]


async def test_a_reader_of_the_log_end_is_woken_by_the_append(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        waiting = fetch(broker, at(t0), isolation=FetchIsolation.LOG_END)
        partition = broker.manager.partition(t0)
        assert partition.log_end_fetch_count == 1
        append(broker, t0)
        assert offsets(await waiting) == [[0]]
        assert partition.log_end_fetch_count == 0


async def test_a_fetch_gets_its_share_of_the_memory_and_one_batch_at_least(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(partitions=2)
        t1 = TopicPartition("t", 1)
        append(broker, t0, 8)
        append(broker, t1, 8)
        await broker.commit()
        broker.answers.share = 3 * SIZE
        assert offsets(fetch(broker, at(t0), at(t1))) == [[0, 1, 2], []]
        one = fetch_one(broker, at(t0, 4))
        assert base_offsets(one.records) == [4, 5, 6]
        broker.answers.share = 0
        assert offsets(fetch(broker, at(t0), at(t1))) == [[0], []]
        assert base_offsets(fetch_one(broker, at(t0, 4)).records) == [4]
        waiting = fetch(broker, at(t0, 8), at(t1, 2), min_bytes=100 * SIZE)
        append(broker, t0, 3)
        await broker.commit()
        broker.answers.share = 2 * SIZE
        broker.clock.advance(600)
        assert offsets(await waiting) == [[8, 9], []]


async def test_what_fetches_read_when_their_time_is_over_counts_until_it_is_sent(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        for _ in range(3):
            large = batch_of(bytes(50_000))  # the log keeps it
            broker.manager.append_records({t0: large}, acks=1, timeout_ms=1000)
        append(broker, t0)
        await broker.commit()
        waiting = [
            fetch(broker, at(t0, offset), min_bytes=1 << 20) for offset in (0, 1, 3)
        ]
        assert broker.answers.used == 0
        broker.clock.advance(600)
        assert broker.answers.used == 5 * len(large) + 2 * SIZE, "not the small one"
        assert [offsets(await each) for each in waiting] == [
            [[0, 1, 2, 3]],
            [[1, 2, 3]],
            [[3]],
        ]
        await asyncio.sleep(0)
        assert broker.answers.used == 0
