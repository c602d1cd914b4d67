from pathlib import Path

import pytest

from odradek.broker.cluster.registration.kept_epoch import KeptEpoch
from odradek.broker.metadata.catalog.recovery import CATALOG
from odradek.broker.replica.decisions import Decisions
from odradek.protocol.errors import NotLeaderOrFollower
from odradek.protocol.record_batch import BATCH_OVERHEAD
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas

T0 = TopicPartition("t", 0)
LOG = "00000000000000000000.log"
SIZE = len(batch_of(b"v"))
EPOCH = 7


def kept(broker: Replicas, *, outlives_kills: bool = True) -> KeptEpoch:
    return KeptEpoch(broker.logs, broker.threads, outlives_kills=outlives_kills)


async def forgets(broker: Replicas) -> bool:
    """As a start does it, before anybody has decided anything."""
    broker.topics.gives_leader_epochs = False
    Decisions(1, broker.manager, {}.get)
    return await kept(broker).forget_if_lost(
        broker.topics, broker.manager, broker.services.bugs
    )


async def kill(directory: Path, *, outlives_kills: bool = True) -> FakeFiles:
    """The disk of a broker that was killed, with three durable batches."""
    files = FakeFiles()
    async with replicas(directory, files, stops_cleanly=False) as broker:
        await broker.create_topic()
        await kept(broker, outlives_kills=outlives_kills).keep(EPOCH)
        for _ in range(3):
            batch = {T0: batch_of(b"v")}
            broker.manager.append_records(batch, acks=1, timeout_ms=1_000)
            await broker.commit()
    return files


async def test_who_was_killed_names_the_epoch_when_all_is_there(tmp_path: Path) -> None:
    files = await kill(tmp_path)
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        assert kept(broker).previous == EPOCH
        assert not await forgets(broker)
        partition = broker.manager.partition(T0)
        with pytest.raises(NotLeaderOrFollower):
            partition.leadership.check()  # nobody has said that we lead
        with pytest.raises(NotLeaderOrFollower):
            partition.leadership.check_replica()
        assert partition.view.log_end_offset == 3
        assert partition.view.high_watermark == 0, "nobody knows that we are alone"
        assert broker.log_of(T0).latest_epoch == 0


async def test_a_torn_end_is_no_loss(tmp_path: Path) -> None:
    files = await kill(tmp_path)
    files.cut(LOG, by=1)
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        assert not await forgets(broker)


async def test_who_has_lost_records_names_no_epoch(tmp_path: Path) -> None:
    files = await kill(tmp_path)
    files.flip(LOG, SIZE + BATCH_OVERHEAD + 2)
    async with replicas(tmp_path, files) as broker:
        assert await forgets(broker)
    async with replicas(tmp_path, files) as broker:  # this was a clean stop
        assert kept(broker).previous == -1
        await kept(broker).keep(8)
    async with replicas(tmp_path, files) as broker:
        assert kept(broker).previous == 8


async def test_who_has_lost_a_directory_names_no_epoch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = await kill(tmp_path)
    files.rmtree(LOG_DIR / str(T0))
    async with replicas(tmp_path, files) as broker:
        assert await forgets(broker)
    assert "1 are gone or cannot be used: t-0" in caplog.text


async def test_who_goes_on_with_a_copy_of_the_catalogue_names_no_epoch(
    tmp_path: Path,
) -> None:
    """It is older than the first records, so what is gone since is not missed."""
    files = await kill(tmp_path)
    (tmp_path / CATALOG).write_bytes(b"damaged")
    for suffix in ("-wal", "-shm"):
        (tmp_path / f"{CATALOG}{suffix}").unlink(missing_ok=True)
    files.rmtree(LOG_DIR / str(T0))
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        assert not broker.topics.offline
        assert await forgets(broker)
    async with replicas(tmp_path, files) as broker:
        assert kept(broker).previous == -1


async def test_who_has_not_read_all_logs_names_no_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        raise AssertionError("a bug")

    files = await kill(tmp_path)
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        monkeypatch.setattr(broker.manager, "open_all", fail)
        assert await forgets(broker)
        assert len(broker.bugs) == 1


async def test_a_directory_that_is_gone_ends_no_start(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files, stops_cleanly=False) as broker:
        files.rmtree(LOG_DIR)
        await kept(broker).keep(EPOCH)


async def test_without_commit_a_kill_may_have_lost_anything(tmp_path: Path) -> None:
    files = await kill(tmp_path, outlives_kills=False)
    async with replicas(tmp_path, files) as broker:
        assert kept(broker).previous == -1


async def test_a_start_that_fails_loses_nothing(tmp_path: Path) -> None:
    files = FakeFiles()
    async with replicas(tmp_path, files) as broker:
        await kept(broker, outlives_kills=False).keep(EPOCH)
    async with replicas(tmp_path, files) as broker:
        assert kept(broker).previous == EPOCH  # it never registers
    async with replicas(tmp_path, files) as broker:
        assert kept(broker).previous == EPOCH
