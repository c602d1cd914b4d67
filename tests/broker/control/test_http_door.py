"""The door of tests on a real HTTP server, and requests that the test makes up.

T354, half of it: who may ask, and who is turned away.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from http import HTTPStatus
from typing import Any

import pytest

from odradek.broker.control.http_door import BODY_SIZE_MAX, ControlDoor
from odradek.broker.operate.admin_socket import AdminError, Request
from odradek.broker.operate.http_server import HttpServer
from odradek.broker.runtime.bugs import Bugs
from tests.fakes.http import http_port
from tests.patience import PATIENCE_S

JSON = "Content-Type: application/json"
Items = AsyncGenerator[dict[str, Any], None]


class Answers:
    """The requests that the door of a test knows."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.may_go_on = asyncio.Event()
        self.is_over = asyncio.Event()

    async def count(self, request: Request) -> Items:
        self.asked.append(request)
        for number in range(request.get("to", 0)):
            yield {"number": number}
        if "then" in request:
            raise AdminError("enough", str(request["then"]))

    async def wait(self, request: Request) -> Items:
        try:
            await self.may_go_on.wait()
            yield {"waited": True}
        finally:
            self.is_over.set()

    async def break_down(self, request: Request) -> Items:
        raise ArithmeticError
        yield {}


class Asked:
    """A door behind its server, and what came of asking there."""

    def __init__(self, **options: Any) -> None:
        self.answers = Answers()
        self.bugs = Bugs()
        known = {
            "count": self.answers.count,
            "wait": self.answers.wait,
            "break": self.answers.break_down,
        }
        self.door = ControlDoor(
            lambda: known,
            self.bugs,
            watching=["wait"],
            **{"host": "192.0.2.1"} | options,
        )
        self.server = HttpServer(http_port([]), {}, self.bugs, self.door)

    async def open(
        self, name: str, body: str, *headers: str, method: str = "POST"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        lines = [f"{method} /test/v1/{name} HTTP/1.0", *headers]
        if not any(each.startswith("Host") for each in headers):
            lines.append("Host: localhost:9404")
        if body:
            lines.append(f"Content-Length: {len(body)}")
        writer.write("\r\n".join((*lines, "", body)).encode())
        return reader, writer

    async def ask(
        self, name: str, body: str, *headers: str, method: str = "POST"
    ) -> tuple[int, list[Any]]:
        """The status, and the lines of the answer."""
        reader, writer = await self.open(name, body, *headers, method=method)
        head, _, lines = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert b"Content-Type: application/x-ndjson" in head
        return int(head.split()[1]), [json.loads(line) for line in lines.splitlines()]


@contextlib.asynccontextmanager
async def served(**options: Any) -> AsyncIterator[Asked]:
    asked = Asked(**options)
    await asked.server.start()
    try:
        yield asked
    finally:
        await asked.server.stop()


async def test_items_and_how_it_ended() -> None:
    async with served() as door:
        status, lines = await door.ask("count", '{"to": 2}', JSON)
        assert status == HTTPStatus.OK
        assert lines == [{"item": {"number": n}} for n in (0, 1)] + [{"done": True}]
        # No body is an empty object, and needs no type.
        assert await door.ask("count", "") == (HTTPStatus.OK, [{"done": True}])
        assert door.answers.asked == [{"to": 2}, {}]


async def test_what_is_refused_before_it_says_anything_has_a_status_of_its_own() -> (
    None
):
    async with served() as door:
        error = {"error": "enough", "message": "1"}
        assert await door.ask("count", '{"then": 1}', JSON) == (400, [error])
        status, lines = await door.ask("count", '{"to": 1, "then": 1}', JSON)
        assert (status, lines) == (200, [{"item": {"number": 0}}, error])
        status, (line,) = await door.ask("break", "{}", JSON)
        assert (status, line["error"]) == (500, "unexpected")
        assert door.bugs.count == 1


@pytest.mark.parametrize("body", ["{", "[]", "1", "[" * 5000])
async def test_a_body_is_an_object(body: str) -> None:
    async with served() as door:
        status, (line,) = await door.ask("count", body, JSON)
        assert (status, line["error"]) == (400, "malformed")


async def test_a_request_that_nobody_knows_is_told_the_nearest_name() -> None:
    async with served() as door:
        status, (line,) = await door.ask("cuont", "{}", JSON)
        assert (status, line["error"]) == (404, "unknown-request")
        assert "did you mean count?" in line["message"]
        _, (line,) = await door.ask("xyz", "{}", JSON)
        assert "count, wait, break" in line["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((JSON, "Host: 127.0.0.1"), 200),
        ((JSON, "Host: 127.1.2.3:80"), 200),
        ((JSON, "Host: [::1]:9404"), 200),
        ((JSON, "Host: 192.0.2.1:80"), 200),  # where the listener is
        ((JSON, "Host: odradek.example"), 421),
        ((JSON, "Host: localhost.example:80"), 421),
        ((JSON, "Host:"), 421),
        ((JSON, "Origin: http://localhost:9404"), 200),
        ((JSON, "Origin: http://localhost:9405"), 403),
        ((JSON, "Origin: https://odradek.example"), 403),
        ((JSON, "Origin: null"), 403),
        ((JSON, "Sec-Fetch-Site: same-origin"), 200),
        ((JSON, "Sec-Fetch-Site: none"), 200),
        ((JSON, "Sec-Fetch-Site: same-site"), 403),
        ((JSON, "Sec-Fetch-Site: cross-site"), 403),
        ((f"{JSON}; charset=utf-8",), 200),
        (("content-type: Application/JSON",), 200),
        (("Content-Type: text/plain",), 415),
        (("Content-Type: application/x-www-form-urlencoded",), 415),
        ((), 415),
    ],
)
async def test_pages_of_a_browser_are_kept_out(
    headers: tuple[str, ...], status: int
) -> None:
    async with served() as door:
        assert (await door.ask("count", "{}", *headers))[0] == status
        assert len(door.answers.asked) == (status == 200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((), 401),
        (("Authorization: Bearer wrong",), 401),
        (("Authorization: Basic se cret",), 401),
        (("Authorization: bearer se cret",), 200),
        # Who knows it is no page, under whatever name it has found us.
        (("Authorization: Bearer se cret", "Host: docker:32768"), 200),
        (("Authorization: Bearer se cret", "Origin: http://odradek.example"), 403),
    ],
)
async def test_where_there_is_a_token_it_must_be_known(
    headers: tuple[str, ...], status: int
) -> None:
    async with served(token="se cret") as door:
        found, lines = await door.ask("count", "{}", JSON, *headers)
        assert found == status
        assert "se cret" not in str(lines)


async def test_a_token_may_have_any_letters() -> None:
    async with served(token="geheimnißvoll") as door:
        for said, status in (("geheimnißvoll", 200), ("geheimnissvoll", 401)):
            headers = (JSON, f"Authorization: Bearer {said}")
            assert (await door.ask("count", "{}", *headers))[0] == status


async def test_requests_are_posted() -> None:
    async with served() as door:
        for method in ("GET", "PUT", "OPTIONS"):
            assert (await door.ask("count", "", method=method))[0] == 405
        assert not door.answers.asked


async def test_a_body_has_a_limit() -> None:
    async with served() as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.server.port)
        lines = ["POST /test/v1/count HTTP/1.1", "Host: localhost", JSON]
        lines += [f"Content-Length: {BODY_SIZE_MAX + 1}", "", ""]
        writer.write("\r\n".join(lines).encode())
        writer.write_eof()
        assert (await reader.read()).startswith(b"HTTP/1.1 413")
        writer.close()


async def test_a_closed_door_says_that_the_broker_stops() -> None:
    async with served() as door:
        door.door.is_closed = True
        status, (line,) = await door.ask("count", "{}", JSON)
        assert (status, line["message"]) == (503, "the broker stops")


async def test_a_wait_is_answered_at_once_and_goes_on_when_it_may() -> None:
    async with served() as door:
        reader, writer = await door.open("wait", "{}", JSON)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        door.answers.may_go_on.set()
        lines = (await reader.read()).partition(b"\r\n\r\n")[2].splitlines()
        writer.close()
        assert [json.loads(line) for line in lines] == [
            {"item": {"waited": True}},
            {"done": True},
        ]


async def test_a_wait_ends_with_who_asked() -> None:
    async with served() as door:
        reader, writer = await door.open("wait", "{}", JSON)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()
        async with asyncio.timeout(PATIENCE_S):
            await door.answers.is_over.wait()
        assert not door.answers.may_go_on.is_set()
        assert door.bugs.count == 0
