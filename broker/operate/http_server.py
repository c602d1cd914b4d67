"""A small HTTP server for machines that ask: ``/metrics``, ``/livez``, ``/readyz``.

GET and HEAD only, one request a connection, no bodies. Whoever is slow, or asks for
more than fits into a few lines, is hung up on.
"""

from __future__ import annotations

import asyncio
import errno
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.runtime.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from odradek.broker.config.options.listener import HostPort
    from odradek.broker.runtime.bugs import Bugs

CONNECTIONS_MAX = 32
REQUEST_SIZE_MAX = 16 * 1024
REQUEST_TIMEOUT_S = 10.0
TEXT = "text/plain; charset=utf-8"


class Reply(NamedTuple):
    """What is answered."""

    status: HTTPStatus
    body: bytes
    content_type: str = TEXT


class HttpServer:
    """Answers what is asked for by path."""

    def __init__(
        self,
        address: HostPort,
        pages: Mapping[str, Callable[[], Awaitable[Reply]]],
        bugs: Bugs,
    ) -> None:
        self.host, self.port = address
        self._pages = pages
        self._bugs = bugs
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen. With port 0, ``port`` then says which one it is.

        Raises:
            StartError: the address is taken, or is none of this machine's.
        """
        try:
            self._server = await asyncio.start_server(
                self._accept, self.host or None, self.port, limit=REQUEST_SIZE_MAX
            )
        except OSError as error:
            reason = error.strerror or str(error)
            if error.errno == errno.EADDRINUSE:
                reason = "the port is in use"
            raise StartError(
                f"http.listener: cannot listen on {self.host or '*'}:{self.port}:"
                f" {reason}"
            ) from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no more, and hang up."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._tasks) >= CONNECTIONS_MAX:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(
            self._serve(reader, writer), name="http"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                with suppress(ConnectionError, asyncio.IncompleteReadError):
                    method, reply = await self._answer(reader)
                    writer.write(_encoded(reply, has_body=method != "HEAD"))
                    await writer.drain()
        except TimeoutError:
            writer.transport.abort()
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[str, Reply]:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            return "GET", _plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split()
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return "GET", _plain(HTTPStatus.BAD_REQUEST)
        method, target, _ = words
        if method not in ("GET", "HEAD"):
            return method, _plain(HTTPStatus.METHOD_NOT_ALLOWED)
        page = self._pages.get(target.partition("?")[0])
        if page is None:
            return method, _plain(HTTPStatus.NOT_FOUND, ", ".join(self._pages))
        try:
            return method, await page()
        except Exception as error:
            self._bugs.record(f"http {target}", error)
            return method, _plain(HTTPStatus.INTERNAL_SERVER_ERROR)


def _plain(status: HTTPStatus, more: str = "") -> Reply:
    text = f"{status.phrase}: {more}\n" if more else f"{status.phrase}\n"
    return Reply(status, text.encode())


def _encoded(reply: Reply, *, has_body: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status.value} {reply.status.phrase}",
        f"Content-Type: {reply.content_type}",
        f"Content-Length: {len(reply.body)}",
        "Cache-Control: no-store",
        "Connection: close",
    ]
    if reply.status == HTTPStatus.METHOD_NOT_ALLOWED:
        lines.append("Allow: GET, HEAD")
    head = "\r\n".join(lines) + "\r\n\r\n"
    return head.encode("latin-1") + (reply.body if has_body else b"")
