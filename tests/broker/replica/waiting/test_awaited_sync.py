import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.replica.waiting.awaited_appends import AwaitingAppends
from odradek.broker.replica.waiting.awaited_sync import AwaitedSync
from odradek.broker.replica.waiting.purgatory import Purgatory
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.replica.waiting.test_awaited_appends import FakePartition, awaited
from tests.fakes.clock import FakeClock


class Waits:
    """Appends to some partitions, and who is answered what, in that order."""

    def __init__(self, count: int = 2) -> None:
        clock = FakeClock()
        self.purgatory: Purgatory[TopicPartition] = Purgatory("Produce", clock)
        self.sync = AwaitedSync(AwaitingAppends(self.purgatory, clock))
        self.partitions: list[Any] = []
        for index in range(count):
            made: Any = FakePartition()
            made.topic_partition = TopicPartition("t", index)
            self.partitions.append(made)
        self.answers: list[Any] = []

    def append(self, index: int, next_offset: int) -> None:
        append = awaited(next_offset)
        append.listen(lambda it: self.answers.append((index, next_offset, it.response)))
        self.sync.add(self.partitions[index], append)


async def test_one_sync_answers_those_of_all_partitions() -> None:
    waits = Waits()
    for index, offset in ((0, 1), (1, 1), (0, 2)):
        waits.append(index, offset)
    assert (waits.purgatory.delayed_count, waits.purgatory.watched_count) == (3, 0)
    for partition in waits.partitions:
        partition.reached = 2
    waits.sync.release()
    assert waits.answers == [(0, 1, 0), (1, 1, 0), (0, 2, 0)]
    assert waits.purgatory.delayed_count == 0
    waits.sync.release()
    assert len(waits.answers) == 3


async def test_who_must_wait_longer_waits_for_his_partition() -> None:
    waits = Waits()
    waits.append(0, 1)
    waits.append(1, 1)
    waits.partitions[0].reached = 1
    waits.sync.release()
    assert waits.answers == [(0, 1, 0)]
    assert (waits.purgatory.delayed_count, waits.purgatory.watched_count) == (1, 1)
    waits.partitions[1].reached = 1
    waits.purgatory.check(TopicPartition("t", 1))
    assert waits.answers == [(0, 1, 0), (1, 1, 0)]
    assert waits.purgatory.delayed_count == 0


async def test_what_is_said_of_a_partition_is_for_its_own_appends() -> None:
    waits = Waits()
    waits.append(0, 1)
    waits.append(1, 1)
    waits.partitions[0].failure = ErrorCode.KAFKA_STORAGE_ERROR
    waits.sync.hand_over(waits.partitions[0])
    assert waits.answers == [(0, 1, ErrorCode.KAFKA_STORAGE_ERROR)]
    waits.partitions[1].reached = 1
    waits.sync.release()
    assert waits.answers[1:] == [(1, 1, 0)]


async def test_a_bug_of_one_is_not_the_business_of_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    waits = Waits(1)
    append = awaited(1)
    append.listen(lambda _: 1 / 0)
    waits.sync.add(waits.partitions[0], append)
    waits.append(0, 2)
    waits.partitions[0].reached = 2
    with caplog.at_level(logging.CRITICAL + 1):
        waits.sync.release()
    assert waits.answers == [(0, 2, 0)]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), max_size=12),
    st.lists(st.integers(0, 9), min_size=3, max_size=3),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.integers(0, 2),
)
def test_it_answers_what_the_purgatory_would(
    appends: list[tuple[int, int]], reached: list[int], fails: list[bool], handed: int
) -> None:
    """Each as its partition says; what is open is answered when it is reached."""
    waits = Waits(3)
    for index, offset in appends:
        waits.append(index, offset)
    for partition, offset, has_failed in zip(
        waits.partitions, reached, fails, strict=True
    ):
        partition.reached = offset
        partition.failure = ErrorCode.KAFKA_STORAGE_ERROR if has_failed else None
    waits.sync.hand_over(waits.partitions[handed])
    waits.sync.release()
    expected = sorted(
        (index, offset, 0 if offset <= reached[index] else 56)
        for index, offset in appends
        if offset <= reached[index] or fails[index]
    )
    assert sorted(waits.answers) == expected
    assert waits.purgatory.delayed_count == len(appends) - len(expected)
    for partition in waits.partitions:
        partition.reached = 9
        waits.purgatory.check(partition.topic_partition)
    assert len(waits.answers) == len(appends)
    assert waits.purgatory.delayed_count == waits.purgatory.watched_count == 0
