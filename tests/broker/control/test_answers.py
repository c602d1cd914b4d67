"""Answers on their way, in all their forms."""

import asyncio
from typing import Any

import pytest

from odradek.broker.control.answers import (
    Raw,
    RawRoute,
    after,
    body_of,
    exchanged,
    frame_of,
)
from odradek.broker.handlers import load as load_handlers
from odradek.broker.requests.dispatch import Exchange, Route
from odradek.broker.requests.registry import NO_RESPONSE, registered_handlers
from odradek.broker.runtime.parked import Parked, ParkedFrame
from odradek.protocol.compiler import decoder
from odradek.protocol.messages.groups import HeartbeatRequest, HeartbeatResponse

VERSION = 4
ANSWER = HeartbeatResponse(error_code=27)


def route() -> Route:
    load_handlers()
    handler = registered_handlers()[HeartbeatRequest.api_key]
    decode = decoder(HeartbeatRequest, VERSION)
    return Route(handler, VERSION, handler.function, decode, VERSION)


def framed() -> bytes:
    return frame_of(route(), 1, ANSWER)


async def waiting(answer: Any) -> Any:
    return answer


def later(answer: Any, parked: Parked[Any]) -> Parked[Any]:
    asyncio.get_running_loop().call_soon(parked.set_result, answer)
    return parked


async def settled(answer: Any) -> Any:
    if asyncio.iscoroutine(answer):
        answer = await answer
    return await answer if isinstance(answer, Parked) else answer


async def test_every_form_is_told_as_the_same_response() -> None:
    one, body = route(), ANSWER.encode(VERSION)
    future = asyncio.get_running_loop().create_future()
    future.set_result(ANSWER)
    forms: list[Any] = [
        framed(),
        Exchange(one, 1, ANSWER, None),
        Exchange(one, 1, body, None),
        Exchange(one, 1, [body[:2], body[2:]], None),
        Exchange(one, 1, future, None),
        Exchange(one, 1, later(body, Parked()), None),
        Exchange(one, 1, later(framed(), ParkedFrame()), None),
        Exchange(one, 1, waiting(body), None),
        Exchange(one, 1, waiting(later(ANSWER, Parked())), None),
    ]
    seen: list[Any] = []

    def finish(answer: Any) -> str:
        seen.append(answer)
        return "told"

    for form in forms:
        assert await settled(after(one, form, finish)) == "told"
    assert seen == [ANSWER] * len(forms)


async def test_what_is_made_of_it_may_come_later_still() -> None:
    told = after(route(), framed(), lambda it: later(it, Parked()))
    assert await settled(told) == ANSWER


async def test_errors_are_passed_on() -> None:
    one, parked = route(), Parked[Any]()
    told = after(one, Exchange(one, 1, parked, None), lambda it: it)
    parked.set_exception(ValueError("expected by this test"))
    with pytest.raises(ValueError, match="expected"):
        await told
    broken = after(
        one, Exchange(one, 1, later(ANSWER, Parked()), None), lambda _: 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        await broken


def test_raw_answers_are_sent_as_they_are() -> None:
    one, out = route(), list[Any]()
    exchange: Any = exchanged(one, 7, Raw(b"abc"), None)
    assert exchange.route.write(7, exchange.answer, out) == 3
    assert out == [b"abc"]
    assert frame_of(one, 7, Raw(b"abc")) == b"abc"
    assert frame_of(one, 7, NO_RESPONSE) == b""
    assert exchange.route.name == one.name
    assert isinstance(exchange.route, RawRoute)


def test_raw_answers_and_none_have_no_body() -> None:
    one, raw = route(), Raw(b"abc")
    assert body_of(one, raw, False) is raw
    assert body_of(one, NO_RESPONSE, False) is NO_RESPONSE
