"""Sockets that listen, whose clients are looked at before anything is made of them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.memory.limits import LimitedLog

ACCEPTED_A_TURN: Final = 4  # more than make a step of a handshake in one
ACCEPTING_MS_MAX: Final = 1  # then those who are in have their turn
_PAUSE_MS: Final = 1000  # after the system had no more files


class Acceptor:
    """Gives ``meet`` the socket of each client that connects, and its address."""

    def __init__(
        self,
        log: LimitedLog,
        clock: Clock,
        meet: Callable[[socket.socket, Any], None],
    ) -> None:
        self.sockets: tuple[socket.socket, ...] = ()
        self._log = log
        self._clock = clock
        self._meet = meet

    async def open(self, host: str | None, port: int, backlog: int) -> None:
        """Listen on every address that ``host`` has.

        Raises:
            OSError: one of them is taken, or none of this machine's.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        opened: list[socket.socket] = []
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                opened.append(_listening(family, address, port, backlog))
                port = port or opened[0].getsockname()[1]
        except OSError:
            for sock in opened:
                sock.close()
            raise
        self.sockets = tuple(opened)
        for sock in opened:
            loop.add_reader(sock.fileno(), self._accept, sock, sock.family)

    def close(self) -> None:
        """Accept nobody any more."""
        loop = asyncio.get_running_loop()
        for sock in self.sockets:
            loop.remove_reader(sock.fileno())
            sock.close()
        self.sockets = ()

    def _accept(self, listening: socket.socket, family: int) -> None:
        end_ms = self._clock.monotonic_ms() + ACCEPTING_MS_MAX
        for _ in range(ACCEPTED_A_TURN):
            try:
                sock, peer = _accepted(listening, family)
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # mostly no more files
                self._pause(listening, error)
                return
            self._meet(sock, peer)
            if self._clock.monotonic_ms() >= end_ms:
                return

    def _pause(self, listening: socket.socket, error: OSError) -> None:
        self._log.warn(f"no connection is accepted for a second: {error}", None)
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening.fileno())

        def go_on() -> None:
            if listening in self.sockets:
                loop.add_reader(
                    listening.fileno(), self._accept, listening, listening.family
                )

        self._clock.call_later(_PAUSE_MS, go_on)


def _accepted(listening: socket.socket, family: int) -> tuple[socket.socket, Any]:
    """Who has connected, as `socket.accept` says it.

    That makes names of the numbers of the family and the type first, in ten calls.
    """
    fd, peer = listening._accept()  # type: ignore[attr-defined]
    return socket.socket(family, socket.SOCK_STREAM, 0, fd), peer


def _listening(family: int, address: Any, port: int, backlog: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setblocking(False)
        sock.bind((address[0], port, *address[2:]))
        sock.listen(backlog)
    except OSError:
        sock.close()
        raise
    return sock
