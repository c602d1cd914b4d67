from typing import Any

import pytest

from odradek.broker.replica.partition.view import Until
from odradek.broker.replica.waiting.delayed_produce import (
    AppendResult,
    DelayedProduce,
    PendingAppend,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class FakePartition:
    def __init__(self) -> None:
        self.view = self  # it has no parts
        self.error_code: int | None = None
        self.questions = 0

    def acknowledgement(self, next_offset: int, until: Until) -> int | None:
        self.questions += 1
        return self.error_code


def delayed(
    partitions: dict[TopicPartition, FakePartition], finish: Any = dict
) -> tuple[DelayedProduce, Parked]:
    parked = Parked()
    pending: dict[TopicPartition, Any] = {
        key: PendingAppend(partition, 1, Until.REPLICATED)  # type: ignore[arg-type]
        for key, partition in partitions.items()
    }
    results = {key: AppendResult(ErrorCode.NONE, 0) for key in partitions}
    return DelayedProduce(results, pending, parked, finish), parked


async def test_a_check_asks_only_the_partition_that_changed() -> None:
    partitions = {A: FakePartition(), B: FakePartition()}
    operation, parked = delayed(partitions)
    partitions[A].error_code = ErrorCode.NONE
    assert not operation.try_complete_for(A)
    assert (partitions[A].questions, partitions[B].questions) == (1, 0)
    partitions[B].error_code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert operation.try_complete_for(B)
    assert [result.error_code for result in parked.result().values()] == [0, 20]
    assert partitions[A].questions == 1


async def test_what_is_pending_at_the_end_has_timed_out() -> None:
    partitions = {A: FakePartition(), B: FakePartition()}
    operation, parked = delayed(partitions)
    partitions[B].error_code = ErrorCode.NONE
    operation.try_complete()
    operation.force_complete()
    assert parked.result() == {
        A: AppendResult(ErrorCode.REQUEST_TIMED_OUT, 0),
        B: AppendResult(ErrorCode.NONE, 0),
    }


async def test_it_answers_once() -> None:
    operation, _ = delayed({A: FakePartition()})
    assert operation.force_complete()
    assert not operation.force_complete()


async def test_a_bug_is_told_to_the_asker() -> None:
    operation, parked = delayed({A: FakePartition()})
    operation.on_error(ZeroDivisionError("expected by this test"))
    operation.on_error(ZeroDivisionError("the second is dropped"))
    with pytest.raises(ZeroDivisionError, match="expected"):
        parked.result()
