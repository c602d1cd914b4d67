import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from odradek.broker.network.tls.accepting import Acceptor
from odradek.broker.runtime.memory.limits import LimitedLog
from tests.fakes.broker import until
from tests.fakes.clock import FakeClock


class Met:
    """Who has been accepted."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.log: list[str] = []
        self.peers: list[Any] = []
        self.took_ms = 0
        self.acceptor = Acceptor(
            LimitedLog(self.clock, self.log.append), self.clock, self._meet
        )

    def _meet(self, sock: socket.socket, peer: Any) -> None:
        self.peers.append(peer)
        self.clock.advance(self.took_ms)
        sock.close()

    @property
    def port(self) -> int:
        port: int = self.acceptor.sockets[0].getsockname()[1]
        return port


@contextlib.asynccontextmanager
async def accepting(host: str | None = "127.0.0.1") -> AsyncIterator[Met]:
    met = Met()
    await met.acceptor.open(host, 0, 10)
    try:
        yield met
    finally:
        met.acceptor.close()


async def connect(port: int) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()


async def test_who_connects_is_met_until_it_is_closed() -> None:
    async with accepting() as met:
        port = met.port
        await connect(port)
        await until(lambda: len(met.peers) == 1)
        assert met.peers[0][0] == "127.0.0.1"
    assert met.acceptor.sockets == ()
    with pytest.raises(ConnectionRefusedError):
        await connect(port)


@pytest.mark.parametrize(("took_ms", "a_turn"), [(0, 3), (1, 1)])
async def test_a_crowd_leaves_time_for_others(took_ms: int, a_turn: int) -> None:
    async with accepting() as met:
        (sock,) = met.acceptor.sockets
        asyncio.get_running_loop().remove_reader(sock.fileno())
        met.took_ms = took_ms
        clients = [socket.create_connection(("127.0.0.1", met.port)) for _ in range(3)]
        counts = []
        while len(met.peers) < len(clients):
            before = len(met.peers)
            met.acceptor._accept(sock, sock.family)
            counts.append(len(met.peers) - before)
        assert max(counts) == a_turn
        for client in clients:
            client.close()


async def test_all_addresses_have_the_same_port() -> None:
    async with accepting(None) as met:
        assert len({sock.getsockname()[1] for sock in met.acceptor.sockets}) == 1


async def test_a_taken_port_leaves_nothing_open() -> None:
    async with accepting() as met:
        other = Met()
        with pytest.raises(OSError, match="in use"):
            await other.acceptor.open("127.0.0.1", met.port, 10)
        assert other.acceptor.sockets == ()


class Crowded(socket.socket):
    """A listening socket where the system has no more files for a while."""

    is_full = True

    def _accept(self) -> tuple[int, Any]:
        if self.is_full:
            raise OSError(errno.EMFILE, "Too many open files")
        accepted: tuple[int, Any] = super()._accept()  # type: ignore[misc]
        return accepted


async def test_without_files_nobody_is_accepted_for_a_second() -> None:
    async with accepting() as met:
        (sock,), loop = met.acceptor.sockets, asyncio.get_running_loop()
        loop.remove_reader(sock.fileno())
        with sock:
            crowded = Crowded(fileno=os.dup(sock.fileno()))
        met.acceptor.sockets = (crowded,)
        loop.add_reader(crowded.fileno(), met.acceptor._accept, crowded, crowded.family)
        await connect(met.port)
        await until(lambda: met.log)
        assert "accepted for a second: [Errno 24] Too many open files" in met.log[0]
        crowded.is_full = False
        met.clock.advance(999)
        await asyncio.sleep(0)
        assert not met.peers
        met.clock.advance(1)
        await until(lambda: met.peers)
        assert len(met.log) == 1
