import asyncio
from typing import Any

import pytest

from odradek.broker.replica.waiting.delayed_delete_records import (
    DelayedDeleteRecords,
    DeleteRecordsResult,
    PendingDeletion,
)
from odradek.protocol.errors import (
    ErrorCode,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollower,
)
from odradek.protocol.topic_partition import TopicPartition

A, B, DONE = (TopicPartition("t", number) for number in range(3))


class FakeLogStart:
    error: KafkaError | None = None

    def check(self, log: None) -> None:
        if self.error is not None:
            raise self.error


class FakePartition:
    def __init__(self) -> None:
        self.leadership = self  # it has no such part
        self.durable_log_start = FakeLogStart()
        self.log = None
        self.low_watermark = 0
        self.error: KafkaError | None = None

    def check(self) -> None:
        if self.error is not None:
            raise self.error


class Fixture:
    """Deletions up to 10 from A and B, and one that was complete at once."""

    def __init__(self) -> None:
        self.partitions = {A: FakePartition(), B: FakePartition()}
        self.future: Any = asyncio.get_running_loop().create_future()
        results = dict.fromkeys((A, B), DeleteRecordsResult(ErrorCode.NONE, 0))
        results[DONE] = DeleteRecordsResult(ErrorCode.NONE, 7)
        pending: Any = {
            key: PendingDeletion(partition, 10)  # type: ignore[arg-type]
            for key, partition in self.partitions.items()
        }
        self.operation = DelayedDeleteRecords(results, pending, self.future, dict)


def answered(low_watermark: int, error_code: int = ErrorCode.NONE) -> Any:
    return DeleteRecordsResult(error_code, low_watermark)


async def test_it_answers_when_every_low_watermark_is_there() -> None:
    waits = Fixture()
    waits.partitions[A].low_watermark = 10
    assert not waits.operation.try_complete()
    waits.partitions[B].low_watermark = 9
    assert not waits.operation.try_complete_for(B)
    waits.partitions[B].low_watermark = 12
    assert waits.operation.try_complete_for(B)
    assert waits.future.result() == {
        A: answered(10),
        B: answered(12),
        DONE: answered(7),
    }


async def test_a_check_looks_at_its_own_partition() -> None:
    waits = Fixture()
    for partition in waits.partitions.values():
        partition.low_watermark = 10
    assert not waits.operation.try_complete_for(A)
    assert not waits.operation.try_complete_for(A), "again, and for nothing"
    assert waits.operation.try_complete_for(B)


async def test_errors_end_the_wait_with_no_low_watermark() -> None:
    waits = Fixture()
    waits.partitions[A].error = NotLeaderOrFollower()
    waits.partitions[B].durable_log_start.error = KafkaStorageError()
    assert waits.operation.try_complete()
    found = waits.future.result()
    assert found[A] == answered(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert found[B] == answered(-1, ErrorCode.KAFKA_STORAGE_ERROR)


async def test_what_is_reached_is_no_longer_in_danger() -> None:
    waits = Fixture()
    for partition in waits.partitions.values():
        partition.low_watermark = 10
        partition.durable_log_start.error = KafkaStorageError()
    assert waits.operation.try_complete()
    assert waits.future.result()[A] == answered(10)


async def test_when_time_is_over_the_finished_keep_their_results() -> None:
    waits = Fixture()
    waits.partitions[A].low_watermark = 11
    assert not waits.operation.try_complete()
    waits.operation.force_complete()
    found = waits.future.result()
    assert found[A] == answered(11)
    assert found[B] == answered(0, ErrorCode.REQUEST_TIMED_OUT)


async def test_a_bug_is_told_to_the_asker() -> None:
    waits = Fixture()
    waits.operation.on_error(ZeroDivisionError("expected by this test"))
    waits.operation.on_error(ZeroDivisionError("the second is dropped"))
    with pytest.raises(ZeroDivisionError, match="expected"):
        waits.future.result()
