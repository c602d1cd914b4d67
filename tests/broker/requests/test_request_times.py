import asyncio
import time

import pytest

from odradek.broker.requests.request_times import RequestTimes
from odradek.broker.runtime.parked import Parked, ParkedFrame


def test_an_answer_that_is_there_is_timed_at_once() -> None:
    times, answer = RequestTimes(), object()
    assert times.note(answer, time.perf_counter() - 2) is answer
    assert times.histogram.count == 1
    assert times.histogram.total >= 2000


def test_a_parked_answer_is_timed_when_it_is_there() -> None:
    times, parked = RequestTimes(), Parked()
    told = times.note(parked, time.perf_counter())
    assert times.histogram.count == 0
    parked.set_result("answer")
    assert told.result() == "answer"
    assert times.histogram.count == 1


@pytest.mark.parametrize("kind", [Parked, ParkedFrame])
def test_who_is_told_knows_whether_it_is_a_frame(kind: type[Parked]) -> None:
    told = RequestTimes().note(kind(), time.perf_counter())
    assert type(told) is kind


def test_a_parked_error_is_passed_on() -> None:
    parked = Parked()
    told = RequestTimes().note(parked, time.perf_counter())
    parked.set_exception(ArithmeticError())
    assert isinstance(told.error, ArithmeticError)


async def test_a_coroutine_and_a_future_are_timed_when_they_end() -> None:
    times = RequestTimes()

    async def answering() -> str:
        await asyncio.sleep(0)
        return "answer"

    assert await times.note(answering(), time.perf_counter()) == "answer"
    future = asyncio.get_running_loop().create_future()
    assert times.note(future, time.perf_counter()) is future
    assert times.histogram.count == 1
    future.set_result(None)
    await asyncio.sleep(0)
    assert times.histogram.count == 2
