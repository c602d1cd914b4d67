"""``DATA_DIR/admin.sock``: commands for what no API of Kafka offers.

A request is one line, an object in JSON: ``{"request": NAME, ...}``. The answer is a
line ``{"item": ...}`` for everything there is to say, as soon as it is known, and at
the end ``{"done": true}`` or ``{"error": WORD, "message": TEXT}``. The connection then
takes the next request. Who hangs up is not told any more; what was begun goes on,
unless it is a request to watch (``watching``): that ends with its asker, or the broker.

The file belongs to the user of the broker alone: who can open it may ask. The lock of
the data directory is ours, so one that is there before us is that of a dead broker.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import stat
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import aclosing, suppress
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
# The items of an answer, one after the other.
Items = AsyncGenerator[Mapping[str, Any], None]
# What answers a request.
AdminRequest = Callable[[Request], Items]


class AdminError(Exception):
    """A request cannot be answered. ``word`` is for programs, the text for people."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


class AdminSocket:
    """Answers requests on the socket of a data directory."""

    def __init__(
        self,
        directory: Path,
        requests: Mapping[str, AdminRequest],
        bugs: Bugs,
        watching: Collection[str] = (),
        connections_max: int | None = None,
    ) -> None:
        self.path = directory / SOCKET_NAME
        self._address = admin_address(directory)
        self._requests = requests
        self._bugs = bugs
        self._watching = watching
        self._connections_max = connections_max or CONNECTIONS_MAX
        self.line_size_max = LINE_SIZE_MAX
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], _Connection] = {}

    async def start(self) -> bool:
        """Take requests. Returns whether that works; the log says why it does not."""
        try:
            self._server = await asyncio.start_unix_server(
                self._accept, sock=_bind(self._address), limit=self.line_size_max
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
        connection = _Connection(reader, writer, self.line_size_max)
        serve = self._serve(connection)
        if len(self._connections) >= self._connections_max:
            serve.close()
            serve = connection.refuse(f"{self._connections_max} others are connected")
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
            if name in self._watching:
                connection.end_with_asker()
            # Closed when nobody reads it any more: a request may hold something.
            async with aclosing(self._requests[name](request)) as items:
                async for item in items:
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
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        line_size_max: int,
    ) -> None:
        self.is_busy = False
        self._line_size_max = line_size_max
        self._reader = reader
        self._writer = writer
        self._ahead: asyncio.Task[bytes] | None = None

    async def next_line(self) -> bytes:
        """Empty when there is no other."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            return await ahead
        return await self._read_line()

    async def _read_line(self) -> bytes:
        try:
            return await self._reader.readline()
        except ValueError:
            await self.refuse(f"a line has at most {self._line_size_max} bytes")
            return b""

    def end_with_asker(self) -> None:
        """Cancel the task that is running now when the other side hangs up."""
        self.is_busy = False  # nor does a broker that stops wait for it
        answering = asyncio.current_task()
        assert answering is not None
        self._ahead = asyncio.create_task(self._read_line(), name="admin, next")

        def look(ahead: asyncio.Task[bytes]) -> None:
            # Once it has been taken as the next request it is nobody's end.
            if ahead is not self._ahead or ahead.cancelled():
                return
            if ahead.exception() is not None or not ahead.result():
                answering.cancel()

        self._ahead.add_done_callback(look)

    async def send(self, value: Mapping[str, Any]) -> None:
        """Raises ConnectionError when nobody reads it."""
        import json  # most brokers are never asked

        if self._writer.is_closing():  # uvloop would not call that a ConnectionError
            raise ConnectionResetError
        self._writer.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")
        await self._writer.drain()

    async def refuse(self, message: str) -> None:
        """Say why, and no more."""
        with suppress(ConnectionError):
            await self.send({"error": "refused", "message": message})

    def close(self) -> None:
        if self._ahead is not None:
            self._ahead.cancel()
        self._writer.close()


def _bind(address: str) -> socket.socket:
    """A socket at that path, for this user alone; it listens later.

    Until it listens nobody can connect: its mode is set in time.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(address).st_mode):
            raise FileExistsError(0, "something that is not a socket is in its place")
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
        raise AdminError("malformed", f"the line is not JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("request"), str):
        raise AdminError("malformed", 'a request is an object with a name, "request"')
    return request.pop("request"), request
