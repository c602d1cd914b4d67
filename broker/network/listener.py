"""A listening socket, and the connections that came through it."""

from __future__ import annotations

import asyncio
import errno
import socket
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.runtime.start_error import StartError, why_not_listening

from .connection import Connection
from .reading_gate import FROZEN
from .response_queue import CatchUp

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from odradek.broker.requests.context import ConnectionInfo

    from .guarded_connection import Guards
    from .network import Network
    from .pre_auth import PreAuth
    from .tls.door import Door, Tls

SWEEP_INTERVAL_MS = 1000
_IDLE_SWEEP_INTERVAL_MS_MAX = 30_000


class ListenerError(StartError):
    """The address cannot be listened on; the message says which and why."""


class Listener:
    """Accepts connections on one address; cuts the slow and closes the idle ones."""

    def __init__(
        self,
        name: str,
        host: str,
        port: int,
        network: Network,
        tls: Tls | None = None,
        guards: Guards | None = None,
    ) -> None:
        """With ``tls`` what clients send is encrypted, with ``guards`` they log in."""
        self.name = name
        self.host = host
        self.port = port
        self.network = network
        self.tls = tls
        self._guards = guards
        self.connections: set[Connection] = set()
        self.catch_up = CatchUp()
        # Told when a client is gone; mostly nobody.
        self.watchers: list[Callable[[ConnectionInfo], object]] = []
        self._watched: set[Connection] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | Door | None = None
        self._is_stopping = self._is_frozen = False
        self._all_gone = asyncio.Event()
        self._idle_sweep_ms = 0

    @property
    def is_accepting(self) -> bool:
        """Whether clients can connect."""
        return self._server is not None and not self._is_stopping

    @property
    def failed_handshake_count(self) -> int:
        """How many clients have made no handshake of TLS."""
        return getattr(self._server, "failed_count", 0)

    async def start(self) -> None:
        """Accept connections. With port 0, ``port`` then says which one it is.

        Raises:
            ListenerError: the address is taken, or is none of this machine's.
        """
        try:
            self._server = await self._open()
        except OSError as error:
            reason = why_not_listening(error)
            if error.errno == errno.EADDRINUSE:
                reason += "; is another broker running?"
            raise ListenerError(
                f"cannot listen on {self.host or '*'}:{self.port}: {reason}"
            ) from error
        self.port = self._server.sockets[0].getsockname()[1]
        self._set_buffer_sizes()

    async def _open(self) -> asyncio.Server | Door:
        backlog = self.network.options.socket_listen_backlog_size
        make_connection = self.make_connection()
        if self.tls is not None:
            from .tls.door import Door  # few brokers have one

            door = Door(self.network, self.tls, make_connection)
            await door.open(self.host or None, self.port, backlog)
            return door
        return await asyncio.get_running_loop().create_server(
            make_connection,
            _resolvable(self.host),
            self.port,
            backlog=backlog,
            reuse_address=True,
        )

    def make_connection(self) -> Callable[[], Connection]:
        """What makes the connection of each client that comes."""
        if self._guards is None:
            return partial(Connection, self)
        from .guarded_connection import GuardedConnection  # few listeners have them

        return partial(GuardedConnection, self, self._guards)

    def admits(self, peer_host: str) -> bool:
        """Whether a client may come in that has connected; the log says why not.

        Who comes through a door was asked there.
        """
        if self.tls is not None:
            return True
        refusal = self.network.admission.refusal(peer_host)
        if refusal is None:
            return True
        limit, reason = refusal
        line = f"connection from {peer_host} refused: {reason}"
        self.network.log.warn(line, limit)
        return False

    async def stop(self, drain_ms: int) -> None:
        """Accept nothing more, answer what was asked, close.

        Whatever is not answered after ``drain_ms`` is cut off.
        """
        self._is_stopping = True
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.finish()
        if self.connections:
            timer = self.network.clock.call_later(drain_ms, self._abort_all)
            await self._all_gone.wait()
            timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def sweep(self) -> None:
        """Enforce the deadlines; called every ``SWEEP_INTERVAL_MS``."""
        now_ms = self.network.clock.monotonic_ms()
        for pre_auth in self._pre_auths:
            pre_auth.sweep()
        for connection in list(self._watched):
            if not connection.check_deadlines(now_ms):
                self._watched.discard(connection)
        if now_ms >= self._idle_sweep_ms:
            idle_ms = self.network.options.connections_max_idle_ms
            self._idle_sweep_ms = now_ms + min(
                idle_ms // 10, _IDLE_SWEEP_INTERVAL_MS_MAX
            )
            for connection in list(self.connections):
                connection.check_idle(now_ms)

    def freeze(self) -> None:
        """Read nothing until `thaw`, also of clients that come."""
        self._is_frozen = True
        for connection in self.connections:
            connection.stop_starting(FROZEN)

    def thaw(self) -> None:
        """Read again."""
        self._is_frozen = False
        for connection in list(self.connections):
            connection.start_again(FROZEN)

    def add(self, connection: Connection) -> None:
        """A client was let in."""
        self.connections.add(connection)
        if self._is_frozen:
            connection.stop_starting(FROZEN)
            asyncio.get_running_loop().call_soon(connection.gate.pause_again)
        if self._is_stopping:
            connection.finish()

    def remove(self, connection: Connection) -> None:
        """A client is gone."""
        self.connections.discard(connection)
        self._watched.discard(connection)
        for watcher in self.watchers:
            watcher(connection.info)
        if self._is_stopping and not self.connections:
            self._all_gone.set()

    def watch(self, connection: Connection) -> None:
        """Look at this connection in every sweep until nothing of it is late."""
        self._watched.add(connection)

    def start_task(
        self, coroutine: Coroutine[Any, Any, Any], name: str
    ) -> asyncio.Task[Any]:
        """Run a handler's coroutine; it goes on when its client has left."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def _pre_auths(self) -> set[PreAuth]:
        """Those who are here and not known yet, where that may be: mostly nowhere."""
        parts = (self.tls, self._guards)
        return {part.pre_auth for part in parts if part is not None}

    def _set_buffer_sizes(self) -> None:
        """Give the sockets the buffers that somebody asked for.

        Only then: Kafka's defaults of 100 KiB are less than what the system finds
        out by itself for each connection.
        """
        options = self.network.options
        assert self._server is not None
        for name, size, option in (
            (
                "socket.send.buffer.bytes",
                options.socket_send_buffer_bytes,
                socket.SO_SNDBUF,
            ),
            (
                "socket.receive.buffer.bytes",
                options.socket_receive_buffer_bytes,
                socket.SO_RCVBUF,
            ),
        ):
            if name in options.explicit and size > 0:
                for listening in self._server.sockets:
                    listening.setsockopt(socket.SOL_SOCKET, option, size)

    def _abort_all(self) -> None:
        for connection in list(self.connections):
            connection.abort()


def _resolvable(host: str) -> Any:
    """``host`` as the system's resolver takes it; None are all addresses.

    As bytes: the loop would load the codec of names beyond ASCII for any text.
    """
    if not host:
        return None
    return [host.encode()] if host.isascii() else host
