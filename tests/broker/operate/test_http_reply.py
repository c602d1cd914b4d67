import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from http import HTTPStatus

from odradek.broker.operate.http_reply import Reply, Streamed, plain
from tests.patience import PATIENCE_S

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def test_a_reply_says_its_length_and_headers_of_its_own() -> None:
    reply = Reply(HTTPStatus.OK, b"body", "text/x", ("A: b",))
    head, _, body = reply.encoded().partition(b"\r\n\r\n")
    assert body == b"body"
    assert head.split(b"\r\n") == [
        b"HTTP/1.1 200 OK",
        b"Content-Type: text/x",
        b"Cache-Control: no-store",
        b"Connection: close",
        b"Content-Length: 4",
        b"A: b",
    ]
    assert reply.encoded(has_body=False) == head + b"\r\n\r\n"


def test_a_plain_one_is_its_status_in_words() -> None:
    assert plain(HTTPStatus.NOT_FOUND, "/a, /b").body == b"Not Found: /a, /b\n"
    assert plain(HTTPStatus.NOT_FOUND).body == b"Not Found\n"


@contextlib.asynccontextmanager
async def connected(
    serve: Serve,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        server.close()
        await server.wait_closed()


class Parts:
    """One part at once, another when it may, and what became of who gives them."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()
        self.is_closed = asyncio.Event()

    async def given(self) -> AsyncGenerator[bytes, None]:
        try:
            yield b"one"
            await self.may_go_on.wait()
            yield b"two"
        finally:
            self.is_closed.set()

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        streamed = Streamed(self.given(), "text/x", ends_with_asker=True)
        try:
            await streamed.send("HTTP/1.0", reader, writer)
        finally:
            writer.close()


async def test_a_part_is_sent_when_it_is_there() -> None:
    parts = Parts()
    async with connected(parts.serve) as (reader, _):
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/x")
        assert await reader.readexactly(3) == b"one"
        parts.may_go_on.set()
        assert await reader.read() == b"two"
        assert parts.is_closed.is_set()


async def test_what_waits_ends_when_its_asker_hangs_up() -> None:
    parts = Parts()
    async with connected(parts.serve) as (reader, writer):
        await reader.readuntil(b"one")
        writer.close()
        async with asyncio.timeout(PATIENCE_S):
            await parts.is_closed.wait()
        assert not parts.may_go_on.is_set()
