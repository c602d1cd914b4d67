"""Questions to one broker go together, and every one is answered."""

import asyncio
from typing import Any, cast

from odradek.broker.cluster.coordination.questions import Questions
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.memory.limits import LimitedLog
from odradek.client.errors import NoAnswer, Unreachable
from odradek.protocol.errors import UnsupportedVersion
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.clock import FakeClock

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class Letters:
    """A kind of question: the content is what comes back, by its key."""

    response_class = cast("Any", dict)
    together_max = 1000

    def request(self, contents: list[Any]) -> Any:
        return contents

    def group_of(self, content: Any) -> Any:
        return content[2:]

    def answers(self, response: Any) -> Any:
        return {each[0]: each[1] for each in response}

    def told(self, content: Any, found: Any) -> Any:
        return {each: (found or {}).get(each, 99) for each in content[1]}


class Broker:
    """Answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answers: list[asyncio.Future[Any]] = []
        self.is_closed = False
        self.bugs = Bugs()
        self.said: list[str] = []
        self.questions = Questions(
            "letters of broker 2",
            Letters(),
            cast("Any", self),
            self.bugs,
            LimitedLog(FakeClock(), self.said.append),
        )

    async def ask(self, request: Any, response_class: Any, timeout_s: float) -> Any:
        self.asked.append(request)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.answers.append(answer)
        return await answer

    def close(self) -> None:
        self.is_closed = True

    def drop_former_leader(self) -> None:
        self.answer(Unreachable("it is fenced"))

    def answer(self, what: Any) -> None:
        if isinstance(what, Exception):
            self.answers[-1].set_exception(what)
        else:
            self.answers[-1].set_result(what)

    def put(self, key: str, code: int, *partitions: TopicPartition) -> Any:
        wanted = partitions or (A0,)
        return self.questions.ask(key, (key, dict.fromkeys(wanted, code)), wanted)


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_one_request_at_a_time_and_all_who_wait_in_the_next() -> None:
    broker = Broker()
    first = broker.put("x", 0)
    await turns()
    second, third = broker.put("y", 1), broker.put("z", 2, A0, A1)
    await turns()
    assert len(broker.asked) == 1
    broker.answer(broker.asked[0])
    await turns()
    assert first.result() == {A0: 0}
    assert not second.done()
    assert [key for key, _ in broker.asked[1]] == ["y", "z"]
    broker.answer(broker.asked[1])
    await turns()
    assert (second.result(), third.result()) == ({A0: 1}, {A0: 2, A1: 2})
    assert len(broker.asked) == 2


async def test_of_two_with_one_key_the_second_waits() -> None:
    broker = Broker()
    first, second = broker.put("x", 0, A0), broker.put("x", 1, A1)
    await turns()
    broker.answer(broker.asked[0])
    await turns()
    assert (first.result(), second.done()) == ({A0: 0}, False)
    broker.answer(broker.asked[1])
    await turns()
    assert second.result() == {A1: 1}


async def test_what_is_of_another_group_goes_by_itself() -> None:
    broker = Broker()
    contents = [("x", {A0: 0}, "g"), ("y", {A0: 1}, "h"), ("z", {A0: 2}, "g")]
    answers = [broker.questions.ask(each[0], each) for each in contents]
    for keys in ("xz", "y"):
        await turns()
        assert "".join(each[0] for each in broker.asked[-1]) == keys
        broker.answer(broker.asked[-1])
    await turns()
    assert [each.result() for each in answers] == [{A0: 0}, {A0: 1}, {A0: 2}]


async def test_who_gets_no_answer_is_told_so() -> None:
    for error in (NoAnswer(), Unreachable("away"), UnsupportedVersion()):
        broker = Broker()
        lost = broker.put("x", 0, A0, A1)
        await turns()
        broker.answer(error)
        await turns()
        assert lost.result() == {A0: 99, A1: 99}
        assert (len(broker.asked), broker.bugs.count) == (1, 0)


async def test_what_an_answer_leaves_out_was_not_answered() -> None:
    broker = Broker()
    partly, lost = broker.put("x", 0, A0, A1), broker.put("y", 0)
    await turns()
    broker.answer([("x", {A0: 0})])
    await turns()
    assert (partly.result(), lost.result()) == ({A0: 0, A1: 99}, {A0: 99})


async def test_who_has_hung_up_is_asked_once_more() -> None:
    broker = Broker()
    answered = broker.put("x", 0)
    await turns()
    broker.answer(ConnectionResetError())
    await turns()
    broker.answer(broker.asked[1])
    await turns()
    assert answered.result() == {A0: 0}
    lost = broker.put("x", 0)
    for _ in range(2):
        await turns()
        broker.answer(ConnectionResetError())
    await turns()
    assert lost.result() == {A0: 99}


async def test_a_bug_keeps_nobody_waiting() -> None:
    broker = Broker()
    lost, answered = broker.put("x", 0), broker.put("y", 1)
    lost.listen(lambda _: 1 // 0)
    await turns()
    broker.answer(broker.asked[0])
    await turns()
    assert (answered.result(), broker.bugs.count) == ({A0: 1}, 1)
    lost = broker.put("x", 0)
    await turns()
    broker.answer([None])  # nothing that could be read
    await turns()
    assert (lost.result(), broker.bugs.count) == ({A0: 99}, 2)


async def test_who_waits_at_the_end_is_told_so() -> None:
    broker = Broker()
    asked = broker.put("x", 0)
    await turns()
    waiting = broker.put("y", 0)
    await broker.questions.close()
    assert (asked.result(), waiting.result()) == ({A0: 99}, {A0: 99})
    assert broker.is_closed


async def test_nobody_waits_for_who_is_away() -> None:
    broker = Broker()
    asked = broker.put("x", 0)
    await turns()
    waiting = broker.put("y", 0)
    broker.questions.give_up()
    assert waiting.result() == {A0: 99}
    await turns()
    assert asked.result() == {A0: 99}
    assert len(broker.asked) == 1


async def test_who_asks_again_meanwhile_has_given_up_what_waits() -> None:
    broker = Broker()
    asked = broker.put("x", 0)
    await turns()
    first, other = broker.put("x", 1), broker.put("x", 2, A1)
    second = broker.put("x", 3)
    assert first.result() == {A0: 99}
    assert not asked.done()
    for _ in range(3):
        broker.answer(broker.asked[-1])
        await turns()
    assert len(broker.asked) == 3
    assert [each.result() for each in (asked, other, second)] == [
        {A0: 0},
        {A1: 2},
        {A0: 3},
    ]


async def test_who_asks_just_the_same_meanwhile_gets_the_same_answer() -> None:
    broker = Broker()
    asked = broker.put("x", 0)
    await turns()
    both = [broker.put("x", 0), broker.put("x", 0)]
    both[0].listen(lambda _: 1 // 0)
    assert not both[0].done()
    for _ in range(2):
        broker.answer(broker.asked[-1])
        await turns()
    assert [each.result() for each in (asked, *both)] == [{A0: 0}] * 3
    assert (len(broker.asked), broker.bugs.count) == (2, 1)


async def test_nobody_waits_once_more_for_who_does_not_answer() -> None:
    """Else of many groups the last would wait for all others."""
    broker = Broker()
    contents = [("x", {A0: 0}, group) for group in "ghi"]
    answers = [broker.questions.ask(each[0], each, each[2]) for each in contents]
    await turns()
    broker.answer(NoAnswer())
    await turns()
    assert [each.result() for each in answers] == [{A0: 99}] * 3
    assert len(broker.asked) == 1
    later = broker.put("x", 0)
    await turns()
    broker.answer(broker.asked[1])
    await turns()
    assert later.result() == {A0: 0}


async def test_the_log_says_once_why_there_is_no_answer() -> None:
    broker = Broker()
    for _ in range(3):
        broker.put("x", 0)
        await turns()
        broker.answer(Unreachable("certificate verify failed"))
        await turns()
    assert broker.said == [
        "letters of broker 2 get no answer: certificate verify failed"
    ]
    broker.put("x", 0)
    await turns()
    broker.answer(UnsupportedVersion("it is too old"))
    await turns()
    assert len(broker.said) == 2
