from pathlib import Path

import pytest

from broker.handlers.log_dirs import handle_describe_log_dirs
from protocol.errors import ErrorCode, KafkaStorageError
from protocol.messages.log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from tests.fakes.replicas import Replicas, batch_of, replicas


async def described(
    broker: Replicas, topics: dict[str, list[int]] | None = None
) -> list[DescribeLogDirsResult]:
    named = None
    if topics is not None:
        named = [
            DescribableLogDirTopic(topic=t, partitions=p) for t, p in topics.items()
        ]
    request = DescribeLogDirsRequest(topics=named)
    return (await handle_describe_log_dirs(broker.context(5), request)).results


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    return {
        (topic.name, each.partition_index): each.partition_size
        for topic in result.topics
        for each in topic.partitions
    }


async def test_partitions_are_where_they_are(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        place = await broker.create_topic("t", 2)
        batch = batch_of(b"x")
        broker.manager.append_records({place: batch}, acks=1, timeout_ms=0)
        [result] = await described(broker)
        assert result.error_code == 0
        assert sizes(result) == {("t", 0): len(batch), ("t", 1): 0}
        assert Path(result.log_dir).is_absolute()
        [result] = await described(broker, {"t": [0, 9], "nope": [0]})
        assert sizes(result) == {("t", 0): len(batch)}
        [result] = await described(broker, {})
        assert result.topics == []


async def test_a_failed_directory_says_so(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic("t")
        [directory] = broker.logs.directories
        directory.failure = KafkaStorageError("gone")
        [result] = await described(broker)
        assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert (result.topics, result.total_bytes) == ([], -1)


@pytest.mark.parametrize("version", range(1, 6))
async def test_every_version_can_be_written(tmp_path: Path, version: int) -> None:
    async with replicas(tmp_path) as broker:
        request = DescribeLogDirsRequest(topics=None)
        answer = await handle_describe_log_dirs(broker.context(version), request)
        assert answer.encode(version)
