import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from odradek.broker.security.oauth.fetching import NotFetched
from odradek.broker.security.oauth.key_source import (
    UNKNOWN_KEY_MS,
    FetchTimes,
    KeySource,
)
from tests.fakes.clock import FakeClock
from tests.fakes.issuer import jwk, jwks

TIMES = FetchTimes(refresh_ms=60_000, retry_ms=100, retry_ms_max=1_000)


class Server:
    """Answers with ``keys`` when the test lets it."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)
        self.is_down = False
        self.count = 0
        self.clock = FakeClock()
        self._jobs: list[tuple[Callable[[], Any], Callable[..., object]]] = []
        self.source = KeySource(self.fetch, TIMES, self.clock, self._run)

    def fetch(self) -> bytes:
        self.count += 1
        if self.is_down:
            raise NotFetched("https://issuer.test: refused")
        return jwks(*(jwk("ES256", name) for name in self.keys))

    def _run(self, job: Callable[[], Any], on_done: Callable[..., object]) -> None:
        self._jobs.append((job, on_done))

    def answer(self) -> None:
        while self._jobs:
            job, on_done = self._jobs.pop(0)
            try:
                result = job()
            except Exception as error:
                on_done(None, error)
            else:
                on_done(result, None)

    @property
    def known(self) -> set[str]:
        names = ("a", "b", "c")
        return {each for each in names if self.source.key_for(each, "ES256")}


async def looking(server: Server) -> asyncio.Task[None]:
    task = asyncio.create_task(server.source.look_again())
    await asyncio.sleep(0)
    return task


def test_keys_are_fetched_again_in_time() -> None:
    server = Server("a")
    server.source.fetch()
    server.source.fetch()  # it is being done already
    server.answer()
    assert (server.known, server.count) == ({"a"}, 1)
    server.keys = ["b"]
    server.clock.advance(TIMES.refresh_ms - 1)
    server.answer()
    assert server.known == {"a"}
    server.clock.advance(1)
    server.answer()
    assert (server.known, server.count) == ({"b"}, 2)


def test_old_keys_stay_good_while_there_are_no_new_ones(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """S017"""
    server = Server("a")
    server.source.fetch()
    server.answer()
    server.is_down = True
    server.clock.advance(TIMES.refresh_ms)
    server.answer()
    waited = [100, 200, 400, 800, 1_000, 1_000]
    for wait_ms in waited:
        count = server.count
        server.clock.advance(wait_ms - 1)
        server.answer()
        assert server.count == count
        server.clock.advance(1)
        server.answer()
        assert (server.known, server.count) == ({"a"}, count + 1)
    assert "the old ones stay good: https://issuer.test: refused" in caplog.text
    server.is_down, server.keys = False, ["a", "b"]
    server.clock.advance(1_000)
    server.answer()
    assert server.known == {"a", "b"}


def test_a_bug_is_told_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("a")
    server.fetch = lambda: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    source = KeySource(server.fetch, TIMES, server.clock, server._run)
    source.fetch()
    server.answer()
    assert "there are none" in caplog.text
    assert caplog.records[-1].levelno == logging.ERROR


async def test_a_key_that_is_not_there_is_fetched_at_once_but_not_all_the_time() -> (
    None
):
    server = Server("a")
    server.source.fetch()
    server.answer()
    server.keys = ["a", "b"]
    waiting = [await looking(server) for _ in range(3)]
    assert not any(task.done() for task in waiting)
    server.answer()
    await asyncio.gather(*waiting)
    assert (server.known, server.count) == ({"a", "b"}, 2)
    server.clock.advance(UNKNOWN_KEY_MS - 1)
    await server.source.look_again()
    assert server.count == 2
    server.clock.advance(1)
    task = await looking(server)
    server.answer()
    await task
    assert server.count == 3


async def test_who_comes_before_the_first_keys_waits_for_them() -> None:
    server = Server("a")
    server.source.fetch()
    task = await looking(server)
    server.answer()
    await task
    assert (server.known, server.count) == ({"a"}, 1)


async def test_nothing_is_fetched_when_it_is_closed() -> None:
    server = Server("a")
    server.source.fetch()
    task = await looking(server)
    server.source.close()
    await task
    server.answer()
    server.clock.advance(10 * TIMES.refresh_ms)
    server.answer()
    server.source.fetch()
    server.answer()
    assert server.count == 1


def test_a_file_is_there_at_the_start_or_it_is_said() -> None:
    server = Server("a")
    server.source.load()
    assert server.known == {"a"}
    server.keys = ["b"]
    server.clock.advance(TIMES.refresh_ms)
    server.answer()
    assert server.known == {"b"}
    server.is_down = True
    with pytest.raises(NotFetched):
        server.source.load()
