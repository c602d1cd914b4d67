import asyncio
import errno
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.replica.appends import OF_A_COORDINATOR, AppendTerms
from odradek.broker.replica.logs.free_space import FreeSpace
from odradek.broker.replica.partition.view import Until
from odradek.broker.replica.waiting.delayed_produce import AppendResult
from odradek.protocol.errors import ErrorCode, UnknownTopicOrPartition
from odradek.protocol.record_batch import COMPRESSION_ZSTD
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.cluster import FakeCluster, led_by
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas


def append(
    broker: Replicas, *topic_partitions: TopicPartition, acks: int = -1, **options: Any
) -> Any:
    entries = {each: batch_of(b"v") for each in topic_partitions}
    options.setdefault("timeout_ms", 30_000)
    return broker.manager.append_records(entries, acks=acks, **options)


def codes(results: dict[TopicPartition, AppendResult]) -> list[int]:
    return [result.error_code for result in results.values()]


async def test_acks_1_is_answered_after_the_write(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        results = append(broker, t0, acks=1)
        assert results[t0].error_code == ErrorCode.NONE
        assert (results[t0].base_offset, results[t0].next_offset) == (0, 1)
        assert broker.manager.partition(t0).view.high_watermark == 0


async def test_acks_all_is_answered_after_the_sync(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        future = append(broker, t0)
        await asyncio.sleep(0)
        assert not future.done()
        await broker.commit()
        assert codes(await future) == [ErrorCode.NONE]
        assert broker.manager.partition(t0).view.high_watermark == 1
        info = broker.topics.partition(t0)
        assert info is not None
        assert info.written
        assert info.log_dir == str(LOG_DIR)


async def test_the_first_answer_waits_for_the_catalogue_too(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        future = append(broker, t0)
        broker.sync()
        assert broker.log_of(t0).recovery_point == 1
        assert broker.manager.partition(t0).view.high_watermark == 0
        await broker.commit()
        assert codes(await future) == [ErrorCode.NONE]
        future = append(broker, t0)
        broker.sync()
        assert future.done(), "the second one waits for the sync alone"


@pytest.mark.parametrize("durability", ["none", "interval"])
async def test_without_commit_acks_all_is_answered_after_the_write(
    tmp_path: Path, durability: str
) -> None:
    async with replicas(tmp_path, durability=durability) as broker:
        t0 = await broker.create_topic()
        assert codes(append(broker, t0)) == [ErrorCode.NONE]
        assert broker.manager.partition(t0).view.high_watermark == 1


async def test_a_batch_that_unpacks_to_too_much_is_refused_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path, request_decompressed_max_bytes=10_000) as broker:
        t0 = await broker.create_topic()
        for size, code in (
            (9_000, ErrorCode.NONE),
            (10_000, ErrorCode.MESSAGE_TOO_LARGE),
        ):
            batch = batch_of(bytes(size), compression=COMPRESSION_ZSTD)
            results = broker.manager.append_records(
                {t0: batch}, acks=1, timeout_ms=30_000
            )
            assert codes(results) == [code]
        assert broker.log_of(t0).log_end_offset == 1
        hits = broker.manager.appends.limits.hits
        assert hits == {"request.decompressed.max.bytes": 1}
        assert "hold more than the limit of 10000 bytes" in caplog.text


async def test_a_batch_that_unpacks_to_too_many_times_its_size_is_counted_apart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with replicas(tmp_path, request_decompressed_ratio_max=1000) as broker:
        t0 = await broker.create_topic()
        batch = batch_of(bytes(4 << 20), compression=COMPRESSION_ZSTD)
        results = broker.manager.append_records({t0: batch}, acks=1, timeout_ms=30_000)
        assert codes(results) == [ErrorCode.MESSAGE_TOO_LARGE]
        hits = broker.manager.appends.limits.hits
        assert hits == {"request.decompressed.ratio.max": 1}
        assert "A batch may unpack to 1000 times its size" in caplog.text


async def test_t138_invalid_acks_21_all_partitions(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(partitions=2)
        for acks in (2, -2):
            results = append(broker, t0, TopicPartition("t", 1), acks=acks)
            assert codes(results) == [ErrorCode.INVALID_REQUIRED_ACKS] * 2
        assert not broker.logs.logs()


async def test_t124_min_isr_effective_cap(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(min_insync_replicas="2")
        future = append(broker, t0)
        await broker.commit()
        assert codes(await future) == [ErrorCode.NONE]

        partition = broker.manager.partition(t0)
        broker.manager.cluster = FakeCluster()
        partition.make_leader(led_by(1, 1))
        assert codes(append(broker, t0)) == [ErrorCode.NOT_ENOUGH_REPLICAS]
        assert partition.view.log_end_offset == 1, "nothing was written"
        assert codes(append(broker, t0, acks=1)) == [ErrorCode.NONE]


async def test_t125_acks_all_isr_shrinks_after_append(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(min_insync_replicas="2")
        append(broker, t0)
        await broker.commit()
        partition = broker.manager.partition(t0)
        broker.manager.cluster = FakeCluster()
        partition.make_leader(led_by(1, 1, 2))
        future = append(broker, t0)
        log = broker.log_of(t0)
        log.visibility.raise_to(log.end_metadata)  # before anybody has looked
        partition.make_leader(led_by(1, 1, partition_epoch=1))
        partition.check_all_waiting()
        assert codes(await future) == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
        assert partition.view.log_end_offset == 2, "the data remains"


async def test_the_high_watermark_waits_while_too_few_are_in_sync(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(min_insync_replicas="2")
        append(broker, t0)
        await broker.commit()
        partition = broker.manager.partition(t0)
        broker.manager.cluster = FakeCluster()
        partition.make_leader(led_by(1, 1, 2))
        future = append(broker, t0, timeout_ms=1000)
        partition.make_leader(led_by(1, 1, partition_epoch=1))
        broker.sync()
        assert (partition.view.high_watermark, future.done()) == (1, False)
        broker.clock.advance(1100)
        assert codes(await future) == [ErrorCode.REQUEST_TIMED_OUT]
        assert partition.view.log_end_offset == 2, "the data remains"


async def test_t129_delayed_produce_timeout_mixed(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        ready = await broker.create_topic("ready")
        append(broker, ready)
        await broker.commit()
        slow = await broker.create_topic("slow")
        unknown = TopicPartition("unknown", 0)
        future = append(broker, ready, slow, unknown, timeout_ms=6000)
        broker.sync()  # the catalogue does not know yet that "slow" is written
        assert not future.done()
        broker.clock.advance(6100)
        results = await future
        assert codes(results) == [
            ErrorCode.NONE,
            ErrorCode.REQUEST_TIMED_OUT,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]
        assert [result.base_offset for result in results.values()] == [1, 0, -1]


@pytest.mark.parametrize("timeout_ms", [-1, 0, 1])
async def test_a_client_without_patience_is_answered_when_our_disk_has_it(
    tmp_path: Path, timeout_ms: int
) -> None:
    async with replicas(tmp_path) as broker:
        one, other = await broker.create_topic("one"), await broker.create_topic("two")
        alone = append(broker, one, timeout_ms=timeout_ms)
        together = append(broker, one, other, timeout_ms=timeout_ms)
        broker.clock.advance(1000)
        assert not alone.done()
        assert not together.done()
        await broker.commit()
        assert codes(await alone) == [ErrorCode.NONE]
        assert codes(await together) == [ErrorCode.NONE, ErrorCode.NONE]
        partition = broker.manager.partition(one)
        broker.manager.cluster = FakeCluster()
        partition.make_leader(led_by(1, 1, 2))
        replicated = append(broker, one, other, timeout_ms=0)
        assert codes(await replicated) == [ErrorCode.REQUEST_TIMED_OUT] * 2


async def test_t137_leader_to_follower_completes_parked_requests_with_6(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        future = append(broker, t0)
        broker.manager.partition(t0).make_follower(led_by(2, 1, 2, leader_epoch=1))
        assert codes(await future) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert codes(append(broker, t0)) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


async def test_a_deleted_partition_answers_what_waits(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        future = append(broker, t0)
        await broker.manager.stop([t0])
        assert codes(await future) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        await broker.commit()  # of a log that nobody needs any more
        info = broker.topics.partition(t0)
        assert info is not None
        assert not info.written, "the name may be another topic's by then"
        topic = broker.topics.get("t")
        assert topic is not None
        await broker.topics.begin_deletions([topic.topic_id])
        with pytest.raises(UnknownTopicOrPartition):
            broker.manager.partition(t0)


async def test_a_duplicate_waits_until_its_original_is_durable(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
        batch = batch_of(b"v", **producer)

        def send() -> Any:
            entries = {t0: memoryview(bytearray(batch))}
            return broker.manager.append_records(entries, acks=-1, timeout_ms=30_000)

        first, second = send(), send()
        assert not first.done()
        assert not second.done()
        await broker.commit()
        assert (await first)[t0].base_offset == (await second)[t0].base_offset == 0
        assert broker.manager.partition(t0).view.log_end_offset == 1
        assert codes(send()) == [ErrorCode.NONE], "at once: it is durable already"


async def test_flush_messages_lets_the_append_that_reaches_it_wait(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        t0 = await broker.create_topic(flush_messages="2")
        assert codes(append(broker, t0, acks=1)) == [ErrorCode.NONE]
        future = append(broker, t0, acks=1)
        (directory,) = broker.committer.directories.values()
        assert directory.requested == [broker.manager.partition(t0)]
        assert not future.done()
        broker.sync()
        assert codes(await future) == [ErrorCode.NONE]
        assert codes(append(broker, t0)) == [ErrorCode.NONE]


async def test_acks_0_does_not_wait_for_flush_messages(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(flush_messages="1")
        assert codes(append(broker, t0, acks=0)) == [ErrorCode.NONE]


async def test_flush_ms_asks_for_a_sync_in_time(tmp_path: Path) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        t0 = await broker.create_topic(flush_ms="500")
        assert codes(append(broker, t0, acks=1)) == [ErrorCode.NONE]
        (directory,) = broker.committer.directories.values()
        assert directory.requested == []
        broker.clock.advance(500)
        assert directory.requested == [broker.manager.partition(t0)]
        late = append(broker, t0, acks=1)
        assert not late.done(), "what comes after the time waits for the sync"
        broker.sync()
        assert codes(await late) == [ErrorCode.NONE]


async def test_internal_topics_take_records_from_coordinators_only(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        offsets = await broker.create_topic("__consumer_offsets")
        refused = append(broker, offsets, acks=1)
        assert codes(refused) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
        allowed = append(
            broker, offsets, acks=1, terms=AppendTerms(internal_topics_allowed=True)
        )
        assert codes(allowed) == [ErrorCode.NONE]
        assert codes(append(broker, offsets, acks=1, terms=OF_A_COORDINATOR)) == [0]


@pytest.mark.parametrize("durability", ["commit", "none"])
async def test_a_coordinator_is_told_what_to_wait_for(
    tmp_path: Path, durability: str
) -> None:
    async with replicas(tmp_path, durability=durability) as broker:
        t0 = await broker.create_topic()
        partition, appends = broker.manager.partition(t0), broker.manager.appends
        now_ms = broker.clock.now_ms()
        several = batch_of(b"v"), batch_of(b"v", b"v")
        result, pending = appends.append_as_coordinator(partition, several, now_ms)
        assert (result.error_code, result.base_offset, result.next_offset) == (0, 0, 3)
        waits = (partition, 3, Until.REPLICATED) if durability == "commit" else None
        assert pending == waits


async def test_a_coordinator_is_told_why_its_batch_is_refused(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic(max_message_bytes="60")
        partition, appends = broker.manager.partition(t0), broker.manager.appends
        now_ms = broker.clock.now_ms()
        refused = appends.append_as_coordinator(partition, batch_of(b"v"), now_ms)
        assert refused[0].error_code == ErrorCode.MESSAGE_TOO_LARGE
        assert refused[1] is None
        assert partition.view.log_end_offset == 0


async def test_little_space_refuses_clients_and_not_coordinators(
    tmp_path: Path,
) -> None:
    free = {LOG_DIR: 1 << 30}
    async with replicas(tmp_path) as broker:
        space = FreeSpace([LOG_DIR], 256 << 20, free.__getitem__)
        broker.manager.appends.free_space = space
        t0 = await broker.create_topic()
        assert codes(append(broker, t0, acks=1)) == [ErrorCode.NONE]
        free[LOG_DIR] = 100 << 20
        broker.clock.advance(250)
        assert codes(append(broker, t0, acks=1)) == [ErrorCode.KAFKA_STORAGE_ERROR]
        written = append(broker, t0, acks=1, terms=OF_A_COORDINATOR)
        assert codes(written) == [ErrorCode.NONE]
        free[LOG_DIR] = 1 << 30
        broker.clock.advance(250)
        assert codes(append(broker, t0, acks=1)) == [ErrorCode.NONE]


async def test_a_failed_sync_refuses_writes_and_serves_what_is_durable(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic()
        durable = append(broker, t0)
        await broker.commit()
        assert codes(await durable) == [ErrorCode.NONE]
        lost = append(broker, t0)
        files.fail("sync", error=errno.EIO)
        broker.sync()
        assert codes(await lost) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert codes(append(broker, t0)) == [ErrorCode.KAFKA_STORAGE_ERROR]
        partition = broker.manager.partition(t0)
        data = partition.view.read(0, 1000, FetchIsolation.LOG_END, min_one=True)
        assert len(data.records) == len(batch_of(b"v")), "the first batch alone"
        other = await broker.create_topic("other")
        assert codes(append(broker, other)) == [ErrorCode.KAFKA_STORAGE_ERROR]


async def test_a_broken_device_at_append_fails_the_directory(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0, other = await broker.create_topic(), await broker.create_topic("other")
        append(broker, t0, other)
        files.fail("append", error=errno.EIO)
        assert codes(append(broker, t0)) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert codes(append(broker, other)) == [ErrorCode.KAFKA_STORAGE_ERROR]


async def test_a_full_disk_is_retriable(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic()
        append(broker, t0)
        files.fail("append", error=errno.ENOSPC)
        assert codes(append(broker, t0, acks=1)) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert codes(append(broker, t0, acks=1)) == [ErrorCode.NONE]
