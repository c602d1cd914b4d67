import asyncio
from typing import Any

import pytest

from odradek.broker.runtime.parked import Parked, gathered
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


async def test_what_a_future_brings_may_be_parked_too() -> None:
    futures = [asyncio.get_running_loop().create_future() for _ in range(3)]
    waiting, done, failed = map(Parked.behind, futures)
    inner, ready, refused = Parked(), Parked(), Parked()
    ready.set_result(1)
    refused.set_exception(ValueError("expected by this test"))
    for future, brought in zip(futures, (inner, ready, refused), strict=True):
        future.set_result(brought)
    await settle()
    assert not waiting.done()
    assert done.result() == 1
    assert isinstance(failed.error, ValueError)
    inner.set_result(2)
    assert waiting.result() == 2


class TestGathered:
    def test_answers_that_are_there_make_one_at_once(self) -> None:
        done = Parked()
        done.set_result(2)
        assert gathered([1, done, 3], sum) == 6
        assert gathered([], list) == []

    def test_it_waits_for_the_last_and_keeps_their_order(self) -> None:
        first, second = Parked(), Parked()
        whole = gathered([first, 2, second], list)
        second.set_result(3)
        assert not whole.done()
        first.set_result(1)
        assert whole.result() == [1, 2, 3]

    def test_an_error_of_one_is_that_of_the_whole_once_all_are_there(self) -> None:
        first, second = Parked(), Parked()
        whole = gathered([first, second], list)
        first.set_exception(ValueError("expected by this test"))
        assert not whole.done()
        second.set_result(1)
        with pytest.raises(ValueError, match="expected"):
            whole.result()

    def test_so_is_one_of_what_makes_the_whole(self) -> None:
        first = Parked()
        whole = gathered([first], lambda answers: 1 // answers[0])
        first.set_result(0)
        with pytest.raises(ZeroDivisionError):
            whole.result()

    def test_one_may_be_gathered_itself(self) -> None:
        first, second = Parked(), Parked()
        whole = gathered([first, gathered([second], sum)], list)
        second.set_result(5)
        first.set_result(1)
        assert whole.result() == [1, 5]


def test_it_follows_an_answer_and_another_parked_one() -> None:
    at_once, later, never = Parked(), Parked(), Parked()
    at_once.follow("now")
    assert at_once.result() == "now"
    answer, failure = Parked(), Parked()
    later.follow(answer)
    never.follow(failure)
    assert not later.done()
    answer.set_result("then")
    failure.set_exception(ZeroDivisionError())
    assert later.result() == "then"
    with pytest.raises(ZeroDivisionError):
        never.result()
