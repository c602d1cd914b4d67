import asyncio
from functools import partial
from typing import Any

import pytest

from odradek.broker.network.busy_poll import BusyPoll
from odradek.broker.network.response_queue import FLUSH_BYTES, CatchUp, ResponseQueue
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.parked import Parked, ParkedFrame
from odradek.protocol.errors import MalformedRequest
from tests.fakes.network import ROUTE, FakeTransport, WordDispatcher, Words, settle


class Queue:
    """A queue, what it sends to, and what it reports."""

    def __init__(self, catch_up: CatchUp | None = None) -> None:
        self.transport = FakeTransport()
        self.dispatcher = WordDispatcher()
        self.progress = 0
        self.is_broken = False
        self.refused: list[MalformedRequest] = []
        self.queue = ResponseQueue(
            self.transport,
            self.dispatcher.failure,
            self._went_on,
            self.refused.append,
            catch_up or CatchUp(),
        )

    def _went_on(self) -> None:
        self.progress += 1
        if self.is_broken:
            raise RuntimeError("expected by this test")

    def add(self, answer: Any, size: int = 0) -> None:
        self.queue.add(ROUTE, 0, answer, None, size)

    @property
    def sent(self) -> list[str]:
        return self.transport.frames()


def framed(text: bytes) -> bytes:
    out: list[Any] = []
    ROUTE.write(0, Words(text), out)
    return b"".join(out)


def future() -> "asyncio.Future[Words]":
    return asyncio.get_running_loop().create_future()


async def test_ready_answers_leave_in_one_write() -> None:
    queue = Queue()
    for text in (b"1", b"2", b"3"):
        queue.add(Words(text))
    assert queue.sent == []
    queue.queue.flush()
    assert queue.sent == ["1", "2", "3"]
    assert queue.transport.write_count == 1


async def test_a_ready_answer_waits_for_its_turn() -> None:
    queue = Queue()
    first = future()
    queue.add(first, size=10)
    queue.add(Words(b"second"), size=5)
    queue.queue.flush()
    assert queue.sent == []
    held = (queue.queue.parked_size, queue.queue.unread_size)
    assert (queue.queue.count, *held) == (2, 10, 4 + len("second"))
    first.set_result(Words(b"first"))
    await settle()
    assert queue.sent == ["first", "second"]
    held = (queue.queue.parked_size, queue.queue.unread_size)
    assert (queue.queue.count, *held) == (0, 0, 0)
    assert queue.progress == 1


async def test_a_parked_frame_leaves_as_it_is_and_what_went_wrong_is_encoded() -> None:
    queue, parked = Queue(), [ParkedFrame() for _ in range(3)]
    for each in parked:
        queue.add(each, size=1)
    parked[2].set_result(framed(b"third"))
    parked[1].set_exception(RuntimeError("expected by this test"))
    await settle()
    assert queue.sent == []
    parked[0].set_result(framed(b"first"))
    await settle()
    assert queue.sent == ["first", "error", "third"]
    refused = ParkedFrame()
    queue.add(refused)
    refused.set_result(Words(b"refused"))
    await settle()
    assert queue.sent[3:] == ["refused"]


async def test_whole_frames_keep_their_place() -> None:
    queue = Queue()
    words, frame = Words(b"first"), framed(b"second")
    queue.add(words)
    assert not queue.queue.add_frame(frame)
    queue.queue.flush()
    assert queue.sent == ["first", "second"]
    first = future()
    queue.add(first)
    assert queue.queue.add_frame(frame)
    queue.queue.flush()
    assert (queue.queue.count, queue.queue.unread_size) == (2, len(frame))
    first.set_result(words)
    await settle()
    assert queue.sent == ["first", "second"] * 2
    assert queue.queue.unread_size == 0


async def test_a_whole_frame_waits_while_the_client_does_not_read() -> None:
    queue = Queue()
    queue.queue.hold(10)
    assert queue.queue.add_frame(framed(b"late"))
    queue.queue.flush()
    assert queue.sent == []
    queue.queue.resume()
    assert queue.sent == ["late"]


async def test_many_whole_frames_leave_before_more_are_added() -> None:
    queue = Queue()
    frame = framed(b"x" * 1000)
    for _ in range(FLUSH_BYTES // len(frame)):
        queue.queue.add_frame(frame)
    assert queue.sent == []
    queue.queue.add_frame(frame)
    assert len(queue.sent) > FLUSH_BYTES // len(frame)


async def test_futures_done_in_the_wrong_order_are_sent_in_the_right_one() -> None:
    queue = Queue()
    futures = [future() for _ in range(4)]
    for answer in futures:
        queue.add(answer)
    for number in (2, 1, 3, 0):
        futures[number].set_result(Words(str(number).encode()))
        await settle()
    assert queue.sent == ["0", "1", "2", "3"]
    assert queue.transport.write_count == 1


async def test_what_gets_ready_in_one_turn_leaves_in_one_write() -> None:
    queue = Queue()
    futures = [future() for _ in range(100)]
    for answer in futures:
        queue.add(answer)
    for answer in futures:
        answer.set_result(Words(b"x"))
    await settle()
    assert len(queue.sent) == 100
    assert queue.transport.write_count == 1


async def test_no_response_sends_nothing_and_blocks_nobody() -> None:
    queue = Queue()
    first: asyncio.Future[Any] = future()
    queue.add(NO_RESPONSE)
    queue.add(first)
    queue.add(Words(b"second"))
    first.set_result(NO_RESPONSE)
    await settle()
    assert queue.sent == ["second"]


async def test_nothing_is_sent_while_the_client_does_not_read() -> None:
    queue = Queue()
    queue.queue.hold(10)
    queue.add(Words(b"1"))
    parked = future()
    queue.add(parked)
    parked.set_result(Words(b"2"))
    await settle()
    assert queue.sent == []
    assert queue.queue.count == 2
    queue.queue.resume()
    await settle()
    assert queue.sent == ["1", "2"]


async def test_much_is_sent_before_all_is_encoded() -> None:
    queue = Queue()
    queue.add(Words(bytes(FLUSH_BYTES)))
    assert queue.transport.write_count == 1
    queue.add(Words(b"2"))
    assert queue.transport.write_count == 1


async def test_a_failed_future_is_answered_with_its_error() -> None:
    queue = Queue()
    failed = future()
    queue.add(failed)
    queue.add(Words(b"next"))
    failed.set_exception(RuntimeError("expected by this test"))
    await settle()
    assert queue.sent == ["error", "next"]


async def test_an_error_without_an_answer_is_reported() -> None:
    queue = Queue()
    failed, malformed, cancelled = future(), future(), future()
    for answer in (failed, malformed, cancelled):
        queue.add(answer)
    failed.set_exception(RuntimeError("unanswerable"))
    malformed.set_exception(MalformedRequest("late"))
    cancelled.cancel()
    await settle()
    texts = [str(error) for error in queue.refused]
    assert texts == ["no place for it", "late", "words v0 was cancelled"]


async def test_a_response_that_cannot_be_encoded_is_a_bug() -> None:
    queue = Queue()
    queue.add(Words(b"broken"))
    queue.add(Words(b"fine"))
    queue.queue.flush()
    assert queue.sent == ["error", "fine"]
    assert len(queue.dispatcher.failures) == 1


@pytest.mark.parametrize("is_done", [False, True])
async def test_a_closed_queue_sends_nothing_but_sees_bugs(is_done: bool) -> None:
    queue = Queue()
    first, second = future(), future()
    queue.add(first)
    queue.add(second)
    if is_done:
        second.set_exception(RuntimeError("unanswerable"))
    queue.queue.close()
    if not is_done:
        second.set_exception(RuntimeError("expected by this test"))
    first.set_result(Words(b"late"))
    await settle()
    queue.queue.flush()
    assert queue.sent == []
    assert len(queue.dispatcher.failures) == 1
    assert queue.queue.count == 0


async def test_a_parked_answer_may_be_there_when_it_is_added() -> None:
    queue = Queue()
    early, late = Parked(), Parked()
    early.set_result(Words(b"early"))
    late.set_result(Words(b"late"))
    first = Parked()
    queue.add(early)
    await settle()
    assert queue.sent == ["early"]
    queue.add(first)
    queue.add(late)
    await settle()
    first.set_result(Words(b"first"))
    await settle()
    assert queue.sent == ["early", "first", "late"]


async def test_answers_of_many_connections_leave_in_the_same_turn() -> None:
    catch_up = CatchUp()
    queues = [Queue(catch_up) for _ in range(3)]
    for parked in park(queues):
        parked.set_result(Words(b"x"))
    assert [each.sent for each in queues] == [[], [], []]
    await asyncio.sleep(0)
    assert [each.sent for each in queues] == [["x"]] * 3


async def test_what_is_asked_in_one_turn_is_answered_when_it_is_over() -> None:
    catch_up, order = CatchUp(), list[int]()
    queues = [Queue(catch_up) for _ in range(3)]
    for number, each in enumerate(queues):
        each.transport.writelines = partial(_note, order, number)  # type: ignore[method-assign]
    (parked,) = park(queues[:1])
    parked.set_result(Words(b"x"))
    for each in queues[1:]:
        each.add(Words(b"y"))
        each.queue.flush_soon(None)
    queues[1].queue.flush_soon(None)  # it was read twice
    assert order == []
    await asyncio.sleep(0)
    assert order == [1, 2, 0], "who has just asked comes before who has waited"


async def test_nothing_to_send_is_nothing_to_do() -> None:
    catch_up = CatchUp()
    Queue(catch_up).queue.flush_soon(None)
    assert catch_up._encoded == []


async def test_while_the_loop_looks_for_the_next_request_nothing_is_put_off() -> None:
    poll = BusyPoll(50)
    for is_on in (False, True):
        poll._is_on = is_on
        queue = Queue()
        queue.add(Words(b"x"))
        queue.queue.flush_soon(poll)
        assert queue.sent == ["x"] * is_on
        await asyncio.sleep(0)
        assert queue.sent == ["x"]


async def test_a_write_that_fails_does_not_stop_the_others() -> None:
    def fail(data: Any) -> None:
        raise RuntimeError("expected by this test")

    bugs: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: bugs.append(context["exception"]))
    catch_up = CatchUp()
    queues = [Queue(catch_up) for _ in range(4)]
    queues[1].transport.writelines = fail  # type: ignore[method-assign]
    (parked,) = park(queues[:1])
    parked.set_result(Words(b"x"))
    for each in queues[1:]:
        each.add(Words(b"x"))
        each.queue.flush_soon(None)
    await settle()
    assert [each.sent for each in queues] == [["x"], [], ["x"], ["x"]]
    assert len(bugs) == 1


async def test_a_bug_of_one_connection_does_not_stop_the_others() -> None:
    bugs: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: bugs.append(context["exception"]))
    catch_up = CatchUp()
    queues = [Queue(catch_up) for _ in range(3)]
    queues[0].is_broken = True
    for parked in park(queues):
        parked.set_result(Words(b"x"))
    await settle()
    assert [each.sent for each in queues] == [["x"]] * 3
    assert len(bugs) == 1


def _note(order: list[int], number: int, data: Any) -> None:
    order.append(number)


def park(queues: list[Queue]) -> list[Parked]:
    """A parked answer in each of the queues."""
    parked = [Parked() for _ in queues]
    for each, answer in zip(queues, parked, strict=True):
        each.add(answer)
    return parked
