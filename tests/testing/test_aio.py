"""The methods of a broker can be awaited, whatever loop there is, or is no more."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self

import pytest
import trio

from odradek.testing.aio import Aio
from odradek.testing.names import Names

Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]


class Target:
    """Something to ask, which says in which thread it was asked."""

    name = "target"
    inner: Names

    def __init__(self) -> None:
        self.said: list[str] = []
        self.go_on = threading.Event()

    def thread(self, *, suffix: str = "") -> str:
        """Where it runs."""
        return threading.current_thread().name + suffix

    def fail(self) -> None:
        """Raise."""
        raise ValueError("no")

    def hang(self) -> None:
        """Wait for the end of the test."""
        self.go_on.wait()

    def entered(self) -> Self:
        """Something to be entered."""
        return self

    def __enter__(self) -> str:
        self.said.append("in")
        return "entered"

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        self.said.append(f"out {error}")
        return True


@pytest.fixture(params=["asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine function in a loop of its own."""
    if request.param == "trio":
        return trio.run
    return lambda function: asyncio.run(function())


def test_a_method_runs_in_another_thread(run: Run) -> None:
    async def ask() -> None:
        aio = Aio(Target())
        assert aio.name == "target"
        here = threading.current_thread().name
        assert here not in await aio.thread(suffix="!")
        assert (await aio.thread(suffix="!")).endswith("!")

    run(ask)


def test_what_it_raises_is_raised(run: Run) -> None:
    async def ask() -> None:
        with pytest.raises(ValueError, match="no"):
            await Aio(Target()).fail()

    run(ask)


def test_a_context_manager_is_entered_with_async_with(run: Run) -> None:
    target = Target()

    async def ask() -> None:
        async with Aio(target).entered() as value:
            assert value == "entered"
            raise KeyError("x")

    run(ask)
    assert target.said == ["in", "out 'x'"]


def test_what_is_of_the_kit_can_be_awaited_in_its_turn(run: Run) -> None:
    target = Target()
    target.inner = Names("main")

    async def ask() -> None:
        assert await Aio(target).inner.next("t") == "t-main-1"

    run(ask)


def test_nobody_waits_for_what_was_cancelled() -> None:
    target = Target()

    async def ask() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Aio(target).hang(), 0)

    async def ask_a_trio() -> None:
        with trio.move_on_after(0) as scope:
            await Aio(target).hang()
        assert scope.cancelled_caught

    asyncio.run(ask())
    trio.run(ask_a_trio)
    target.go_on.set()


def test_without_a_loop_nothing_can_be_awaited() -> None:
    waiting = Aio(Target()).thread().__await__()
    with pytest.raises(RuntimeError):
        next(waiting)


def test_what_is_not_there_is_not_there() -> None:
    with pytest.raises(AttributeError):
        _ = Aio(Target()).something
