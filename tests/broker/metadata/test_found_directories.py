"""What is on the disk is compared with the catalogue before anybody is served."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.broker.node import server as server_module
from odradek.broker.node.late_modules import load_late
from odradek.broker.node.server import Server
from odradek.client.connection import Connection
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from odradek.storage.formats.partition_metadata import PARTITION_METADATA_NAME
from tests.broker.node.test_server import (
    config,
    create_topic,
    produce,
    running,
    with_client,
)

NO_LEADER = -1


def leader_of_it(connection: Connection) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    response = connection.request(request, MetadataResponse, 9)
    return response.topics[0].partitions[0].leader_id


async def start_with(
    client: Callable[[Connection], object],
    data_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Server:
    """A broker with a client that came before anything else was loaded."""
    server = Server(config(data_dir))

    async def load() -> None:
        await with_client(server, client)
        await load_late()

    monkeypatch.setattr(server_module, "load_late", load)
    await server.start()
    return server


async def test_a_topic_never_begins_with_the_records_of_a_stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    async with running(theirs) as server:
        await with_client(server, create_topic)
        assert await with_client(server, produce) == 0
    shutil.copytree(theirs / "t-0", mine / "t-0")
    (mine / "t-0" / PARTITION_METADATA_NAME).unlink()
    server = await start_with(create_topic, mine, monkeypatch)
    try:
        assert "t-0 belongs to no topic" in caplog.text
        assert await with_client(server, produce) == 0
    finally:
        await server.stop()


async def test_what_lost_its_directory_is_offline_for_the_first_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
    shutil.rmtree(tmp_path / "t-0")
    told: list[int] = []

    def ask(connection: Connection) -> None:
        told.append(leader_of_it(connection))

    server = await start_with(ask, tmp_path, monkeypatch)
    await server.stop()
    assert told == [NO_LEADER]
    assert "1 partitions hold records and are offline" in caplog.text
