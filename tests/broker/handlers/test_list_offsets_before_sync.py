"""ListOffsets while what acks=1 has acknowledged is not durable yet."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.records.list_offsets import handle_list_offsets
from odradek.broker.replica.waiting.patience import DISK_TIMEOUT_MS
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
)
from tests.broker.handlers.records.test_list_offsets import (
    NOTHING,
    T0,
    append,
    ask,
    at,
    found,
    request,
)
from tests.fakes.replicas import NOW_MS, Replicas, replicas


async def told(
    broker: Replicas, asked: ListOffsetsPartition, **fields: Any
) -> asyncio.Task[ListOffsetsPartitionResponse]:
    """The answer that a client waits for, which has begun to."""
    version = fields.pop("version", 11)
    waiting = handle_list_offsets(broker.context(version), request(asked, **fields))

    async def answer() -> ListOffsetsPartitionResponse:
        response = await waiting
        response.encode(version)
        found: ListOffsetsPartitionResponse = response.topics[0].partitions[0]
        return found

    task = asyncio.create_task(answer())
    await asyncio.sleep(0)
    assert not task.done()
    return task


@pytest.mark.parametrize("isolation_level", [0, 1])
@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (-1, found(2)),
        (-3, found(1, NOW_MS + 5000)),
        (NOW_MS + 1, found(1, NOW_MS + 5000)),
        (NOW_MS + 5001, NOTHING),
    ],
)
async def test_what_acks_1_has_acknowledged_is_there_when_it_is_asked_for(
    tmp_path: Path, timestamp: int, expected: Any, isolation_level: int
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a")
        await broker.commit()
        append(broker, b"b", timestamp=NOW_MS + 5000)
        asked = {"isolation_level": isolation_level}
        answer = await told(broker, at(timestamp), **asked)
        assert ask(broker, at(-2), **asked) == found(0), "which waits for nothing"
        assert ask(broker, at(-1), replica_id=-2) == found(2)
        append(broker, b"c", timestamp=NOW_MS + 5000)
        await broker.commit()
        assert await answer == (found(3) if timestamp == -1 else expected)
        assert ask(broker, at(-1), **asked) == found(3), "nothing is hidden now"
        assert broker.manager.visible_ends.waiting.delayed_count == 0


async def test_the_first_records_of_a_partition_wait_for_the_catalogue(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a")
        answer = await told(broker, at(-1))
        broker.sync()
        await asyncio.sleep(0)
        assert not answer.done(), "a power cut could take the partition"
        await broker.commit()
        assert await answer == found(1)


@pytest.mark.parametrize(
    ("version", "error_code"),
    [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)],
)
async def test_with_a_slow_disk_the_client_is_to_ask_again(
    tmp_path: Path, version: int, error_code: int
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a")
        answer = await told(broker, at(-1), version=version)
        broker.clock.advance(DISK_TIMEOUT_MS - 1)
        await asyncio.sleep(0)
        assert not answer.done()
        broker.clock.advance(DISK_TIMEOUT_MS // 64 + 1)
        assert (await answer).error_code == error_code


async def test_with_a_broken_disk_the_error_is_told(tmp_path: Path) -> None:
    async with replicas(tmp_path, stops_cleanly=False) as broker:
        await broker.create_topic()
        append(broker, b"a")
        await broker.commit()
        append(broker, b"b")
        answer = await told(broker, at(-1))
        broker.files.fail("sync")
        broker.sync()
        assert (await answer).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert ask(broker, at(-1)) == found(1), "what is durable can still be read"


async def test_a_topic_that_is_deleted_meanwhile_is_gone(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        append(broker, b"a")
        answer = await told(broker, at(-1))
        await broker.manager.stop([T0])
        assert (await answer).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("durability", ["interval", "none"])
async def test_where_nothing_waits_for_the_disk_the_end_does_not(
    tmp_path: Path, durability: str
) -> None:
    async with replicas(tmp_path, durability=durability) as broker:
        await broker.create_topic()
        append(broker, b"a")
        assert ask(broker, at(-1)) == found(1)
