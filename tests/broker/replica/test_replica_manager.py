import asyncio
import errno
from pathlib import Path
from typing import Any

from odradek.broker.replica.logs.written_partitions import RETRY_MS
from odradek.broker.replica.waiting.delayed_produce import AppendResult
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, full_catalog, replicas


def append(
    broker: Replicas, *topic_partitions: TopicPartition, acks: int = -1, **options: Any
) -> Any:
    entries = {each: batch_of(b"v") for each in topic_partitions}
    options.setdefault("timeout_ms", 30_000)
    return broker.manager.append_records(entries, acks=acks, **options)


def codes(results: dict[TopicPartition, AppendResult]) -> list[int]:
    return [result.error_code for result in results.values()]


async def test_changed_options_reach_open_logs(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        append(broker, t0)
        await broker.topics.alter_options("t", lambda _: {"max.message.bytes": "60"})
        assert codes(append(broker, t0)) == [ErrorCode.MESSAGE_TOO_LARGE]


async def epochs_after_a_start(
    tmp_path: Path, files: FakeFiles, stops_cleanly: bool
) -> tuple[int, int]:
    """Start again on the same files; gives the epochs of catalogue and partition."""
    async with replicas(tmp_path, files, stops_cleanly=stops_cleanly) as broker:
        t0 = TopicPartition("t", 0)
        assert broker.manager.unopened([t0]) == [t0]
        refused = append(broker, t0, acks=1)
        assert codes(refused) == [ErrorCode.KAFKA_STORAGE_ERROR]
        await broker.manager.open([t0])
        assert broker.manager.unopened([t0]) == []
        assert codes(append(broker, t0, acks=1)) == [ErrorCode.NONE]
        info = broker.topics.partition(t0)
        assert info is not None
        await broker.commit()
        return info.leader_epoch, broker.manager.partition(t0).leadership.epoch


async def test_an_unclean_log_begins_a_new_epoch_before_it_is_served(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic()
        append(broker, t0, acks=1)
        await broker.commit()
    assert await epochs_after_a_start(tmp_path, files, stops_cleanly=False) == (0, 0)
    assert await epochs_after_a_start(tmp_path, files, stops_cleanly=False) == (1, 1)
    assert await epochs_after_a_start(tmp_path, files, stops_cleanly=True) == (2, 2)
    assert await epochs_after_a_start(tmp_path, files, stops_cleanly=True) == (2, 2)


async def test_an_opened_log_is_durable_to_its_end(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        t0 = await broker.create_topic()
        append(broker, t0, acks=1)
    async with replicas(tmp_path, files) as broker:
        first = broker.manager.open([t0])
        second = broker.manager.open([t0])
        await asyncio.gather(first, second)
        partition = broker.manager.partition(t0)
        assert (partition.view.high_watermark, partition.view.log_end_offset) == (1, 1)


async def test_open_all_opens_everything(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await broker.create_topic(partitions=5)
        both = [TopicPartition("t", number) for number in range(5)]
        append(broker, *both, acks=1)
        await broker.commit()
    async with replicas(tmp_path, files) as broker:
        assert len(broker.manager.unopened(both)) == 5
        await broker.manager.open_all()
        assert broker.manager.unopened(both) == []
        assert [
            broker.manager.partition(each).view.high_watermark for each in both
        ] == ([1] * 5)


async def test_a_log_that_cannot_be_opened_is_offline(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic()
        append(broker, t0, acks=1)
        await broker.commit()
    async with replicas(tmp_path, files) as broker:
        files.fail("listdir", error=errno.EIO)
        await broker.manager.open([t0])
        assert codes(append(broker, t0)) == [ErrorCode.KAFKA_STORAGE_ERROR]


async def test_a_written_partition_without_its_directory_is_offline(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        append(broker, t0, acks=1)
        await broker.commit()
    async with replicas(tmp_path, FakeFiles()) as broker:
        assert codes(append(broker, t0)) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert not broker.logs.logs()


async def test_an_unknown_directory_is_not_opened(tmp_path: Path) -> None:
    files = FakeFiles()
    files.mkdir(LOG_DIR / "stranger-0")
    async with replicas(tmp_path, files) as broker:
        stranger = TopicPartition("stranger", 0)
        await broker.manager.open([stranger])
        assert codes(append(broker, stranger)) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_close_answers_what_waits(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        t0 = await broker.create_topic()
        future = append(broker, t0)
        await broker.manager.close()
        assert codes(await future) == [ErrorCode.REQUEST_TIMED_OUT]


async def test_while_the_catalogue_has_no_room_a_first_append_waits_for_it(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        first = await broker.create_topic("first")
        second = await broker.create_topic("second")
        with full_catalog(broker.catalog):
            waiting = append(broker, first)
            await broker.commit()
            # It is durable, and nobody sees it: its answer is for later.
            assert not waiting.done()
            log = broker.log_of(first)
            assert (log.recovery_point, log.high_watermark) == (1, 0)
            assert broker.manager.unrecorded == [first]
            # What would wait in the same way is refused before it is written.
            refused = append(broker, second)
            assert codes(refused) == [ErrorCode.KAFKA_STORAGE_ERROR]
            assert broker.logs.get(second) is None
            assert codes(append(broker, first)) == [ErrorCode.KAFKA_STORAGE_ERROR]
            assert log.log_end_offset == 1
        broker.clock.advance(RETRY_MS)
        await broker.manager.recorded()
        assert codes(waiting.result()) == [ErrorCode.NONE]
        assert broker.manager.unrecorded == []
        answer = append(broker, second)
        await broker.commit()
        assert codes(answer.result()) == [ErrorCode.NONE]
