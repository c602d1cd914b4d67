"""Limits of those who have not logged in, and what is put around the dispatcher."""

import struct
from pathlib import Path
from typing import Any

from odradek.broker.network.entry import Layers
from odradek.broker.requests.context import ConnectionInfo
from odradek.protocol.messages.metadata import MetadataRequest
from tests.fakes.login import login_broker
from tests.fakes.network import settle

METADATA = MetadataRequest(topics=[])


async def test_a_large_request_before_the_login_is_not_read(tmp_path: Path) -> None:
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        client.transport.feed(struct.pack(">i", 100 << 20) + b"x")
        assert client.is_closed
        assert client.connection._reader.held == 0


async def test_who_sends_a_byte_a_second_is_cut_off(tmp_path: Path) -> None:
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        client.transport.feed(struct.pack(">i", 1000))
        for _ in range(10):
            client.transport.feed(b"\0")
            broker.pass_time(1_000)
        await settle()
        assert client.transport.is_aborted
        assert "it has not logged in" in broker.log[0]


async def test_a_crowd_crowds_out_itself_and_nobody_else(tmp_path: Path) -> None:
    async with login_broker(tmp_path, max_connections_unauthenticated=2) as broker:
        known = broker.connect()
        await known.log_in("alice", "secret")
        crowd = [broker.connect() for _ in range(5)]
        await settle()
        assert [x.transport.is_aborted for x in crowd] == [True] * 3 + [False] * 2
        assert (await crowd[-1].log_in("alice", "secret")).error_code == 0
        broker.pass_time(20_000)
        assert (await known.ask(METADATA, 12)).topics == []


async def test_a_layer_sees_nothing_before_the_login_and_all_after_it(
    tmp_path: Path,
) -> None:
    seen: list[int] = []

    def layer(inner: Any, connection: ConnectionInfo, frame: memoryview) -> Any:
        seen.append(frame[1])
        return inner(connection, frame)

    async with login_broker(tmp_path) as broker:
        before, after = broker.connect(), broker.connect()
        await after.log_in("alice", "secret")
        Layers(broker.dispatcher, [broker.listener]).put(layer)
        await before.log_in("alice", "secret")
        assert seen == []
        for client in (before, after):
            assert (await client.ask(METADATA, 12)).topics == []
        assert seen == [3, 3]


async def test_a_stranger_gets_nothing_past_a_layer(tmp_path: Path) -> None:
    def layer(inner: Any, connection: ConnectionInfo, frame: memoryview) -> Any:
        raise AssertionError("nobody is in")

    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        Layers(broker.dispatcher, [broker.listener]).put(layer)
        assert await client.ask(METADATA, 12) is None
