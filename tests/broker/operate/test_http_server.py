import asyncio
import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest

from odradek.broker.config.options.listener import HostPort
from odradek.broker.operate.http_server import REQUEST_SIZE_MAX, HttpServer, Reply
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.start_error import StartError


async def _good() -> Reply:
    return Reply(HTTPStatus.OK, b"good\n")


async def _broken() -> Reply:
    raise ArithmeticError


PAGES = {"/good": _good, "/broken": _broken}


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[tuple[HttpServer, Bugs]]:
    bugs = Bugs()
    server = HttpServer(HostPort("127.0.0.1", 0), PAGES, bugs)
    await server.start()
    try:
        yield server, bugs
    finally:
        await server.stop()


async def ask(server: HttpServer, text: bytes) -> tuple[bytes, bytes]:
    """The head and the body of the answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(text)
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        (b"GET /good HTTP/1.1", b"200 OK", b"good\n"),
        (b"GET /good?verbose HTTP/1.0", b"200 OK", b"good\n"),
        (b"HEAD /good HTTP/1.1", b"200 OK", b""),
        (b"GET /bad HTTP/1.1", b"404", b"Not Found: /good, /broken\n"),
        (b"POST /good HTTP/1.1", b"405", b"Method Not Allowed\n"),
        (b"nonsense", b"400", b"Bad Request\n"),
        (b"GET /good HTTP/2", b"400", b"Bad Request\n"),
    ],
)
async def test_what_is_asked_is_answered(
    request_line: bytes, status: bytes, body: bytes
) -> None:
    async with serving() as (server, bugs):
        head, found = await ask(server, request_line + b"\r\nHost: x\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 " + status)
        assert found == body
        assert b"Connection: close" in head
        assert bugs.count == 0


async def test_an_error_is_recorded_and_the_server_goes_on() -> None:
    async with serving() as (server, bugs):
        head, _ = await ask(server, b"GET /broken HTTP/1.1\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 500")
        assert bugs.count == 1
        head, _ = await ask(server, b"GET /good HTTP/1.1\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")


async def test_a_head_without_end_is_refused() -> None:
    async with serving() as (server, _):
        head, _ = await ask(server, b"GET /good HTTP/1.1\r\nX: " + b"x" * 40_000)
        assert head.startswith(b"HTTP/1.1 431")
        assert len(b"GET") < REQUEST_SIZE_MAX


async def test_a_taken_port_is_one_clear_line() -> None:
    async with serving() as (server, bugs):
        second = HttpServer(HostPort("127.0.0.1", server.port), PAGES, bugs)
        with pytest.raises(StartError, match=r"http\.listener.*port is in use"):
            await second.start()


async def test_a_stop_hangs_up_on_who_says_nothing() -> None:
    async with serving() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.sleep(0)
        await server.stop()
        assert await reader.read() == b""
        writer.close()
