"""``DATA_DIR/admin.sock``: commands for what no API of Kafka offers.

A request is one line, an object in JSON: ``{"request": NAME, ...}``. The answer is a
line ``{"item": ...}`` for everything there is to say, as soon as it is known, and at
the end ``{"done": true}`` or ``{"error": WORD, "message": TEXT}``. The connection then
takes the next request. Who hangs up is not told any more; what was begun goes on.

The file belongs to the user of the broker alone: who can open it may ask. The lock of
the data directory is ours, so one that is there before us is that of a dead broker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from odradek.terminal.spelling import did_you_mean

from .admin_address import LINE_SIZE_MAX, SOCKET_NAME, admin_address

if TYPE_CHECKING:
    from pathlib import Path

    from odradek.broker.runtime.bugs import Bugs

CONNECTIONS_MAX = 16
STOP_TIMEOUT_S = 5
_MODE = 0o600

_logger = logging.getLogger(__name__)

Request = Mapping[str, Any]
# What answers a request: the items of the answer, one after the other.
AdminRequest = Callable[[Request], AsyncIterator[Mapping[str, Any]]]


class AdminError(Exception):
    """A request cannot be answered. ``word`` is for programs, the text for people."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


class AdminSocket:
    """Answers requests on the socket of a data directory."""

    def __init__(
        self, directory: Path, requests: Mapping[str, AdminRequest], bugs: Bugs
    ) -> None:
        self.path = directory / SOCKET_NAME
        self._address = admin_address(directory)
        self._requests = requests
        self._bugs = bugs
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], _Connection] = {}

    async def start(self) -> bool:
        """Take requests. Returns whether that works; the log says why it does not."""
        try:
            self._server = await asyncio.start_unix_server(
                self._accept, sock=_bind(self._address), limit=LINE_SIZE_MAX
            )
        except OSError as error:
            _logger.error(
                "no admin socket, so that odradek compact does not reach this broker: "
                "%s: %s",
                self.path,
                error.strerror or error,
            )
            return False
        return True

    async def stop(self) -> None:
        """Take none any more; requests that are being answered have a little time."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        with suppress(OSError):
            os.unlink(self._address)
        for task, connection in self._connections.items():
            if not connection.is_busy:
                task.cancel()
        tasks = list(self._connections)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_TIMEOUT_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = _Connection(reader, writer)
        serve = self._serve(connection)
        if len(self._connections) >= CONNECTIONS_MAX:
            serve.close()
            serve = connection.refuse(f"{CONNECTIONS_MAX} others are connected")
        task = asyncio.get_running_loop().create_task(serve, name="admin")
        self._connections[task] = connection
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._connections.pop(task).close()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._bugs.record("the admin socket", error)

    async def _serve(self, connection: _Connection) -> None:
        with suppress(ConnectionError):  # it has hung up
            while line := await connection.next_line():
                connection.is_busy = True
                await self._answer(line, connection)
                connection.is_busy = False
                if self._server is None:
                    return

    async def _answer(self, line: bytes, connection: _Connection) -> None:
        try:
            name, request = _parsed(line)
            if name not in self._requests:
                raise AdminError("unknown-request", self._unknown(name))
            async for item in self._requests[name](request):
                await connection.send({"item": item})
        except AdminError as error:
            await connection.send({"error": error.word, "message": str(error)})
        except ConnectionError:
            raise
        except Exception as error:
            self._bugs.record("an admin request", error)
            text = "an unexpected error; the log of the broker has it"
            await connection.send({"error": "unexpected", "message": text})
        else:
            await connection.send({"done": True})

    def _unknown(self, name: str) -> str:
        meant = did_you_mean(name, self._requests)
        hint = f"did you mean {meant}?" if meant else ", ".join(self._requests)
        return f"there is no request {name!r}; {hint}"


class _Connection:
    """Lines of one who asks."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.is_busy = False
        self._reader = reader
        self._writer = writer

    async def next_line(self) -> bytes:
        """Empty when there is no other."""
        try:
            return await self._reader.readline()
        except ValueError:
            await self.refuse(f"a line has at most {LINE_SIZE_MAX} bytes")
            return b""

    async def send(self, value: Mapping[str, Any]) -> None:
        """Raises ConnectionError when nobody reads it."""
        import json  # most brokers are never asked

        self._writer.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")
        await self._writer.drain()

    async def refuse(self, message: str) -> None:
        """Say why, and no more."""
        with suppress(ConnectionError):
            await self.send({"error": "refused", "message": message})

    def close(self) -> None:
        self._writer.close()


def _bind(address: str) -> socket.socket:
    """A socket at that path, for this user alone; it listens later.

    Until it listens nobody can connect: its mode is set in time.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(address).st_mode):
            raise FileExistsError(0, "something that is no socket is in its place")
        os.unlink(address)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.setblocking(False)
        bound.bind(address)
        os.chmod(address, _MODE)
    except BaseException:
        bound.close()
        raise
    return bound


def _parsed(line: bytes) -> tuple[str, Request]:
    """The name of a request, and what else it says."""
    import json

    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise AdminError("malformed", f"the line is no JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("request"), str):
        raise AdminError("malformed", 'a request is an object with a name, "request"')
    return request.pop("request"), request
