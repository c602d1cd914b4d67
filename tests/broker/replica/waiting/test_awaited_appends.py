from typing import Any

import pytest

from odradek.broker.replica.partition.view import Until
from odradek.broker.replica.waiting.awaited_appends import (
    AwaitedAppend,
    AwaitingAppends,
)
from odradek.broker.replica.waiting.delayed_produce import AppendResult
from odradek.broker.replica.waiting.patience import DISK_TIMEOUT_MS
from odradek.broker.replica.waiting.purgatory import Purgatory
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.clock import FakeClock

A = TopicPartition("t", 0)
TIMEOUT_MS = 1000


class FakePartition:
    """Acknowledges what is below ``reached``; the rest is open, or ``failure``."""

    def __init__(self) -> None:
        self.topic_partition = A
        self.view = self  # it has no parts
        self.awaited: Any = None
        self.replication: object | None = "some other broker"
        self.reached = 0
        self.durable = 0
        self.failure: int | None = None
        self.questions = 0

    def acknowledgement(self, next_offset: int, until: Until) -> int | None:
        self.questions += 1
        reached = self.durable if until is Until.SYNCED else self.reached
        return ErrorCode.NONE if next_offset <= reached else self.failure


class Waits:
    """Appends to one partition, each of one record, and who is answered what."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.purgatory: Purgatory[TopicPartition] = Purgatory("Produce", self.clock)
        self.appends = AwaitingAppends(self.purgatory, self.clock)
        self.partition: Any = FakePartition()
        self.next_offset = 0
        self.answers: list[tuple[int, Any]] = []

    def append(
        self, timeout_ms: int = TIMEOUT_MS, until: Until = Until.REPLICATED
    ) -> AwaitedAppend:
        self.next_offset += 1
        append = awaited(self.next_offset)
        append.listen(self.note)
        self.appends.add(self.partition, append, until, timeout_ms, self.clock.now_ms())
        return append

    def note(self, append: Any) -> None:
        self.answers.append((append.next_offset, append.error or append.response))

    def reach(self, offset: int) -> int:
        self.partition.reached = offset
        return self.purgatory.check(A)


def awaited(next_offset: int, finish: Any = None) -> AwaitedAppend:
    result = AppendResult(ErrorCode.NONE, next_offset - 1, next_offset=next_offset)
    finish = finish or (lambda found: found.error_code)
    return AwaitedAppend(finish(result), result, finish)


async def test_one_question_answers_all_of_them_in_their_order() -> None:
    waits = Waits()
    for _ in range(5):
        waits.append()
    assert (waits.purgatory.delayed_count, waits.purgatory.watched_count) == (5, 1)
    waits.reach(5)
    assert waits.answers == [(offset, ErrorCode.NONE) for offset in range(1, 6)]
    assert waits.partition.questions == 1
    assert (waits.purgatory.delayed_count, waits.purgatory.watched_count) == (0, 0)


async def test_those_behind_the_high_watermark_go_on_waiting() -> None:
    waits = Waits()
    for _ in range(5):
        waits.append()
    assert waits.reach(0) == 0
    waits.reach(3)
    assert [offset for offset, _ in waits.answers] == [1, 2, 3]
    waits.append()
    assert waits.purgatory.delayed_count == 3
    waits.reach(6)
    assert [offset for offset, _ in waits.answers] == [1, 2, 3, 4, 5, 6]
    assert waits.purgatory.delayed_count == 0


async def test_what_was_durable_before_a_failure_is_well() -> None:
    waits = Waits()
    for _ in range(4):
        waits.append()
    waits.partition.failure = ErrorCode.KAFKA_STORAGE_ERROR
    assert waits.reach(2) == 1
    none, failed = ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR
    assert [code for _, code in waits.answers] == [none, none, failed, failed]
    assert waits.purgatory.delayed_count == 0
    assert waits.partition.awaited is None


async def test_nobody_joins_those_that_were_answered() -> None:
    waits = Waits()
    waits.append()
    waits.reach(1)
    late = waits.append()
    assert not late.done()
    waits.reach(2)
    assert late.result() == ErrorCode.NONE


async def test_no_answer_comes_before_its_own_sync() -> None:
    waits = Waits()
    watermark, durable = waits.append(), waits.append(until=Until.SYNCED)
    waits.reach(2)
    assert (watermark.done(), durable.done()) == (True, False)
    waits.partition.durable = 2
    waits.purgatory.check(A)
    assert durable.result() == ErrorCode.NONE


@pytest.mark.parametrize("step_ms", [0, 1, 5, 40])
async def test_each_has_its_time_to_wait_and_little_more(step_ms: int) -> None:
    waits = Waits()
    came_ms: list[int] = []
    took_ms: list[int] = []
    for _ in range(20):
        append = waits.append()
        came_ms.append(waits.clock.monotonic_ms())
        append.listen(lambda _: took_ms.append(waits.clock.monotonic_ms()))
        waits.clock.advance(step_ms)
    for _ in range(2 * TIMEOUT_MS):
        waits.clock.advance(1)
    assert len(took_ms) == 20
    for came, took in zip(came_ms, took_ms, strict=True):
        assert TIMEOUT_MS <= took - came <= TIMEOUT_MS + TIMEOUT_MS // 64
    assert waits.purgatory.delayed_count == 0
    assert waits.partition.awaited is None


async def test_another_time_to_wait_is_kept_apart() -> None:
    waits = Waits()
    long, short = waits.append(), waits.append(TIMEOUT_MS // 10)
    waits.clock.advance(TIMEOUT_MS // 5)
    assert short.result() == ErrorCode.REQUEST_TIMED_OUT
    assert not long.done()


async def test_without_time_to_wait_the_time_is_over_at_once() -> None:
    waits = Waits()
    assert waits.append(0).result() == ErrorCode.REQUEST_TIMED_OUT
    assert waits.partition.awaited is None
    assert waits.purgatory.delayed_count == 0


@pytest.mark.parametrize("timeout_ms", [-1, 0, 1, TIMEOUT_MS])
async def test_our_own_disk_has_its_time_whatever_the_client_says(
    timeout_ms: int,
) -> None:
    waits = Waits()
    waits.partition.replication = None
    first, second = waits.append(timeout_ms), waits.append(timeout_ms)
    waits.clock.advance(DISK_TIMEOUT_MS - 1)
    waits.reach(1)
    assert first.result() == ErrorCode.NONE
    assert not second.done()
    waits.clock.advance(DISK_TIMEOUT_MS // 64 + 1)
    assert second.result() == ErrorCode.REQUEST_TIMED_OUT


async def test_a_repetition_does_not_speak_for_those_behind_it() -> None:
    waits = Waits()
    first, second = waits.append(), waits.append()
    again = awaited(1)
    waits.appends.add_alone(waits.partition, again, Until.REPLICATED, TIMEOUT_MS)
    waits.reach(1)
    assert (first.done(), second.done(), again.done()) == (True, False, True)


async def test_what_is_older_waits_apart() -> None:
    """It may have been written before, and be asked for after, what others wrote."""
    waits = Waits()
    waits.append()
    second = waits.append()
    waits.next_offset = 0
    older = waits.append()
    waits.reach(1)
    assert (older.done(), second.done()) == (True, False)
    waits.reach(2)
    assert second.done()


async def test_what_has_failed_says_so() -> None:
    waits = Waits()
    well, late = waits.append(), waits.append()
    waits.reach(1)
    waits.clock.advance(2 * TIMEOUT_MS)
    assert (well.has_failed, late.has_failed) == (False, True)


async def test_a_listener_that_raises_takes_no_answer_from_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    waits = Waits()

    def fail(_: Any) -> None:
        raise ZeroDivisionError("expected by this test")

    waits.append()
    waits.append().listen(fail)
    waits.append()
    waits.reach(3)
    assert [offset for offset, _ in waits.answers] == [1, 3]
    assert "a delayed operation failed" in caplog.text
    assert waits.purgatory.delayed_count == 0


async def test_a_bug_is_told_to_those_who_asked() -> None:
    waits = Waits()
    both = waits.append(), waits.append()
    del waits.partition.reached
    waits.purgatory.check(A)
    assert [type(each.error) for each in both] == [AttributeError] * 2
    waits.partition.reached = 0
    assert not waits.append().done(), "nobody waits with those who were told"
    assert waits.purgatory.delayed_count == 1


async def test_an_answer_that_cannot_be_made_is_an_error() -> None:
    def finish(result: AppendResult) -> int:
        return 1 // (1 - result.error_code)

    append = awaited(1, finish)
    append.answer(1)
    with pytest.raises(ZeroDivisionError):
        append.result()
