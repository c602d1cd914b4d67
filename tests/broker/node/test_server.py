import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from odradek.broker.cli.admin.admin_client import ask
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener as Address
from odradek.broker.durability.committer import DirectoryCommitter
from odradek.broker.network.listener import ListenerError
from odradek.broker.node.server import Server
from odradek.client.connection import Connection
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directory import DirectoryInUse, LogDirectory
from odradek.storage.producers.append_info import AppendOrigin
from tests.fakes.broker import until
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

Result = TypeVar("Result")
MARKER = ".kafka_cleanshutdown"
BEFORE_TOPIC_IDS = 9


def config(data_dir: Path, **options: Any) -> BrokerConfig:
    options.setdefault("listeners", (Address("PLAINTEXT", "127.0.0.1", 0),))
    options.setdefault("log_min_free_bytes", 0)
    return BrokerConfig(log_dirs=(data_dir,), **options)


@contextlib.asynccontextmanager
async def running(data_dir: Path, **options: Any) -> AsyncIterator[Server]:
    server = Server(config(data_dir, **options))
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
        assert server.bugs.count == 0


async def with_client(server: Server, talk: Callable[[Connection], Result]) -> Result:
    port = server.listeners[0].port

    def run() -> Result:
        with Connection("127.0.0.1", port, timeout_s=PATIENCE_S) as connection:
            return talk(connection)

    return await asyncio.to_thread(run)


def create_topic(connection: Connection) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    response = connection.request(request, MetadataResponse, BEFORE_TOPIC_IDS)
    assert response.topics[0].error_code == 0


def batch_of_one() -> bytes:
    return bytes(build_batch([NewRecord(timestamp=0, key=b"k", value=b"v")]))


def produce(connection: Connection) -> int:
    data = PartitionProduceData(index=0, records=batch_of_one())
    request = ProduceRequest(
        acks=-1,
        timeout_ms=20_000,
        topic_data=[TopicProduceData(name="t", partition_data=[data])],
    )
    response = connection.request(request, ProduceResponse, BEFORE_TOPIC_IDS)
    (partition,) = response.responses[0].partition_responses
    assert partition.error_code == 0
    return partition.base_offset


def fetch_request(offset: int, max_wait_ms: int = 0) -> FetchRequest:
    partition = FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchTopic(topic="t", partitions=[partition])],
    )


def fetch(connection: Connection) -> memoryview | bytes | None:
    response = connection.request(fetch_request(0), FetchResponse, 12)
    (partition,) = response.responses[0].partitions
    assert partition.error_code == 0
    return partition.records


async def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    def write(connection: Connection) -> list[int]:
        create_topic(connection)
        return [produce(connection) for _ in range(3)]

    async with running(tmp_path) as server:
        assert await with_client(server, write) == [0, 1, 2]
        assert not (tmp_path / MARKER).exists()
    assert (tmp_path / MARKER).exists()
    async with running(tmp_path) as server:
        records = await with_client(server, fetch)
        assert records is not None
        assert read_header(records).base_offset == 0
        assert await with_client(server, produce) == 3
    assert (tmp_path / MARKER).exists()


async def test_a_stop_during_the_opening_of_logs_is_clean(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
    for _ in range(3):
        async with running(tmp_path):
            pass
        assert (tmp_path / MARKER).exists()
    async with running(tmp_path) as server:
        assert await with_client(server, produce) == 1


async def test_a_clean_stop_is_marked_when_the_last_sync_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    releasing: list[asyncio.Future[None]] = []
    may_end = threading.Event()

    def sync_slowly(_: object) -> None:
        events.append("sync")
        may_end.wait(60)
        events.append("synced")

    async def release(committer: DirectoryCommitter) -> None:
        await until(lambda: "marked" in events or committer.waiters.have_flushes)
        may_end.set()

    async with running(tmp_path) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
        replica_manager = server.services.replica_manager
        partition = replica_manager.partition(TopicPartition("t", 0))
        committer = partition.committer
        assert committer is not None
        mark_clean, drained = LogDirectory.mark_clean, replica_manager.close

        def mark(directory: LogDirectory) -> None:
            events.append("marked")
            mark_clean(directory)

        async def append_late() -> None:
            partition.append(batch_of_one(), 1, AppendOrigin.CLIENT, 0)
            await until(lambda: "sync" in events)
            releasing.append(asyncio.ensure_future(release(committer)))
            await drained()

        monkeypatch.setattr(LogDirectory, "mark_clean", mark)
        monkeypatch.setattr(replica_manager, "close", append_late)
        monkeypatch.setattr(committer, "_plain", None)
        monkeypatch.setattr(committer, "_sync", sync_slowly)
    await asyncio.gather(*releasing)
    assert events == ["sync", "synced", "marked"]


async def test_stop_does_not_wait_for_a_fetch_to_fill(tmp_path: Path) -> None:
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wait_for_records(connection: Connection) -> FetchResponse:
        create_topic(connection)
        offset = produce(connection) + 1
        connection.send(fetch_request(offset, max_wait_ms=1_000_000), 12)
        loop.call_soon_threadsafe(started.set)
        _, response = connection.receive(1, 12)
        assert isinstance(response, FetchResponse)
        return response

    async with running(tmp_path, shutdown_drain_timeout_ms=60_000) as server:
        fetching = asyncio.ensure_future(with_client(server, wait_for_records))
        await started.wait()
        await until(lambda: server.services.replica_manager.fetches.delayed_count)
        before = loop.time()
    assert loop.time() - before < 30  # of the 60 that it may
    response = await fetching
    assert not response.responses[0].partitions[0].records


def inodes(*paths: Path) -> set[int]:
    return {path.stat().st_ino for path in paths}


async def test_a_new_data_directory_is_durable_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    async with running(tmp_path / "new" / "data"):
        assert inodes(tmp_path, tmp_path / "new") < set(synced)


async def test_a_second_broker_is_told_who_has_the_directory(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        with pytest.raises(DirectoryInUse, match=f"process {os.getpid()}"):
            await Server(config(tmp_path)).start()
        await with_client(server, create_topic)


async def test_the_catalogue_may_have_a_directory_of_its_own(tmp_path: Path) -> None:
    place = tmp_path / "metadata"
    for _ in range(2):
        async with running(tmp_path / "data", metadata_log_dir=place) as server:
            await with_client(server, create_topic)
    assert (place / "catalog.db").exists()
    assert not (tmp_path / "data" / "catalog.db").exists()


async def test_a_start_that_fails_lets_go_of_everything(tmp_path: Path) -> None:
    async with running(tmp_path / "one") as server:
        taken = Address("PLAINTEXT", "127.0.0.1", server.listeners[0].port)
        other = Server(config(tmp_path / "two", listeners=(taken,)))
        with pytest.raises(ListenerError, match="in use"):
            await other.start()
    assert (tmp_path / "two" / MARKER).exists()
    async with running(tmp_path / "two"):
        pass


async def test_several_listeners_serve_the_same_topics(tmp_path: Path) -> None:
    addresses = (Address("ONE", "127.0.0.1", 0), Address("TWO", "127.0.0.1", 0))
    async with running(tmp_path, listeners=addresses) as server:
        await with_client(server, create_topic)
        server.listeners.reverse()
        assert await with_client(server, produce) == 0
        assert {listener.name for listener in server.listeners} == {"ONE", "TWO"}


async def test_a_directory_of_no_topic_is_reported_and_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stranger = tmp_path / "stranger-0"
    stranger.mkdir()
    (stranger / "00000000000000000000.log").write_bytes(b"")
    async with running(tmp_path):
        pass
    assert stranger.exists()
    assert "stranger-0 belongs to no topic" in caplog.text


async def test_every_periodic_job_has_a_name(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        names = server.services.scheduler.names
        assert names == [
            "sweep PLAINTEXT",
            "request times",
            "checkpoints",
            "log starts",
            "look for room",
            "finish deletions",
            "expire offsets",
            "abort transactions",
            "expire transactional ids",
            "share states",
            "delete old segments",
            "remove files",
            "forget producers",
            "clean logs",
        ]


async def test_after_an_unclean_stop_every_leader_epoch_is_higher(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
    (tmp_path / MARKER).unlink()
    async with running(tmp_path) as server:
        topic = server.services.metadata.get("t")
        assert topic is not None
        assert {info.leader_epoch for info in topic.partitions} == {1}
        await server.services.replica_manager.open_all()
        await with_client(server, produce)
        assert {info.leader_epoch for info in topic.partitions} == {1}


async def test_retention_is_on_the_clock_of_the_broker(tmp_path: Path) -> None:
    clock = FakeClock(now_ms=0)
    server = Server(config(tmp_path, log_retention_hours=1), clock=clock)
    await server.start()
    try:
        await with_client(server, create_topic)
        await with_client(server, produce)
        partition = server.services.replica_manager.partition(TopicPartition("t", 0))
        for _ in range(12):
            await clock.tick(300_000)
        assert partition.view.log_start_offset == 0
        await clock.tick(300_000)
        assert partition.view.log_start_offset == 1
        await clock.tick(60_000)
        await until(lambda: not any(tmp_path.rglob("*.deleted")))
    finally:
        await server.stop()
    assert server.bugs.count == 0


async def compact(directory: Path) -> list[dict[str, Any]]:
    request = {"request": "compact", "topic": "t"}
    return await asyncio.to_thread(lambda: list(ask(directory, request, 20)))


async def test_a_topic_is_compacted_by_another_process(tmp_path: Path) -> None:
    options = {"log_cleanup_policy": ("compact",), "log_cleaner_enable": False}
    async with running(tmp_path, **options) as server:
        await with_client(server, create_topic)
        for _ in range(3):
            await with_client(server, produce)
        (done,) = await compact(tmp_path)
        assert (done["recordsBefore"], done["recordsAfter"]) == (3, 1)
        (done,) = await compact(tmp_path)
        assert done["outcome"] == "nothing-to-clean"
    assert not (tmp_path / "admin.sock").exists()


async def test_a_stop_does_not_wait_for_a_round_that_is_slow(tmp_path: Path) -> None:
    options = {
        "log_cleanup_policy": ("compact",),
        "log_cleaner_io_max_bytes_per_second": 1.0,
    }
    async with running(tmp_path, **options) as server:
        await with_client(server, create_topic)
        for _ in range(3):
            await with_client(server, produce)
        asked = asyncio.ensure_future(compact(tmp_path))
        directory = tmp_path / "t-0"
        await until(lambda: len(list(directory.glob("*.log"))) == 2)
        assert server._cleaning is not None
        await until(lambda: server._cleaning._is_busy(TopicPartition("t", 0)))
    (done,) = await asked
    assert (done["outcome"], done["reason"]) == ("given-up", "the broker is stopping")
    assert not list(directory.glob("*.cleaned"))


async def test_a_path_too_long_for_a_socket_is_no_reason_not_to_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path / ("d" * 120)):
        assert "AF_UNIX path too long" in caplog.text
