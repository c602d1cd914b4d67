"""Answers in all the forms that handlers give, seen as they pass."""

import asyncio
from typing import Any

import pytest

from odradek.broker.control.following import follow
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.parked import Parked, ParkedFrame


class Seen:
    """What was noted: the answer, whether it was framed, the error."""

    def __init__(self) -> None:
        self.all: list[tuple[Any, bool, object]] = []

    def __call__(
        self, answer: Any, *, is_framed: bool = False, error: object = None
    ) -> None:
        self.all.append((answer, is_framed, error))


@pytest.mark.parametrize("answer", [b"body", [b"a", b"b"], NO_RESPONSE, object()])
def test_one_that_is_there_is_itself(answer: Any) -> None:
    seen = Seen()
    assert follow(answer, seen) is answer
    assert seen.all == [(answer, False, None)]


def test_a_parked_one_is_seen_when_it_comes() -> None:
    seen = Seen()
    first: Parked[Any] = ParkedFrame()
    told = follow(first, seen)
    assert (told is not first, told.is_framed, seen.all) == (True, True, [])
    first.set_result(b"frame")
    assert (told.response, seen.all) == (b"frame", [(b"frame", True, None)])


def test_a_parked_one_that_fails_fails() -> None:
    seen, error, first = Seen(), ValueError("wrong"), Parked[Any]()
    told = follow(first, seen)
    first.set_exception(error)
    assert told.error is error
    assert seen.all[0][2] is error


async def test_a_coroutine_is_awaited_and_what_it_gives_is_followed() -> None:
    seen, parked = Seen(), Parked[Any]()

    async def later() -> Any:
        return parked

    told = await follow(later(), seen)
    assert seen.all == []
    parked.set_result(b"body")
    assert (told.response, seen.all) == (b"body", [(b"body", False, None)])


async def test_a_coroutine_that_fails_fails() -> None:
    seen, error = Seen(), ValueError("wrong")

    async def later() -> Any:
        raise error

    with pytest.raises(ValueError, match="wrong"):
        await follow(later(), seen)
    assert seen.all == [(None, False, error)]


async def test_a_future_is_seen_when_it_comes() -> None:
    seen = Seen()
    future = asyncio.get_running_loop().create_future()
    told = follow(future, seen)
    future.set_result(b"body")
    await asyncio.sleep(0)
    assert (told.response, seen.all) == (b"body", [(b"body", False, None)])
