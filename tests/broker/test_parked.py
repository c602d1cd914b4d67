import asyncio
from typing import Any

import pytest

from broker.parked import Parked
from tests.fakes.network import settle


async def wait(parked: Parked) -> Any:
    return await parked


def test_the_listener_is_called_at_once_and_once() -> None:
    heard: list[Parked] = []
    parked = Parked()
    parked.listen(heard.append)
    assert not parked.done()
    parked.set_result("answer")
    assert heard == [parked]
    assert parked.done()
    assert parked.result() == "answer"


def test_who_listens_late_is_told_as_well() -> None:
    heard: list[Parked] = []
    parked = Parked()
    parked.set_result(1)
    parked.listen(heard.append)
    assert heard == [parked]


def test_an_error_is_kept_and_raised() -> None:
    parked = Parked()
    parked.set_exception(ValueError("expected by this test"))
    assert isinstance(parked.error, ValueError)
    with pytest.raises(ValueError, match="expected"):
        parked.result()


@pytest.mark.parametrize("is_early", [False, True])
async def test_it_can_be_awaited(is_early: bool) -> None:
    parked = Parked()
    if is_early:
        parked.set_result(1)
    waiting = asyncio.create_task(wait(parked))
    await settle()
    if not is_early:
        parked.set_result(1)
    assert await waiting == 1


async def test_who_waits_may_be_cancelled() -> None:
    parked = Parked()
    waiting = asyncio.create_task(wait(parked))
    await settle()
    waiting.cancel()
    parked.set_result(1)
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_it_stands_for_a_future() -> None:
    futures = [asyncio.get_running_loop().create_future() for _ in range(3)]
    answered, failed, cancelled = map(Parked.behind, futures)
    futures[0].set_result(1)
    futures[1].set_exception(ValueError("expected by this test"))
    futures[2].cancel()
    await settle()
    assert answered.result() == 1
    assert isinstance(failed.error, ValueError)
    assert isinstance(cancelled.error, asyncio.CancelledError)
