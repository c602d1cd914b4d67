"""A03 over TLS: much is claimed, a byte comes each second, and none is waited for.

The sockets are real, the time is not.
"""

import asyncio
import contextlib
import struct
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.network.listener import SWEEP_INTERVAL_MS
from odradek.protocol.framing import UNFINISHED_SIZE_MIN
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from tests.broker.network.tls.words import client_context, tls_broker
from tests.certificates import server
from tests.fakes.broker import until
from tests.fakes.login import LoginBroker, login_broker, plain_token

CLAIM = 100 << 20
CROWD = 20
PEAK_MAX = 32 << 20  # mostly of the clients, who are in this process: 256 KiB each
SECOND_MS = 1000
DEFAULTS = BrokerConfig()
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def secure_broker(directory: Path) -> AsyncIterator[LoginBroker]:
    """With logins over TLS, on a real socket."""
    options = {
        "protocol": "SASL_SSL",
        "ssl_certificate_file": str(server().certificate),
        "ssl_key_file": str(server().key),
    }
    async with login_broker(directory, **options) as broker:
        await broker.listener.start()
        try:
            yield broker
        finally:
            stopping = asyncio.ensure_future(broker.listener.stop(1))
            await broker.clock.tick(0)
            broker.clock.advance(SECOND_MS)
            await stopping


async def crowd(broker: Any, stack: contextlib.AsyncExitStack) -> list[Ends]:
    """So many clients that have made their handshake."""
    found = []
    for _ in range(CROWD):
        ends = await asyncio.open_connection(
            "127.0.0.1", broker.listener.port, ssl=client_context()
        )
        stack.callback(ends[1].close)
        found.append(ends)
    await until(lambda: len(broker.listener.connections) == CROWD)
    return found


async def trickle(broker: Any, clients: list[Ends], duration_ms: int) -> None:
    """A byte of everybody each second; what has come is held, and no more."""
    readers = [
        cast("Any", connection)._reader for connection in broker.listener.connections
    ]
    memory = broker.listener.network.memory
    tracemalloc.start()
    try:
        for _ in range(0, duration_ms, SECOND_MS):
            before = [reader.pending for reader in readers]
            for _, writer in clients:
                writer.write(b"\0")
            await until(
                lambda before=before: all(  # type: ignore[misc]
                    reader.pending > was
                    for reader, was in zip(readers, before, strict=True)
                )
            )
            assert all(reader.held <= UNFINISHED_SIZE_MIN for reader in readers)
            assert memory.used == sum(reader.held for reader in readers)
            pass_time(broker, SECOND_MS)
        assert tracemalloc.get_traced_memory()[1] < PEAK_MAX
    finally:
        tracemalloc.stop()


def pass_time(broker: Any, duration_ms: int) -> None:
    for _ in range(0, duration_ms, SWEEP_INTERVAL_MS):
        broker.clock.advance(min(SWEEP_INTERVAL_MS, duration_ms))
        broker.listener.sweep()


async def all_cut(broker: Any, clients: list[Ends]) -> None:
    for reader, _ in clients:
        with contextlib.suppress(ConnectionError):  # nobody has read what it sent
            assert await reader.read() == b""
    await until(lambda: not broker.listener.connections)
    assert broker.listener.network.memory.used == 0
    assert broker.listener.network.admission.count == 0


async def test_without_logins_it_is_cut_at_the_deadline_of_a_request() -> None:
    """A03"""
    async with tls_broker() as broker, contextlib.AsyncExitStack() as stack:
        broker.tls.pre_auth._count_max = CROWD
        clients = await crowd(broker, stack)
        for _, writer in clients:
            writer.write(struct.pack(">i", CLAIM))
        limit_ms = DEFAULTS.request_arrival_timeout_ms
        await trickle(broker, clients, limit_ms - SECOND_MS)
        assert len(broker.listener.connections) == CROWD
        pass_time(broker, 2 * SECOND_MS)
        await all_cut(broker, clients)
        assert "a request took too long to arrive" in broker.log[0]


async def test_before_the_login_so_much_is_refused_at_once(tmp_path: Path) -> None:
    """A03"""
    async with (
        secure_broker(tmp_path) as broker,
        contextlib.AsyncExitStack() as stack,
    ):
        clients = await crowd(broker, stack)
        for _, writer in clients:
            writer.write(struct.pack(">i", CLAIM))
        await all_cut(broker, clients)
        assert "frame of 104857600 bytes, limit 65536" in broker.log[0]


async def test_before_the_login_little_is_cut_at_its_deadline(tmp_path: Path) -> None:
    """A03: as much as may be claimed then."""
    async with (
        secure_broker(tmp_path) as broker,
        contextlib.AsyncExitStack() as stack,
    ):
        clients = await crowd(broker, stack)
        for _, writer in clients:
            writer.write(struct.pack(">i", DEFAULTS.sasl_server_max_receive_size))
        limit_ms = DEFAULTS.connection_authentication_timeout_ms
        await trickle(broker, clients, limit_ms - SECOND_MS)
        assert len(broker.listener.connections) == CROWD
        pass_time(broker, 2 * SECOND_MS)
        await all_cut(broker, clients)
        assert "it has not logged in" in broker.log[0]


async def test_the_handshake_is_a_part_of_the_time_for_the_login(
    tmp_path: Path,
) -> None:
    """A03: who takes long for one has the rest for the other."""
    limit_ms = DEFAULTS.connection_authentication_timeout_ms
    async with secure_broker(tmp_path) as broker:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", broker.listener.port
        )
        door: Any = broker.listener._server
        await until(lambda: door.waiting_count == 1)
        pass_time(broker, limit_ms - SECOND_MS)
        await writer.start_tls(client_context(), server_hostname="localhost")
        await until(lambda: broker.listener.connections)
        assert broker.log == []
        pass_time(broker, SECOND_MS)
        await all_cut(broker, [(reader, writer)])
        assert "it has not logged in" in broker.log[0]
        writer.close()


async def test_after_the_login_it_is_cut_at_the_deadline_of_a_request(
    tmp_path: Path,
) -> None:
    """A03"""
    async with (
        secure_broker(tmp_path) as broker,
        contextlib.AsyncExitStack() as stack,
    ):
        clients = await crowd(broker, stack)
        for ends in clients:
            await log_in(*ends)
        assert all(
            connection.info.principal == "User:alice"
            for connection in broker.listener.connections
        )
        for _, writer in clients:
            writer.write(struct.pack(">i", CLAIM))
        limit_ms = DEFAULTS.request_arrival_timeout_ms
        await trickle(broker, clients, limit_ms - SECOND_MS)
        assert len(broker.listener.connections) == CROWD
        pass_time(broker, 2 * SECOND_MS)
        await all_cut(broker, clients)
        assert "a request took too long to arrive" in broker.log[0]


async def log_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    chosen = SaslHandshakeRequest(mechanism="PLAIN")
    token = SaslAuthenticateRequest(auth_bytes=plain_token("alice", "secret"))
    for request in (
        encode_request(chosen, 1, 1, "test"),
        encode_request(token, 2, 2, "test"),
    ):
        writer.write(bytes(request))
        size = int.from_bytes(await reader.readexactly(4))
        await reader.readexactly(size)
