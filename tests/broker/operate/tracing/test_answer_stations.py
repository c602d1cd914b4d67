"""How answers leave, with a queue and a transport that are real."""

from typing import Any

import pytest

from odradek.broker.network.response_queue import CatchUp, ResponseQueue
from odradek.broker.operate.tracing.answer_stations import AnswerStations
from odradek.broker.operate.tracing.request_trace import RequestTrace
from odradek.broker.operate.tracing.watch import watch_of
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.parked import Parked
from tests.fakes.network import ROUTE, FakeTransport, Words, settle


class Watched:
    """A queue whose answers are watched."""

    def __init__(self) -> None:
        self.transport = FakeTransport()
        self.queue = ResponseQueue(
            self.transport,
            lambda route, request, error: Words(b"error"),  # type: ignore[arg-type, return-value]
            lambda: None,
            lambda error: None,
            CatchUp(),
        )
        self.traces: list[RequestTrace] = []
        self.ended: list[str] = []
        self.stations = AnswerStations(self.traces, self._end)
        self.watch = watch_of(
            self.stations.codes,
            lambda frame, is_return, value: self.stations.see(
                frame, is_return, value, 0
            ),
        )

    def _end(self, trace: RequestTrace, outcome: str) -> None:
        self.traces.remove(trace)
        self.ended.append(outcome)

    def expect(self, answer: Any, is_framed: bool = False) -> RequestTrace:
        trace = RequestTrace({"api": 0}, lambda: 0)
        trace.answer, trace.is_framed = answer, is_framed
        trace.own((answer,))
        self.traces.append(trace)
        self.stations.expect(trace)
        return trace


@pytest.fixture
async def watched() -> Any:
    watched = Watched()
    watched.watch.start()
    yield watched
    watched.watch.stop()


def functions_of(trace: RequestTrace) -> list[str]:
    return [step.function.removeprefix("ResponseQueue.") for step in trace.steps]


async def test_a_frame_that_is_there(watched: Watched) -> None:
    trace = watched.expect(b"frame", is_framed=True)
    watched.queue.add_frame(b"frame")
    watched.queue.flush()
    assert watched.ended == []  # it is with the transport
    await settle()
    assert functions_of(trace) == ["add_frame", "flush", "flush"]
    assert trace.steps[-1].text == "all of it has left for the client"
    assert watched.ended == ["answered"]


async def test_a_client_that_does_not_read(watched: Watched) -> None:
    watched.transport.client_reads = False
    trace = watched.expect(b"frame", is_framed=True)
    watched.queue.add_frame(b"frame")
    watched.queue.flush()
    await settle()
    assert trace.steps[-1].text == "the client reads slowly: 5 bytes wait for it"


async def test_a_large_answer_leaves_as_soon_as_it_is_added(watched: Watched) -> None:
    frame = bytes(1 << 20)
    trace = watched.expect(frame, is_framed=True)
    watched.queue.add_frame(frame)
    await settle()
    assert functions_of(trace) == ["add_frame", "flush", "flush"]


async def test_an_answer_that_waits_for_those_before_it(watched: Watched) -> None:
    first, second = Parked[Any](), Parked[Any]()
    watched.queue.park(ROUTE, 1, first, 10)
    trace = watched.expect(second)
    watched.queue.park(ROUTE, 2, second, 10)
    second.set_result(Words(b"two"))
    await settle()
    assert "behind 1 others" in trace.steps[0].text
    assert functions_of(trace) == ["park", "_answered"]
    first.set_result(Words(b"one"))
    await settle()
    assert functions_of(trace)[2:] == ["_drain", "flush", "flush"]


async def test_an_encoded_answer_behind_another(watched: Watched) -> None:
    first = Parked[Any]()
    watched.queue.park(ROUTE, 1, first, 10)
    trace = watched.expect(Words(b"two"))
    watched.queue.add_ready(ROUTE, 2, Words(b"two"), None)
    assert trace.steps[0].text == "encoded; behind 1 others in the queue"
    watched.queue.flush()
    assert functions_of(trace) == ["add_ready"]
    first.set_result(Words(b"one"))
    await settle()
    assert functions_of(trace) == ["add_ready", "_drain", "flush", "flush"]


async def test_no_answer(watched: Watched) -> None:
    watched.expect(NO_RESPONSE)
    watched.queue.add_ready(ROUTE, 1, NO_RESPONSE, None)
    assert watched.ended == ["handled, and not answered, as the client wants it"]


async def test_answers_of_others_are_left_alone(watched: Watched) -> None:
    parked = Parked[Any]()
    watched.queue.park(ROUTE, 1, parked, 10)
    parked.set_result(Words(b"one"))
    await settle()
    assert watched.traces == []
    assert watched.ended == []
