import asyncio
from pathlib import Path

import pytest

from odradek.broker.metadata.topic import NewTopic
from odradek.broker.replica.logs.log_opener import LogOpener
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.meta_properties import META_PROPERTIES_NAME
from odradek.storage.files.partition_metadata import format_partition_metadata
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas


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
        assert broker.manager.partition(t0).view.high_watermark == 1


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


async def forget_topic(broker: Replicas) -> None:
    """As a catalogue that was lost: its directory stays where it is."""
    topic = broker.topics.known("t")
    (deletion,) = await broker.topics.begin_deletions([topic.topic_id])
    broker.topics.release_name(deletion)
    await broker.topics.finish_deletions([deletion])


def strays(broker: Replicas) -> list[Path]:
    return [path for path in broker.files.paths() if "-stray" in str(path)]


async def append(broker: Replicas, partition: TopicPartition) -> int:
    await broker.manager.open([partition])
    results = broker.manager.append_records(
        {partition: batch_of(b"new")}, acks=1, timeout_ms=1000
    )
    assert results[partition].error_code == ErrorCode.NONE
    return int(results[partition].base_offset)


async def test_the_directory_of_an_older_topic_of_the_name_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FakeFiles()
    await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        await forget_topic(broker)
        t0 = await broker.create_topic()
    async with replicas(tmp_path, files) as broker:
        assert await append(broker, t0) == 0
        assert strays(broker)
        assert "what was in t-0 is kept as" in caplog.text
        await broker.commit()
    async with replicas(tmp_path, files) as broker:
        assert await append(broker, t0) == 1


async def test_a_directory_of_no_topic_is_in_nobodys_way(tmp_path: Path) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        await forget_topic(broker)
    files.unlink(LOG_DIR / str(t0) / "partition.metadata")
    async with replicas(tmp_path, files) as broker:
        await broker.manager.open_all()
        assert not strays(broker)
        await broker.create_topic()
        assert await append(broker, t0) == 0
        assert strays(broker)


async def test_when_a_written_topic_finds_another_in_its_place_nothing_is_touched(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    files.put(
        LOG_DIR / str(t0) / "partition.metadata",
        format_partition_metadata(bytes(15) + b"x"),
    )
    async with replicas(tmp_path, files) as broker:
        await broker.manager.open([t0])
        with pytest.raises(KafkaStorageError, match="another topic of this name"):
            broker.manager.partition(t0).leadership.check()
        assert not strays(broker)


async def test_what_cannot_be_set_aside_is_offline(tmp_path: Path) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        await forget_topic(broker)
        await broker.create_topic()
    async with replicas(tmp_path, files) as broker:
        files.fail("rename")
        await broker.manager.open([t0])
        with pytest.raises(KafkaStorageError):
            broker.manager.partition(t0).leadership.check()


async def test_what_has_no_directory_or_cannot_be_opened_is_offline(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    t0 = await written_topic(tmp_path, files)
    async with replicas(tmp_path, files) as broker:
        assert not broker.topics.offline
        files.fail("listdir")
        await broker.manager.open([t0])
        assert broker.topics.offline == {t0}
    files.rmtree(LOG_DIR / str(t0))
    async with replicas(tmp_path, files) as broker:
        assert broker.topics.offline == {t0}
        with pytest.raises(KafkaStorageError, match="its directory is gone"):
            broker.manager.partition(t0).leadership.check()
        other = await broker.create_topic("other")
        assert await append(broker, other) == 0


async def test_a_bug_in_one_log_keeps_no_other_from_being_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        topic = await broker.create_topic(partitions=3)
        partitions = [TopicPartition(topic.topic, number) for number in range(3)]
        for each in partitions:
            batch = {each: batch_of(b"v")}
            broker.manager.append_records(batch, acks=1, timeout_ms=1000)
        await broker.commit()
    options = {"num_recovery_threads_per_data_dir": 1}
    async with replicas(tmp_path, files, **options) as broker:
        load = broker.logs.load

        def loads(topic_partition: TopicPartition, *more: object) -> object:
            if topic_partition.partition == 0:
                raise ZeroDivisionError
            return load(topic_partition, *more)  # type: ignore[arg-type]

        monkeypatch.setattr(broker.logs, "load", loads)
        with pytest.raises(ZeroDivisionError):
            await broker.manager.open_all()
        assert opener(broker).unopened == set()
        broken, *others = (broker.manager.partition(each) for each in partitions)
        with pytest.raises(KafkaStorageError, match="ZeroDivision"):
            broken.leadership.check()
        assert [each.view.high_watermark for each in others] == [1, 1]


async def test_a_member_that_lost_its_catalogue_goes_on_with_its_logs(
    tmp_path: Path,
) -> None:
    """The controllers say again which topic it is; alone, an id is nobody else's."""
    files = FakeFiles()
    for name in ("first", "member", "alone"):
        (tmp_path / name).mkdir()
    async with replicas(tmp_path / "first", files) as broker:
        t0 = await broker.create_topic()
        topic_id = broker.topics.known("t").topic_id
        broker.manager.append_records({t0: batch_of(b"v")}, acks=1, timeout_ms=1000)
        await broker.commit()
    for name, end in (("member", 1), ("alone", 0)):
        files.unlink(LOG_DIR / META_PROPERTIES_NAME)
        async with replicas(tmp_path / name, files) as broker:
            broker.topics.gives_leader_epochs = name == "alone"
            await broker.topics.create_topics([NewTopic("t", 1, {}, topic_id)])
            await broker.manager.open([t0])
            partition = broker.manager.partition(t0)
            partition.leadership.check_replica()
            assert partition.view.log_end_offset == end
