"""Limits of those who have not logged in, and what is put around the dispatcher."""

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.network.entry import Layers
from odradek.broker.node.listening import make_listeners
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.in_pieces import PIECE_COUNT, PIECE_INTERVAL_MS
from odradek.broker.runtime.parked import Parked
from odradek.broker.security.login.gate import GateState
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.sasl import SaslHandshakeRequest
from tests.broker.security.certificates.options import tls_options
from tests.fakes.login import LoginBroker, LoginClient, login_broker, plain_token
from tests.fakes.network import settle

METADATA = MetadataRequest(topics=[])
VERSIONS = ApiVersionsRequest(client_software_name="t", client_software_version="1")
HANDSHAKE = SaslHandshakeRequest(mechanism="PLAIN")
SESSION_MS = 60_000
IN_FLIGHT = 5  # of Java's producer


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


async def test_before_the_login_an_answer_waits_for_nobody(tmp_path: Path) -> None:
    """Afterwards those of one turn of the loop leave together."""
    async with login_broker(tmp_path) as broker:
        client = broker.connect()
        receive(client, VERSIONS, 3)
        assert client.transport.write_count == 1
        receive(client, HANDSHAKE, 1)
        assert client.transport.write_count == 2
        client.connection._responses.flush()
        client._read_size = len(client.transport.sent)
        assert (await client.authenticate(plain_token("alice", "secret"))) is not None
        count = client.transport.write_count
        receive(client, VERSIONS, 3)
        receive(client, VERSIONS, 3)
        assert client.transport.write_count == count
        await settle()
        assert client.transport.write_count == count + 1


def receive(client: LoginClient, request: Any, version: int) -> None:
    """A request in a turn of the loop that is not over."""
    data = encode_request(request, version, 1, "test")
    room = client.connection.get_buffer(-1)
    room[: len(data)] = data
    client.connection.buffer_updated(len(data))


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


# Logins again, of clients that have asked for something else meanwhile


@pytest.mark.parametrize("count", range(IN_FLIGHT + 1))
async def test_over_tls_who_takes_an_answer_a_turn_gets_all_to_the_handshake(
    tmp_path: Path, count: int
) -> None:
    """As Java's client: what it has not taken waits until there is more to receive."""
    async with tls_broker(tmp_path) as broker:
        client = broker.connect()
        await client.log_in("alice", "secret")
        parked = park_all(broker)
        arrived = arrivals(client)
        for _ in range(count):
            client.send(METADATA, 12)
        client.send(HANDSHAKE, 1)
        if count:
            await broker.clock.tick(PIECE_COUNT * PIECE_INTERVAL_MS)
        for answer in parked:
            answer.set_result(b"whatever")
        for _ in range(PIECE_COUNT + 1):
            await broker.clock.tick(PIECE_INTERVAL_MS)
        assert len(taken(arrived)) == count + 1, "the last is that of the handshake"
        assert taken(arrived) == client.frames()
        answer = await client.authenticate(plain_token("alice", "secret"))
        assert answer.session_lifetime_ms == SESSION_MS


async def test_a_handshake_starts_when_all_before_it_is_answered(
    tmp_path: Path,
) -> None:
    async with login_broker(tmp_path, connections_max_reauth_ms=SESSION_MS) as broker:
        client = broker.connect()
        await client.log_in("alice", "secret")
        parked = park_all(broker)
        client.send(METADATA, 12)
        client.send(HANDSHAKE, 1)
        await settle()
        assert client.frames() == []
        assert client.gate.state is GateState.OPEN
        parked[0].set_result(b"whatever")
        await settle()
        assert len(client.frames()) == 2, "without TLS there is no need of pieces"


async def test_who_leaves_between_the_pieces_is_forgotten(tmp_path: Path) -> None:
    async with tls_broker(tmp_path) as broker:
        client = broker.connect()
        await client.log_in("alice", "secret")
        client.send(HANDSHAKE, 1)
        await broker.clock.tick(2 * PIECE_INTERVAL_MS)
        client.transport.lose()
        await broker.clock.tick(PIECE_COUNT * PIECE_INTERVAL_MS)
        assert broker.clock.timer_count == 0
        assert broker.listener.connections == set()


@asynccontextmanager
async def tls_broker(directory: Path) -> AsyncIterator[LoginBroker]:
    """Logins end; there is TLS, of which transports in memory know nothing."""
    async with login_broker(directory) as broker:
        given = tls_options(
            protocol="SASL_SSL",
            sasl_enabled_mechanisms=("PLAIN",),
            connections_max_reauth_ms=SESSION_MS,
        ).config
        (broker.listener,) = await make_listeners(
            given, broker.services, broker.listener.network, broker.catalog
        )
        # As the door does, for the one client of a test.
        assert broker.listener.network.admission.refusal("127.0.0.1") is None
        yield broker


def park_all(broker: LoginBroker) -> list[Parked]:
    """What clients ask for once they are in waits until the test answers it."""
    parked: list[Parked] = []

    def layer(inner: Any, connection: ConnectionInfo, frame: memoryview) -> Any:
        parked.append(Parked())
        return inner(connection, frame)._replace(answer=parked[-1])

    Layers(broker.dispatcher, [broker.listener]).put(layer)
    return parked


def arrivals(client: LoginClient) -> dict[float, bytearray]:
    """What the client gets from now on, by the time when it does."""
    arrived: dict[float, bytearray] = {}
    transport, clock = client.transport, client.broker.clock
    write = transport.writelines

    def writelines(list_of_data: Any) -> None:
        arrived.setdefault(clock.elapsed_ms, bytearray()).extend(b"".join(list_of_data))
        write(list_of_data)

    transport.writelines = writelines  # type: ignore[method-assign]
    return arrived


def taken(arrived: dict[float, bytearray]) -> list[bytes]:
    """The answers that a client takes: one, if it is whole, each time it gets some."""
    held, found = bytearray(), []
    for data in arrived.values():
        held += data
        end = 4 + int.from_bytes(held[:4], "big")
        if len(held) >= max(end, 5):
            found.append(bytes(held[4:end]))
            del held[:end]
    return found
