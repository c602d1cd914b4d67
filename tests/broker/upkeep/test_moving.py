"""Partitions move between log directories while clients use them."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from odradek.broker.node.server import Server
from odradek.broker.upkeep import moving
from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.node.test_server import with_client
from tests.crash.broker_life import (
    create_topic,
    delete_records,
    delete_topic,
    topic_names,
)
from tests.fakes.broker import until
from tests.fakes.two_directories import T, two_directories


def send(client: Connection, value: bytes) -> int:
    """The offset, once the record is durable."""
    batch = bytes(build_batch([NewRecord(b"k", value, 1_700_000_000_000)]))
    request = ProduceRequest(
        acks=-1,
        timeout_ms=60_000,
        topic_data=[
            TopicProduceData(
                name="t", partition_data=[PartitionProduceData(index=0, records=batch)]
            )
        ],
    )
    answer = client.request(request, ProduceResponse, 9)
    (partition,) = answer.responses[0].partition_responses
    assert partition.error_code == 0
    return partition.base_offset


@contextlib.asynccontextmanager
async def producing(server: Server) -> AsyncIterator[dict[int, bytes]]:
    """A producer that does not stop, and what it was told."""
    acknowledged: dict[int, bytes] = {}
    is_over = threading.Event()

    def run(client: Connection) -> None:
        while not is_over.is_set():
            value = b"value %d " % len(acknowledged) + bytes(400)
            acknowledged[send(client, value)] = value
            is_over.wait(0.002)  # the disk threads of this process need a turn

    task = asyncio.ensure_future(with_client(server, run))
    try:
        yield acknowledged
    finally:
        is_over.set()
        await task


@pytest.mark.parametrize("durability", ["commit", "none"])
async def test_a_partition_moves_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str
) -> None:
    monkeypatch.setattr(moving, "CHUNK_BYTES", 20_000)
    monkeypatch.setattr(moving, "NEARLY_BYTES", 50_000)
    monkeypatch.setattr("odradek.storage.directory.log_move.LAST_BYTES_MAX", 10_000)
    async with two_directories(tmp_path, durability=durability) as disks:
        await disks.fill(200)
        for _ in range(2):  # there and back
            home, other, log = disks.home, disks.other, disks.partition.log
            async with producing(disks.server) as acknowledged:
                await until(lambda told=acknowledged: len(told) > 10)
                await disks.move(other)
                count = len(acknowledged)
                await until(lambda told=acknowledged, n=count: len(told) > n + 10)
            assert (disks.names(home), disks.names(other)) == ([], ["t-0"])
            assert (disks.home, disks.partition.log) == (other, log)
            found = await disks.records()
            assert acknowledged.items() <= found.items()
            assert list(found) == list(range(len(found)))
            await disks.restart()
            assert await disks.records() == found
            assert disks.home == other


async def test_what_cannot_be_moved_says_why(tmp_path: Path) -> None:
    async with two_directories(tmp_path) as disks:
        await disks.fill(1)
        unknown = await disks.ask(disks.home, "nope")
        assert unknown == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert await disks.ask("/nope", "t") == [ErrorCode.LOG_DIR_NOT_FOUND]
        assert await disks.ask("one", "t") == [ErrorCode.LOG_DIR_NOT_FOUND]
        long = "t" * 220
        assert await disks.ask(disks.other, long) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
        assert await disks.ask(disks.home, "t") == [ErrorCode.NONE]
        assert not disks.moving.moves
        (failing,) = [
            each
            for each in disks.server.services.log_manager.directories
            if each.path == disks.other
        ]
        failing.failure = KafkaStorageError("gone")
        assert await disks.ask(disks.other, "t") == [ErrorCode.KAFKA_STORAGE_ERROR]
        failing.failure = None


async def test_a_partition_without_records_is_made_where_it_is_wanted(
    tmp_path: Path,
) -> None:
    async with two_directories(tmp_path) as disks:
        for path in (disks.paths[1], disks.paths[0], disks.paths[1]):
            await with_client(
                disks.server, lambda client: create_topic(client, "t", {})
            )
            await disks.move(path)
            assert list(await disks.described()) == [path]
            await disks.produce(1)
            assert disks.home == path
            await with_client(disks.server, lambda client: delete_topic(client, "t"))


async def test_a_move_is_seen_and_called_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "NEARLY_BYTES", 0)
    async with two_directories(
        tmp_path, replica_alter_log_dirs_io_max_bytes_per_second=4000
    ) as disks:
        await disks.fill()
        home, other = disks.home, disks.other
        await disks.begin(other)
        await until(lambda: disks.moving.moves[T].size > 0)
        await disks.begin(other)  # it is already
        shown = await disks.described()
        assert not shown[home].is_future_key
        assert shown[other].is_future_key
        assert 0 < shown[other].partition_size < shown[home].partition_size
        assert 0 < shown[other].offset_lag <= 40
        (name,) = disks.names(other)
        assert name.startswith("t-0.")
        assert name.endswith("-future")
        await disks.move(home)
        assert list(await disks.described()) == [home]
        assert disks.names(other) == []
        assert disks.known_home == home


async def test_a_topic_is_deleted_while_it_moves(tmp_path: Path) -> None:
    async with two_directories(
        tmp_path, replica_alter_log_dirs_io_max_bytes_per_second=4000
    ) as disks:
        await disks.fill()
        home, other = disks.home, disks.other
        await disks.begin(other)
        await until(lambda: disks.moving.moves[T].size > 0)
        await with_client(disks.server, lambda client: delete_topic(client, "t"))
        await disks.moved()
        assert (disks.names(home), disks.names(other)) == ([], [])
        assert await with_client(disks.server, topic_names) == set()


async def test_what_was_compacted_stays_so(tmp_path: Path) -> None:
    async with two_directories(tmp_path) as disks:
        await disks.fill()
        manager, log = disks.server.services.log_manager, disks.partition.log
        assert log is not None
        manager.cleaner_checkpoint(log).put(T, 17, [T])
        await disks.move(disks.other)
        assert manager.cleaner_checkpoint(log).get(T) == 17
        checkpoint = disks.home / "cleaner-offset-checkpoint"
        assert "t 0 17" in checkpoint.read_text()
        assert "t 0" not in (disks.other / checkpoint.name).read_text()


async def test_a_move_that_a_stop_interrupts_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two_directories(tmp_path) as disks:
        await disks.fill()
        home, other = disks.home, disks.other
        found = await disks.records()
        monkeypatch.setattr(moving.Moving, "_rate", 4000)
        await disks.begin(other)
        await until(lambda: disks.moving.moves[T].size > 0)
        monkeypatch.undo()
        await disks.restart()
        await until(lambda: disks.names(other) == ["t-0"])
        await disks.moved()
        assert disks.names(home) == []
        assert await disks.records() == found


@pytest.mark.parametrize("has_room", [False, True])
async def test_a_full_disk_leaves_it_where_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    has_room: bool,
) -> None:
    async with two_directories(tmp_path) as disks:
        await disks.fill()
        home, other = disks.home, disks.other
        room = 1 << 30 if has_room else 100
        monkeypatch.setattr(moving, "free_bytes", lambda directory: room)
        await disks.move(other)
        assert ("no room" in caplog.text) is not has_room
        assert disks.home == (other if has_room else home)
        assert disks.names(home if has_room else other) == []
        await disks.produce(1)


async def test_nothing_is_durable_in_one_directory_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the two are exchanged nobody is told of a record, or of a deletion."""
    async with two_directories(tmp_path) as disks:
        await disks.fill()
        metadata = disks.server.services.metadata
        goes_on, move = asyncio.Event(), metadata.move
        asked: list[str] = []

        async def held(topic_partition: TopicPartition, log_dir: str) -> None:
            asked.append(log_dir)
            if len(asked) == 2:
                await goes_on.wait()
            await move(topic_partition, log_dir)

        monkeypatch.setattr(metadata, "move", held)
        home, other = disks.home, disks.other
        await disks.begin(other)
        await until(lambda: len(asked) == 2)
        assert asked == [str(home), str(other)]
        questions = (lambda c: send(c, b"x"), lambda c: delete_records(c, 7))
        asking = [
            asyncio.ensure_future(with_client(disks.server, each)) for each in questions
        ]
        await until(lambda: disks.partition.view.log_end_offset == 41)
        await until(lambda: disks.partition.view.log_start_offset == 7)
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in asking)
        assert disks.partition.view.high_watermark == 40
        goes_on.set()
        assert await asyncio.gather(*asking) == [40, ErrorCode.NONE]
        await disks.moved()
        assert disks.home == other
        checkpoint = (other / "log-start-offset-checkpoint").read_text()
        assert "t 0 7" in checkpoint
        assert list(await disks.records()) == list(range(7, 41))


async def test_a_log_that_is_cut_at_the_end_is_copied_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a follower's is; not on the loop, and not while nothing becomes durable."""
    async with two_directories(tmp_path) as disks:
        await disks.fill()
        metadata, log = disks.server.services.metadata, disks.partition.log
        assert log is not None
        move, asked = metadata.move, []

        async def cutting(topic_partition: TopicPartition, log_dir: str) -> None:
            asked.append(Path(log_dir))
            if len(asked) == 2:
                log.truncation.truncate_to(30, 0)
            await move(topic_partition, log_dir)

        monkeypatch.setattr(metadata, "move", cutting)
        home, other = disks.home, disks.other
        await disks.move(other)
        assert asked == [home, other, home, other]
        assert disks.home == other
        assert list(await disks.records()) == list(range(30))


@pytest.mark.parametrize("step", ["hold", "last_plan", "exchange"])
async def test_a_failure_at_the_end_leaves_it_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    async with two_directories(tmp_path) as disks:
        await disks.fill()
        home, other = disks.home, disks.other
        monkeypatch.setattr(
            f"odradek.storage.directory.log_move.LogMove.{step}", _failing
        )
        await disks.move(other)
        monkeypatch.undo()
        assert disks.home == home
        assert disks.names(other) == []
        await disks.produce(1)
        assert disks.known_home == home
        await disks.move(other)
        assert disks.names(other) == ["t-0"]
        assert len(await disks.records()) == 41


def _failing(*_: object) -> Callable[[], None]:
    raise KafkaStorageError("no")
