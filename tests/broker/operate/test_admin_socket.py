"""A real unix socket, and requests that answer what the test says."""

import asyncio
import contextlib
import json
import os
import socket
import stat
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.operate import admin_socket
from odradek.broker.operate.admin_address import LINE_SIZE_MAX, admin_address
from odradek.broker.operate.admin_socket import AdminError, AdminSocket, Request
from odradek.broker.runtime.bugs import Bugs
from tests.fakes.broker import until
from tests.patience import PATIENCE_S


class Answers:
    """The requests that the socket of a test knows."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()
        self.begun: list[Request] = []
        self.bugs: list[BaseException] = []
        self.ended_count = 0

    async def count(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        self.begun.append(request)
        for number in range(request["to"]):
            yield {"number": number}

    async def wait(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        self.begun.append(request)
        try:
            yield {"begun": True}
            await self.may_go_on.wait()
            yield {"ended": True}
        finally:
            self.ended_count += 1

    async def refuse(self, request: Request) -> AsyncIterator[dict[str, Any]]:
        raise AdminError("unknown-topic", "there is no topic ä")
        yield {}


@contextlib.asynccontextmanager
async def served(
    directory: Path, *watching: str, line_size_max: int = LINE_SIZE_MAX
) -> AsyncIterator[tuple[AdminSocket, Answers]]:
    answers = Answers()
    known = {"count": answers.count, "wait": answers.wait, "refuse": answers.refuse}
    bugs = Bugs(answers.bugs.append)
    served = AdminSocket(directory, known, bugs, watching)
    served.line_size_max = line_size_max
    assert await served.start()
    try:
        yield served, answers
    finally:
        answers.may_go_on.set()
        await served.stop()
    assert not (directory / "admin.sock").exists()


class Asker:
    """Somebody who has connected."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, line: bytes) -> None:
        self._writer.write(line)
        await self._writer.drain()

    async def next(self) -> Any:
        """The next line of the answer; None at the end."""
        line = await self._reader.readline()
        return json.loads(line) if line else None

    async def ask(self, line: bytes) -> list[Any]:
        await self.send(line + b"\n")
        answer = []
        while (each := await self.next()) is not None:
            answer.append(each)
            if "item" not in each:
                break
        return answer

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


@contextlib.asynccontextmanager
async def asker(directory: Path) -> AsyncIterator[Asker]:
    connected = Asker(*await asyncio.open_unix_connection(admin_address(directory)))
    try:
        yield connected
    finally:
        await connected.close()


async def test_items_and_the_end_and_then_the_next_request(tmp_path: Path) -> None:
    async with served(tmp_path), asker(tmp_path) as one:
        for to in (2, 0):
            line = b'{"request": "count", "to": %d}' % to
            items = [{"item": {"number": number}} for number in range(to)]
            assert await one.ask(line) == [*items, {"done": True}]


async def test_it_is_for_its_user_alone(tmp_path: Path) -> None:
    async with served(tmp_path) as (admin, _):
        mode = admin.path.stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600


@pytest.mark.parametrize(
    ("line", "word", "text"),
    [
        (b"{", "malformed", "the line is not JSON"),
        (b"\xff", "malformed", "the line is not JSON"),
        (b"[" * 5000, "malformed", "the line is not JSON"),
        (b"[]", "malformed", "an object with a name"),
        (b'{"request": 1}', "malformed", "an object with a name"),
        (b'{"request": "cuont"}', "unknown-request", "did you mean count?"),
        (b'{"request": "xyz"}', "unknown-request", "count, wait, refuse"),
        (b'{"request": "refuse"}', "unknown-topic", "there is no topic \xc3\xa4"),
    ],
)
async def test_what_cannot_be_answered(
    tmp_path: Path, line: bytes, word: str, text: str
) -> None:
    async with served(tmp_path) as (_, answers), asker(tmp_path) as one:
        (answer,) = await one.ask(line)
        assert answer["error"] == word
        assert text.encode("latin-1") in answer["message"].encode() or (
            text in answer["message"]
        )
        assert len(await one.ask(b'{"request": "count", "to": 1}')) == 2
        assert not answers.bugs


async def test_a_bug_is_recorded_and_said(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, answers), asker(tmp_path) as one:
        (answer,) = await one.ask(b'{"request": "count"}')
        assert answer["error"] == "unexpected"
        assert [type(bug) for bug in answers.bugs] == [KeyError]
        assert len(await one.ask(b'{"request": "count", "to": 1}')) == 2


async def test_a_line_has_a_limit(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, answers), asker(tmp_path) as one:
        await one.send(b" " * (LINE_SIZE_MAX * 2))
        answer = await one.next()
        assert (answer["error"], answer["message"]) == (
            "refused",
            f"a line has at most {LINE_SIZE_MAX} bytes",
        )
        with contextlib.suppress(ConnectionError):
            assert await one.next() is None
        assert not answers.bugs


async def test_who_makes_it_may_give_a_line_more_room(tmp_path: Path) -> None:
    async with (
        served(tmp_path, line_size_max=LINE_SIZE_MAX * 4),
        asker(tmp_path) as one,
    ):
        request = b'{"request": "count", "to": 0, "filling": "%s"}'
        answers = await one.ask(request % (b"x" * LINE_SIZE_MAX * 2))
        assert answers == [{"done": True}]


async def test_connections_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_socket, "CONNECTIONS_MAX", 2)
    async with served(tmp_path), asker(tmp_path) as one, asker(tmp_path) as two:
        for each in (one, two):
            assert len(await each.ask(b'{"request": "count", "to": 0}')) == 1
        async with asker(tmp_path) as three:
            answer = await three.next()
            assert answer["message"] == "2 others are connected"
            assert await three.next() is None
        await two.close()

        async def is_served() -> bool:
            async with asker(tmp_path) as four:
                answer = await four.ask(b'{"request": "count", "to": 0}')
            return answer == [{"done": True}]

        async with asyncio.timeout(PATIENCE_S):
            while not await is_served():  # noqa: ASYNC110 - sockets tell nobody
                await asyncio.sleep(0.001)


async def test_requests_do_not_wait_for_others(tmp_path: Path) -> None:
    async with served(tmp_path), asker(tmp_path) as one, asker(tmp_path) as two:
        await one.send(b'{"request": "wait"}\n')
        assert await one.next() == {"item": {"begun": True}}
        assert len(await two.ask(b'{"request": "count", "to": 1}')) == 2


async def test_who_hangs_up_does_not_matter(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, answers):
        async with asker(tmp_path) as one:
            await one.send(b'{"request": "wait"}\n')
            assert await one.next() == {"item": {"begun": True}}
        answers.may_go_on.set()
        async with asker(tmp_path) as two:
            assert len(await two.ask(b'{"request": "count", "to": 1}')) == 2
        assert not answers.bugs


async def test_a_stop_lets_requests_end(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as (admin, answers),
        asker(tmp_path) as one,
        asker(tmp_path) as idle,
    ):
        assert len(await idle.ask(b'{"request": "count", "to": 1}')) == 2
        await one.send(b'{"request": "wait"}\n')
        assert await one.next() == {"item": {"begun": True}}
        stopping = asyncio.ensure_future(admin.stop())
        assert await idle.next() is None
        assert not stopping.done()
        answers.may_go_on.set()
        assert await one.next() == {"item": {"ended": True}}
        assert await one.next() == {"done": True}
        assert await one.next() is None
        await stopping


async def test_a_stop_does_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_socket, "STOP_TIMEOUT_S", 0.01)
    async with served(tmp_path) as (admin, answers), asker(tmp_path) as one:
        await one.send(b'{"request": "wait"}\n')
        await until(lambda: answers.begun)
        await admin.stop()
        while await one.next() is not None:
            pass


async def test_the_socket_of_a_dead_broker_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(admin_address(tmp_path))
    assert path.exists()
    async with served(tmp_path), asker(tmp_path) as one:
        assert len(await one.ask(b'{"request": "count", "to": 1}')) == 2


async def test_what_is_no_socket_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "admin.sock"
    path.write_text("precious")
    admin = AdminSocket(tmp_path, {}, Bugs())
    assert not await admin.start()
    assert f"{path}: something that is not a socket is in its place" in caplog.text
    await admin.stop()
    assert path.read_text() == "precious"


async def test_a_path_that_is_too_long(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    admin = AdminSocket(deep, {}, Bugs())
    assert not await admin.start()
    await admin.stop()
    assert "no admin socket, so that odradek compact does not reach" in caplog.text
    assert f"{deep}/admin.sock: AF_UNIX path too long" in caplog.text
    assert os.listdir(deep) == []


@pytest.mark.parametrize("nothing_to_read", [True, False])
async def test_what_a_request_holds_is_let_go_when_nobody_reads_it(
    tmp_path: Path, nothing_to_read: bool
) -> None:
    let_go, more = asyncio.Event(), asyncio.Event()

    async def hold(_: Request) -> AsyncGenerator[dict[str, Any], None]:
        try:
            yield {"held": 1}
            while not let_go.is_set():
                await asyncio.wait_for(more.wait(), PATIENCE_S)
                await asyncio.sleep(0)
                yield {"held": 1}
        finally:
            let_go.set()

    bugs: list[BaseException] = []
    asked = AdminSocket(tmp_path, {"hold": hold}, Bugs(bugs.append))
    assert await asked.start()
    async with asker(tmp_path) as one:
        await one.send(b'{"request": "hold"}\n')
        if not nothing_to_read:
            assert await one.next() == {"item": {"held": 1}}
    more.set()
    await asyncio.wait_for(let_go.wait(), PATIENCE_S)
    await asked.stop()
    assert bugs == []


async def test_watching_ends_with_the_asker(tmp_path: Path) -> None:
    async with served(tmp_path, "wait") as (admin, answers):
        async with asker(tmp_path) as one:
            await one.send(b'{"request": "wait"}\n')
            assert await one.next() == {"item": {"begun": True}}
            assert answers.ended_count == 0
        await until(lambda: answers.ended_count == 1 and not admin._connections)
        assert not answers.may_go_on.is_set()
        assert answers.bugs == []


async def test_what_comes_behind_a_request_to_watch_has_its_turn(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, "wait") as (_, answers), asker(tmp_path) as one:
        await one.send(b'{"request": "wait"}\n{"request": "count", "to": 1}\n')
        assert await one.next() == {"item": {"begun": True}}
        answers.may_go_on.set()
        lines = [await one.next() for _ in range(4)]
        assert lines == [
            {"item": {"ended": True}},
            {"done": True},
            {"item": {"number": 0}},
            {"done": True},
        ]
        # And who asks again is answered.
        assert await one.ask(b'{"request": "count", "to": 0}') == [{"done": True}]


async def test_a_stop_does_not_wait_for_who_watches(tmp_path: Path) -> None:
    async with served(tmp_path, "wait") as (admin, answers), asker(tmp_path) as one:
        await one.send(b'{"request": "wait"}\n')
        assert await one.next() == {"item": {"begun": True}}
        await admin.stop()
        assert answers.ended_count == 1
        assert await one.next() is None
