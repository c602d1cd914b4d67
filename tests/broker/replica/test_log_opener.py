import asyncio
from pathlib import Path

from broker.replica.log_opener import LogOpener
from protocol.errors import ErrorCode
from protocol.topic_partition import TopicPartition
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, batch_of, replicas


async def written_topic(tmp_path: Path, files: FakeFiles) -> TopicPartition:
    async with replicas(tmp_path, files) as broker:
        t0 = await broker.create_topic()
        broker.manager.append_records({t0: batch_of(b"v")}, acks=1, timeout_ms=1000)
        await broker.commit()
    return t0


def opener(broker: Replicas) -> LogOpener:
    return broker.manager._opener


async def test_several_who_wait_share_one_opening(tmp_path: Path) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        first = asyncio.create_task(broker.manager.open([t0]))
        await asyncio.sleep(0)
        (opening,) = opener(broker)._opening.values()
        second = asyncio.create_task(broker.manager.open([t0]))
        await asyncio.sleep(0)
        assert list(opener(broker)._opening.values()) == [opening]
        await asyncio.gather(first, second)
        assert opener(broker).unopened == set()


async def test_one_who_leaves_does_not_stop_it_for_the_others(tmp_path: Path) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        first = asyncio.create_task(broker.manager.open([t0]))
        second = asyncio.create_task(broker.manager.open([t0]))
        await asyncio.sleep(0)
        first.cancel()
        await second
        assert broker.manager.partition(t0).high_watermark == 1


async def test_a_partition_may_be_deleted_while_it_is_opened(tmp_path: Path) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        opening = asyncio.create_task(broker.manager.open([t0]))
        await asyncio.sleep(0)
        await broker.manager.stop([t0])
        assert opener(broker)._opening == {}
        broker.logs.delete(t0)
        await opening
        assert broker.logs.get(t0) is None


async def test_what_is_forgotten_is_not_opened(tmp_path: Path) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        await opener(broker).forget([t0])
        await broker.manager.open([t0])
        assert broker.logs.get(t0) is None


async def test_close_waits_for_what_is_being_opened(tmp_path: Path) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        opening = asyncio.create_task(broker.manager.open_all())
        await asyncio.sleep(0)
        await broker.manager.close()
        assert opener(broker)._opening == {}
        assert broker.logs.get(t0) is not None
        await opening


async def test_what_is_closed_before_it_was_opened_stays_as_it_is(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        await broker.manager.close()
        results = broker.manager.append_records(
            {t0: batch_of(b"v")}, acks=1, timeout_ms=1000
        )
        assert results[t0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
