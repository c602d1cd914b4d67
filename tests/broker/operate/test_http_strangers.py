"""Who speaks something else than the port of metrics and health does."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from http import HTTPStatus
from typing import Any

import pytest

from odradek.broker.operate.http_reply import Reply
from odradek.broker.operate.http_server import HttpServer
from odradek.broker.operate.http_strangers import (
    advice_after,
    advice_with_tls,
    advice_without_tls,
)
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.runtime.process import loop_factory
from odradek.broker.security.certificates.identity import Identity
from tests.broker.network.tls.words import client_context
from tests.broker.security.certificates.options import tls_options
from tests.certificates import alice, stranger
from tests.fakes.broker import until
from tests.fakes.http import http_port

HELLO = bytes.fromhex("16030100c8010000c40303")
OF_KAFKA = b"\0\0\0\x20\0\x12\0\3"
GET = b"GET /good HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    ("beginning", "without_tls", "with_tls"),
    [
        (HELLO, "ask for http://, not https://, or set", ""),
        (GET, "", "=SSL here: ask for https://"),
        (OF_KAFKA, "set bootstrap.servers", "set bootstrap.servers"),
        (b"SSH-2.0-", "", "it does not speak TLS"),
    ],
)
def test_each_is_told_what_to_set(
    beginning: bytes, without_tls: str, with_tls: str
) -> None:
    for advice, words in (
        (advice_without_tls(beginning), without_tls),
        (advice_with_tls(beginning), with_tls),
    ):
        assert words in advice
        assert bool(words) is bool(advice)


def test_a_handshake_that_fails_for_another_reason_is_told_as_that() -> None:
    error = ssl.SSLError(1, "x")
    error.reason = "UNSUPPORTED_PROTOCOL"
    assert advice_after(error) == "no handshake of TLS: UNSUPPORTED_PROTOCOL"


async def _good() -> Reply:
    return Reply(HTTPStatus.OK, b"good\n")


@contextlib.asynccontextmanager
async def serving(*, over_tls: bool) -> AsyncIterator[tuple[HttpServer, list[str]]]:
    """A server, and its log."""
    log: list[str] = []
    tls = None
    if over_tls:
        options = tls_options(ssl_client_auth="required")
        tls = Identity(options, SystemClock()).current.context
    server = HttpServer(http_port(log, tls=tls), {"/good": _good}, Bugs())
    await server.start()
    try:
        yield server, log
    finally:
        await server.stop()


async def answer(
    server: HttpServer, sent: bytes, context: ssl.SSLContext | None = None
) -> bytes:
    """All that comes back to who sends this."""
    answered = b""
    with contextlib.suppress(ssl.SSLError, ConnectionError):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", server.port, ssl=context
        )
        try:
            writer.write(sent)
            answered = await reader.read()
        finally:
            writer.close()
    return answered


def on(loop: str, scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        runner.run(scene())


LOOPS = pytest.mark.parametrize("loop", ["uvloop", "asyncio"])


@LOOPS
@pytest.mark.parametrize("sent", [HELLO, OF_KAFKA])
def test_a_port_without_tls_says_so_once_and_serves_on(loop: str, sent: bytes) -> None:
    async def scene() -> None:
        async with serving(over_tls=False) as (server, log):
            for _ in range(3):
                assert await answer(server, sent) == b""
            assert (await answer(server, GET)).endswith(b"good\n")
            assert [advice_without_tls(sent) in line for line in log] == [True]
            assert "connection from 127.0.0.1 to http.listener" in log[0]

    on(loop, scene)


@LOOPS
@pytest.mark.parametrize("sent", [OF_KAFKA, b"SSH-2.0-x\r\n"])
def test_a_port_with_tls_says_so_once_and_serves_on(loop: str, sent: bytes) -> None:
    async def scene() -> None:
        async with serving(over_tls=True) as (server, log):
            for _ in range(3):
                assert await answer(server, sent) == b""
            found = await answer(server, GET, client_context(alice()))
            assert found.endswith(b"good\n")
            assert [advice_with_tls(sent) in line for line in log] == [True]

    on(loop, scene)


@LOOPS
def test_http_without_tls_is_answered_with_what_to_ask_for(loop: str) -> None:
    async def scene() -> None:
        async with serving(over_tls=True) as (server, log):
            found = await answer(server, GET)
            assert found.startswith(b"HTTP/1.1 400 ")
            assert b"ask for https://" in found
            assert b"good" not in found
            assert len(log) == 1
            assert "ask for https://" in log[0]

    on(loop, scene)


@LOOPS
def test_why_a_certificate_does_not_get_in_is_told(loop: str) -> None:
    async def scene() -> None:
        async with serving(over_tls=True) as (server, log):
            assert await answer(server, GET, client_context()) == b""
            await until(lambda: len(log) == 1)
            assert "http.listener.ssl.client.auth=required here" in log[0]
            assert await answer(server, GET, client_context(stranger())) == b""
            await until(lambda: len(log) == 2)
            assert "its certificate is not accepted: " in log[1]

    on(loop, scene)


@LOOPS
def test_who_says_nothing_or_hangs_up_is_nobody_s_line(loop: str) -> None:
    async def scene() -> None:
        async with serving(over_tls=True) as (server, log):
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.close()
            _, silent = await asyncio.open_connection("127.0.0.1", server.port)
            found = await answer(server, GET, client_context(alice()))
            assert found.endswith(b"good\n")
            assert log == []
            silent.close()

    on(loop, scene)
