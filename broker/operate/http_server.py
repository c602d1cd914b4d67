"""A small HTTP server for machines that ask: ``/metrics``, ``/livez``, ``/readyz``.

One request a connection; pages take GET and HEAD. Whoever is slow, or asks for more
than fits into a few lines, is hung up on. Below the path of a door, where a broker has
one, requests have bodies, and answers that come in parts and take their time.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from odradek.broker.runtime.start_error import StartError, why_not_listening

from .http_reply import Reply, Streamed, plain
from .http_request import BadRequest, HttpRequest, parse_head, read_body
from .http_strangers import HttpPort, advice_without_tls, enter

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from odradek.broker.network.tls.accepting import Acceptor
    from odradek.broker.runtime.bugs import Bugs

CONNECTIONS_MAX = 32
REQUEST_SIZE_MAX = 16 * 1024
REQUEST_TIMEOUT_S = 10.0


class Door(Protocol):
    """Answers what is posted to the paths that begin with ``prefix``."""

    prefix: str
    connections_max: int
    body_size_max: int

    def refusal(self, request: HttpRequest) -> Reply | None:
        """What is answered in place of reading the body; None: it may come."""

    async def answer(self, request: HttpRequest, body: bytes) -> Reply | Streamed:
        """What is answered to a request that was not refused."""


class HttpServer:
    """Answers what is asked for by path."""

    def __init__(
        self,
        port: HttpPort,
        pages: Mapping[str, Callable[[], Awaitable[Reply]]],
        bugs: Bugs,
        door: Door | None = None,
    ) -> None:
        self.host, self.port = port.address
        self._port = port
        self._pages = pages
        self._bugs = bugs
        self._door = door
        self._connections_max = door.connections_max if door else CONNECTIONS_MAX
        self._server: asyncio.Server | Acceptor | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen. With port 0, ``port`` then says which one it is.

        Raises:
            StartError: the address is taken, or is none of this machine's.
        """
        try:
            self._server = await self._open(self.host or None)
        except OSError as error:
            raise StartError(
                f"http.listener: cannot listen on {self.host or '*'}:{self.port}:"
                f" {why_not_listening(error)}"
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

    async def _open(self, host: str | None) -> asyncio.Server | Acceptor:
        if self._port.tls is None:
            return await asyncio.start_server(
                self._accept, host, self.port, limit=REQUEST_SIZE_MAX
            )
        from odradek.broker.network.tls.accepting import Acceptor  # few have one

        acceptor = Acceptor(self._port.log, self._port.clock, self._meet)
        await acceptor.open(host, self.port, CONNECTIONS_MAX)
        return acceptor

    def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._tasks) >= self._connections_max:
            writer.transport.abort()
        else:
            self._begin(self._serve(reader, writer))

    def _meet(self, sock: socket.socket, peer: Any) -> None:
        if len(self._tasks) >= self._connections_max:
            sock.close()
        else:
            sock.setblocking(False)
            self._begin(self._let_in(sock, peer[0]))

    def _begin(self, serving: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(serving, name="http")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _let_in(self, sock: socket.socket, peer_host: str) -> None:
        limits = REQUEST_SIZE_MAX, REQUEST_TIMEOUT_S
        guest = await enter(self._port, sock, peer_host, *limits)
        if guest is not None:
            await self._serve(*guest)

    async def _serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        refusal: str = "",
    ) -> None:
        # Of the connection, and of its TLS: whatever else fails is caught below.
        with suppress(OSError, asyncio.IncompleteReadError):
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT_S):
                    streamed = await self._answer(reader, writer, refusal)
                if streamed is not None:
                    await streamed()
            except TimeoutError:
                writer.transport.abort()
            finally:
                writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, refusal: str
    ) -> Callable[[], Awaitable[None]] | None:
        """Answer a request; or say what does, when that takes its time.

        A ``refusal`` is all that is answered.
        """
        has_body = True
        try:
            beginning = await reader.readexactly(2)
            if advice := advice_without_tls(beginning):
                peer = writer.get_extra_info("peername") or ("unknown", 0)
                self._port.note(peer[0], advice)
                return None
            request = parse_head(beginning + await reader.readuntil(b"\r\n\r\n"))
            if refusal:
                raise BadRequest(HTTPStatus.BAD_REQUEST, refusal)
            door = self._door
            if door is not None and request.path.startswith(door.prefix):
                return await self._answer_posted(door, request, reader, writer)
            has_body = request.method != "HEAD"
            reply = await self._page(request)
        except asyncio.LimitOverrunError:
            reply = plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        except BadRequest as error:
            reply = plain(error.status, str(error))
        await _send(reply, writer, has_body=has_body)
        return None

    async def _page(self, request: HttpRequest) -> Reply:
        page = self._pages.get(request.path)
        if page is None:
            return plain(HTTPStatus.NOT_FOUND, ", ".join(self._pages))
        if request.method not in ("GET", "HEAD"):
            return plain(HTTPStatus.METHOD_NOT_ALLOWED, "", "Allow: GET, HEAD")
        try:
            return await page()
        except Exception as error:
            self._bugs.record(f"http {request.path}", error)
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR)

    async def _answer_posted(
        self,
        door: Door,
        request: HttpRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> Callable[[], Awaitable[None]] | None:
        try:
            refusal = door.refusal(request)
            if refusal is None:
                body = await read_body(request, door.body_size_max, reader, writer)
        except BadRequest as error:
            refusal = plain(error.status, str(error))
        if refusal is not None:
            await _send(refusal, writer)
            # What is left of a body unread would take the answer with it. Of TLS the
            # end is a word of its own, behind which the other side is heard out.
            if writer.can_write_eof():
                writer.write_eof()
                while await reader.read(REQUEST_SIZE_MAX):
                    pass
            return None

        async def answer() -> None:
            try:
                reply = await door.answer(request, body)
            except Exception as error:
                self._bugs.record(f"http {request.path}", error)
                reply = plain(HTTPStatus.INTERNAL_SERVER_ERROR)
            if isinstance(reply, Reply):
                await _send(reply, writer)
            else:
                await reply.send(request.version, reader, writer)

        return answer


async def _send(
    reply: Reply, writer: asyncio.StreamWriter, *, has_body: bool = True
) -> None:
    writer.write(reply.encoded(has_body=has_body))
    await writer.drain()
