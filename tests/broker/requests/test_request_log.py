"""The lines of the request log: one for a request, one for its answer."""

import asyncio
import logging
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.dispatch import Exchange
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.requests.request_log import LoggedDispatch
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import NotCoordinator
from odradek.protocol.messages.groups import HeartbeatResponse
from tests.broker.handlers.records.test_usual_produce import (
    LAST,
    SOUND,
    frame_of,
    request,
)
from tests.fakes.two_ways import two_ways


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.DEBUG, "odradek.requests")

    def said() -> list[str]:
        return [
            re.sub(r"\d+\.\d{3} ms$", "N ms", each.getMessage())
            for each in caplog.records
            if each.name == "odradek.requests"
        ]

    return said


async def test_a_request_and_its_answer_by_both_ways(
    tmp_path: Path, lines: Any
) -> None:
    frame = frame_of(LAST, request(("t", 0, SOUND)))
    async with two_ways(tmp_path, durability="none") as ways:
        dispatch = LoggedDispatch(ways[0].dispatcher).dispatch
        connection = ways[0].connections[0]
        long, short = [
            dispatch(connection, memoryview(bytearray(frame))) for _ in range(2)
        ]
    assert not isinstance(long, bytes)
    assert isinstance(short, bytes)
    who = f"Produce v{LAST} of 127.0.0.1:0, correlation id 77"
    told = [
        f"{who}, {len(frame)} bytes, done in N ms",
        f"answer to {who}: no error, after N ms",
    ]
    assert lines() == told * 2


async def test_what_is_wrong_is_named(tmp_path: Path, lines: Any) -> None:
    frame = frame_of(LAST, request(("t", 5, SOUND), ("t", 6, SOUND)))
    async with two_ways(tmp_path, durability="none") as ways:
        dispatch = LoggedDispatch(ways[0].dispatcher).dispatch
        dispatch(ways[0].connections[0], memoryview(bytearray(frame)))
    assert lines()[1].endswith(": UNKNOWN_TOPIC_OR_PARTITION, after N ms")


async def test_a_parked_answer_has_its_line_when_it_is_there(
    tmp_path: Path, lines: Any
) -> None:
    frame = frame_of(LAST, request(("t", 0, SOUND)))
    async with two_ways(tmp_path, durability="commit") as ways:
        dispatch = LoggedDispatch(ways[0].dispatcher).dispatch
        for _ in range(2):  # the second one by the short way
            exchange: Any = dispatch(
                ways[0].connections[0], memoryview(bytearray(frame))
            )
            count = len(lines())
            assert not exchange.answer.done()
            await ways[0].broker.commit()
            assert exchange.answer.done()
            assert len(lines()) == count + 1
            assert ": no error, after " in lines()[-1]
        assert exchange.answer.is_framed
        assert isinstance(exchange.answer.result(), bytes)


class Heartbeats:
    """A dispatcher whose handlers return what the test says."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.routes: Any = {
            (12, 4): SimpleNamespace(name="Heartbeat v4", head_size=9, api_version=4)
        }
        self.entry = self.dispatch

    def dispatch(self, connection: ConnectionInfo, frame: memoryview) -> Exchange:
        return Exchange(self.routes[12, 4], 1, self._answer, None)


HEARTBEAT = memoryview(bytes((0, 12, 0, 4, 0, 0, 0, 1, 255, 255, 0)))


async def logged(answer: Any) -> Any:
    dispatcher: Any = Heartbeats(answer)
    exchange: Any = LoggedDispatch(dispatcher).dispatch(ConnectionInfo(), HEARTBEAT)
    return exchange.answer


async def test_a_coroutine_and_what_it_parks(lines: Any) -> None:
    parked: Parked[Any] = Parked()

    async def answering() -> Any:
        return parked

    inner = await (await logged(answering()))
    assert len(lines()) == 1
    parked.set_result(HeartbeatResponse(error_code=27))
    assert inner.result().error_code == 27
    assert ": REBALANCE_IN_PROGRESS, after " in lines()[-1]


async def test_a_handler_that_raises(lines: Any) -> None:
    async def failing() -> Any:
        raise NotCoordinator

    with pytest.raises(NotCoordinator):
        await (await logged(failing()))
    assert ": NotCoordinator, after " in lines()[-1]


async def test_a_future_that_fails(lines: Any) -> None:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    told = await logged(future)
    future.set_exception(NotCoordinator())
    with pytest.raises(NotCoordinator):
        await told
    assert ": NotCoordinator, after " in lines()[-1]


async def test_no_answer_has_no_line(lines: Any) -> None:
    assert await logged(NO_RESPONSE) is NO_RESPONSE
    assert len(lines()) == 1
