import asyncio
import errno
from pathlib import Path
from typing import Any

from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.replicas import LOG_DIR, Replicas, batch_of, replicas

CHECKPOINT = "log-start-offset-checkpoint"


def key(number: int) -> TopicPartition:
    return TopicPartition("t", number)


async def filled(broker: Replicas, partitions: int) -> None:
    await broker.create_topic(partitions=partitions)
    for number in range(partitions):
        for _ in range(3):
            entries = {key(number): batch_of(b"v")}
            broker.manager.append_records(entries, acks=1, timeout_ms=1000)
    await broker.commit()


def note_rounds(broker: Replicas) -> list[str]:
    """What the checkpoint says after each time that it is written."""
    rounds: list[str] = []
    rename = broker.files.rename

    def noting(source: Path, target: Path) -> None:
        rename(source, target)
        if target.name == CHECKPOINT:
            rounds.append(broker.files.content(CHECKPOINT).decode())

    broker.files.rename = noting  # type: ignore[method-assign]
    return rounds


async def test_deletions_that_come_together_share_a_write(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, 9)
        rounds = note_rounds(broker)
        answers = [broker.manager.delete_records({key(0): 1}, 1000)]
        await asyncio.sleep(0)  # its write is under way
        answers += [
            broker.manager.delete_records({key(number): 2}, 1000)
            for number in range(1, 9)
        ]
        for answer in answers:
            await answer
        assert [text.splitlines()[1] for text in rounds] == ["1", "9"]


async def test_a_later_start_is_not_taken_for_durable(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, 1)
        partition = broker.manager.partition(key(0))
        first = broker.manager.delete_records({key(0): 1}, 1000)
        await asyncio.sleep(0)
        second = broker.manager.delete_records({key(0): 3}, 1000)
        assert (await first)[key(0)].low_watermark in (1, 3)
        assert (await second)[key(0)].low_watermark == 3
        assert partition.durable_log_start.offset == 3


async def test_what_is_not_kafkas_error_fails_the_directory(tmp_path: Path) -> None:
    async with replicas(tmp_path, stops_cleanly=False) as broker:
        await filled(broker, 1)

        def broken(directories: Any) -> Any:
            raise OSError(errno.EIO, "Input/output error")

        broker.logs.log_starts_job = broken  # type: ignore[method-assign]
        answer = await broker.manager.delete_records({key(0): 1}, 1000)
        assert answer[key(0)].error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert broker.committer.directories[LOG_DIR].failure is not None


async def test_close_waits_for_what_is_being_written(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await filled(broker, 1)
        answer = broker.manager.delete_records({key(0): 2}, 1000)
        await broker.manager.close()
        assert (await answer)[key(0)].error_code == ErrorCode.NONE
        assert b"t 0 2" in broker.files.content(CHECKPOINT)
