import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.handlers.cluster.log_dirs import handle_describe_log_dirs
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from odradek.storage.directory.log_move import LogMove
from tests.broker.node.test_server import with_client
from tests.crash.broker_life import create_topic
from tests.fakes.broker import until
from tests.fakes.replicas import Replicas, batch_of, replicas
from tests.fakes.two_directories import two_directories


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


async def test_a_partition_whose_move_is_nearly_over_is_in_one_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named twice in a directory, it would be in none for Kafka's tools."""
    async with two_directories(tmp_path) as disks:
        await disks.fill()
        is_held, goes_on = threading.Event(), threading.Event()

        def held(move: LogMove) -> None:
            is_held.set()
            goes_on.wait()

        monkeypatch.setattr(LogMove, "sync_old_name", held)
        other = disks.other
        await disks.begin(other)
        try:
            await until(is_held.is_set)
            response = await with_client(
                disks.server,
                lambda client: client.request(
                    DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 4
                ),
            )
        finally:
            goes_on.set()
        await disks.moved()
    shown = [
        (result.log_dir, partition.is_future_key)
        for result in response.results
        for topic in result.topics
        if topic.name == "t"
        for partition in topic.partitions
    ]
    assert shown == [(str(other), False)]


async def test_what_other_brokers_have_is_made_here_where_it_was_asked_for(
    tmp_path: Path,
) -> None:
    """As kafka-reassign-partitions.sh asks, before and after a partition comes."""
    async with two_directories(tmp_path) as disks:
        await with_client(disks.server, lambda client: create_topic(client, "t", {}))
        replicas = [7]
        placed: Any = SimpleNamespace(replicas=replicas)
        cluster: Any = SimpleNamespace(
            placed=lambda topic_id, number: placed,
            forwarding=SimpleNamespace(versions=None, takes=lambda key: False),
        )
        disks.server.services.cluster = cluster
        for path in disks.paths:
            assert await disks.ask(path, "t") == [ErrorCode.REPLICA_NOT_AVAILABLE]
            assert await disks.described() == {}
            replicas[:] = [7, disks.server.services.node_id]
            assert [*await disks.described()] == [path]
            assert await disks.ask(path, "t") == [ErrorCode.NONE]
            replicas.pop()
        disks.server.services.cluster = None
        await disks.produce(1)
        assert disks.home == path
