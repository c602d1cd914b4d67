import asyncio
import contextlib
import gc
from collections.abc import AsyncGenerator, AsyncIterator
from http import HTTPStatus
from ssl import SSLContext, SSLError

import pytest

from odradek.broker.operate.http_reply import Reply, Streamed, plain
from odradek.broker.operate.http_request import HttpRequest
from odradek.broker.operate.http_server import REQUEST_SIZE_MAX, HttpServer
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.runtime.process import loop_factory
from odradek.broker.runtime.start_error import StartError
from odradek.broker.security.certificates.identity import Identity
from tests.broker.network.tls.words import client_context
from tests.broker.security.certificates.options import tls_options
from tests.certificates import alice
from tests.fakes.http import http_port


async def _good() -> Reply:
    return Reply(HTTPStatus.OK, b"good\n")


async def _broken() -> Reply:
    raise ArithmeticError


PAGES = {"/good": _good, "/broken": _broken}


class Door:
    """Says what it was told, a part for each letter; refuses who has no "x-key"."""

    prefix = "/door/"
    connections_max = 2
    body_size_max = 50_000

    async def _letters(self, body: bytes) -> AsyncGenerator[bytes, None]:
        for letter in body.decode():
            yield letter.encode()

    def refusal(self, request: HttpRequest) -> Reply | None:
        return None if "x-key" in request.headers else plain(HTTPStatus.FORBIDDEN)

    async def answer(self, request: HttpRequest, body: bytes) -> Reply | Streamed:
        if body == b"whole":
            return Reply(HTTPStatus.OK, request.path.encode())
        if body == b"broken":
            raise ArithmeticError
        return Streamed(self._letters(body), "text/x-letters")


def over_tls() -> tuple[HttpServer, SSLContext]:
    """A server with TLS that wants a certificate of who asks."""
    identity = Identity(tls_options(ssl_client_auth="required"), SystemClock())
    port = http_port([], tls=identity.current.context)
    return HttpServer(port, PAGES, Bugs()), client_context(alice())


async def tls_page(loop_of: HttpServer, context: SSLContext) -> bytes:
    """What the page answers to who makes handshakes with ``context``."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", loop_of.port, ssl=context
    )
    try:
        writer.write(b"GET /good HTTP/1.1\r\n\r\n")
        return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_over_tls_only_who_has_a_certificate_reads_a_page(loop: str) -> None:
    async def ask() -> None:
        server, context = over_tls()
        await server.start()
        try:
            for _ in range(20):
                assert (await tls_page(server, context)).endswith(b"good\n")
            with contextlib.suppress(SSLError, ConnectionError):
                assert await tls_page(server, client_context()) == b""
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"GET /good HTTP/1.1\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                assert b"good" not in await reader.read()
            writer.close()
            assert (await tls_page(server, context)).endswith(b"good\n")
        finally:
            await server.stop()

    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        runner.run(ask())


@contextlib.asynccontextmanager
async def serving(door: Door | None = None) -> AsyncIterator[tuple[HttpServer, Bugs]]:
    bugs = Bugs()
    server = HttpServer(http_port([]), PAGES, bugs, door)
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
        (b"POST /door/x HTTP/1.1", b"404", b"Not Found: /good, /broken\n"),
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
        second = HttpServer(http_port([], server.port), PAGES, bugs)
        with pytest.raises(StartError, match=r"http\.listener.*port is in use"):
            await second.start()


async def test_a_stop_hangs_up_on_who_says_nothing() -> None:
    async with serving() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await asyncio.sleep(0)
        await server.stop()
        assert await reader.read() == b""
        writer.close()


def posted(body: bytes, *headers: bytes, version: bytes = b"1.1") -> bytes:
    """A request to the door that it does not refuse."""
    lines = [b"POST /door/x?y HTTP/" + version, b"X-Key: 1", *headers]
    lines += [b"Content-Length: %d" % len(body), b"", body]
    return b"\r\n".join(lines)


async def test_a_door_answers_in_parts() -> None:
    async with serving(Door()) as (server, bugs):
        head, body = await ask(server, posted(b"abc"))
        assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/x-letters")
        assert b"Transfer-Encoding: chunked" in head
        assert body == b"1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n"
        # Who knows no chunks gets the parts as they are.
        head, body = await ask(server, posted(b"abc", version=b"1.0"))
        assert b"Transfer-Encoding" not in head
        assert body == b"abc"
        _, body = await ask(server, posted(b"whole"))
        assert body == b"/door/x"
        head, _ = await ask(server, posted(b"broken"))
        assert head.startswith(b"HTTP/1.1 500")
        assert bugs.count == 1


async def test_who_waits_to_send_a_body_is_told_to() -> None:
    async with serving(Door()) as (server, _):
        head, body = await ask(server, posted(b"whole", b"Expect: 100-continue"))
        assert head == b"HTTP/1.1 100 Continue"
        assert body.startswith(b"HTTP/1.1 200 OK")


async def test_a_door_without_a_body_and_pages_beside_it() -> None:
    async with serving(Door()) as (server, _):
        request = b"POST /door/x HTTP/1.1\r\nX-Key: 1\r\n\r\n"
        assert (await ask(server, request))[1] == b"0\r\n\r\n"
        assert (await ask(server, b"GET /good HTTP/1.1\r\n\r\n"))[1] == b"good\n"


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"POST /door/x HTTP/1.1\r\nContent-Length: 40000", b"403"),
        (b"POST /door/x HTTP/1.1\r\nX-Key: 1\r\nContent-Length: 60000", b"413"),
        (b"POST /door/x HTTP/1.1\r\nX-Key: 1\r\nTransfer-Encoding: chunked", b"411"),
    ],
)
async def test_who_is_refused_is_told_so_however_long_his_body_is(
    request_head: bytes, status: bytes
) -> None:
    async with serving(Door()) as (server, bugs):
        head, _ = await ask(server, request_head + b"\r\n\r\n" + b"x" * 60_000)
        assert head.startswith(b"HTTP/1.1 " + status)
        assert bugs.count == 0


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_over_tls_who_is_refused_is_told_so(loop: str) -> None:
    async def refused() -> bytes:
        identity = Identity(tls_options(), SystemClock())
        port = http_port([], tls=identity.current.context)
        server = HttpServer(port, PAGES, Bugs(), Door())
        await server.start()
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", server.port, ssl=client_context()
            )
            head = b"POST /door/x HTTP/1.1\r\nContent-Length: 40000\r\n\r\n"
            writer.write(head + b"x" * 40_000)
            answer = await reader.read()
            writer.close()
            return answer
        finally:
            await server.stop()

    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        failures: list[object] = []
        runner.get_loop().set_exception_handler(lambda _, said: failures.append(said))
        assert runner.run(refused()).startswith(b"HTTP/1.1 403")
        gc.collect()
        assert failures == []


async def test_a_body_that_does_not_come_whole_is_nobody_s_request() -> None:
    async with serving(Door()) as (server, bugs):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(posted(b"whole")[:-1])
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        assert bugs.count == 0


async def test_connections_have_the_limit_that_the_door_wants() -> None:
    async with serving(Door()) as (server, _):
        first = await asyncio.open_connection("127.0.0.1", server.port)
        second = await asyncio.open_connection("127.0.0.1", server.port)
        with contextlib.suppress(ConnectionError):
            assert await ask(server, posted(b"whole")) == (b"", b"")
        for _, writer in (first, second):
            writer.close()
