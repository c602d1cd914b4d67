"""What the HTTP server answers: at once, or in parts as they come."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

TEXT = "text/plain; charset=utf-8"


class Reply(NamedTuple):
    """An answer that is known as a whole."""

    status: HTTPStatus
    body: bytes
    content_type: str = TEXT
    headers: tuple[str, ...] = ()

    def encoded(self, *, has_body: bool = True) -> bytes:
        """As it is sent."""
        length = f"Content-Length: {len(self.body)}"
        head = _head(self.status, self.content_type, (length, *self.headers))
        return head + (self.body if has_body else b"")


class Streamed(NamedTuple):
    """An answer that comes in parts.

    One that ``ends_with_asker`` is begun for who reads it: when nobody does any more
    its parts are closed, whatever they wait for.
    """

    parts: AsyncGenerator[bytes, None]
    content_type: str
    ends_with_asker: bool = False

    async def send(
        self, version: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Send each part when it is there.

        Raises:
            ConnectionError: nobody reads it.
        """
        # HTTP/1.0 knows no chunks: the end of the connection is that of the answer.
        chunked = version != "HTTP/1.0"
        more = ("Transfer-Encoding: chunked",) if chunked else ()
        writer.write(_head(HTTPStatus.OK, self.content_type, more))
        listening = self._end_with(reader) if self.ends_with_asker else None
        try:
            async with aclosing(self.parts) as parts:
                async for part in parts:
                    if writer.is_closing():  # of uvloop no ConnectionError comes
                        raise ConnectionResetError
                    writer.write(_chunk(part) if chunked else part)
                    await writer.drain()
        finally:
            if listening is not None:
                listening.cancel()
        if chunked:
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    @staticmethod
    def _end_with(reader: asyncio.StreamReader) -> asyncio.Task[bytes]:
        """Cancel the task that runs now when the other side hangs up."""
        answering = asyncio.current_task()
        assert answering is not None
        listening = asyncio.create_task(reader.read(1), name="http, asker")

        def look(heard: asyncio.Task[bytes]) -> None:
            if heard.cancelled():
                return
            if heard.exception() is not None or not heard.result():
                answering.cancel()

        listening.add_done_callback(look)
        return listening


def plain(status: HTTPStatus, more: str = "", *headers: str) -> Reply:
    """The name of a status, and what else there is to say of it."""
    text = f"{status.phrase}: {more}\n" if more else f"{status.phrase}\n"
    return Reply(status, text.encode(), headers=headers)


def _head(status: HTTPStatus, content_type: str, more: tuple[str, ...]) -> bytes:
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {content_type}",
        "Cache-Control: no-store",
        "Connection: close",
        *more,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _chunk(part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part)
