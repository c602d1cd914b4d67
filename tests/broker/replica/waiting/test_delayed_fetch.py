import asyncio
from typing import Any

import pytest

from odradek.broker.replica.partition.fetch_reader import (
    FetchParams,
    FetchReader,
    FetchResult,
    PartitionFetch,
)
from odradek.broker.replica.waiting.delayed_fetch import (
    DelayedFetch,
    Waiter,
    WaitingFetches,
)
from odradek.protocol.errors import ErrorCode, FencedLeaderEpoch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.fakes.clock import FakeClock

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class FakePartition:
    log_end_fetch_count = 0

    def __init__(self, end: OffsetMetadata) -> None:
        self.view = self.leadership = self  # it has no parts
        self.end = end
        self.log_end_offset = end.offset
        self.is_fenced = False
        self.diverges = False
        self.questions = 0

    def check(self, current_leader_epoch: int) -> None:
        self.questions += 1
        if self.is_fenced:
            raise FencedLeaderEpoch

    def end_offset(self, isolation: FetchIsolation) -> OffsetMetadata:
        return self.end

    def diverging_epoch(self, offset: int, epoch: int) -> tuple[int, int] | None:
        return (0, 1) if self.diverges else None


class Fixture:
    """A fetch of two partitions from offset 10, position 1000 of segment 0."""

    def __init__(
        self,
        min_bytes: int = 100,
        start: OffsetMetadata | None = None,
        last_fetched_epoch: int = -1,
    ) -> None:
        start = start or OffsetMetadata(10, 0, 1000)
        self.partitions = {A: FakePartition(start), B: FakePartition(start)}
        self.answers = 0
        params = FetchParams(FetchIsolation.HIGH_WATERMARK, 500, min_bytes, 10_000)
        wanted = [
            PartitionFetch(each, 10, 150, last_fetched_epoch=last_fetched_epoch)
            for each in (A, B)
        ]
        find: Any = self.partitions.__getitem__
        reader = FetchReader(params, wanted, find, params.max_bytes)
        reader.results = [
            FetchResult(ErrorCode.NONE, offset_metadata=start) for _ in wanted
        ]
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        others = WaitingFetches("Fetch", FakeClock())
        self.fetch = DelayedFetch(
            reader, find, Waiter(self.future, list), self.answer, others
        )

    def answer(self, fetch: DelayedFetch) -> None:
        self.answers += 1

    def move(self, key: TopicPartition, end: OffsetMetadata) -> bool:
        self.partitions[key].end = end
        self.partitions[key].log_end_offset = end.offset
        return self.fetch.try_complete_for(key)


async def test_bytes_of_all_partitions_count_together() -> None:
    waits = Fixture()
    assert not waits.fetch.try_complete()
    assert not waits.move(A, OffsetMetadata(11, 0, 1060))
    assert not waits.move(A, OffsetMetadata(12, 0, 1099))
    assert waits.move(B, OffsetMetadata(11, 0, 1001))
    assert waits.answers == 1


async def test_a_check_looks_at_its_own_partition() -> None:
    waits = Fixture()
    waits.fetch.try_complete()
    waits.move(A, OffsetMetadata(11, 0, 1010))
    assert waits.partitions[A].questions == 2
    assert waits.partitions[B].questions == 1


async def test_a_partition_counts_up_to_its_own_limit() -> None:
    waits = Fixture(min_bytes=200)
    assert not waits.move(A, OffsetMetadata(99, 0, 9000))
    assert waits.move(B, OffsetMetadata(99, 0, 9000))


async def test_an_end_in_a_newer_segment_is_enough() -> None:
    waits = Fixture()
    assert not waits.move(A, OffsetMetadata(10, 10, 0)), "a roll, and no data"
    assert waits.move(A, OffsetMetadata(11, 10, 1))


async def test_a_log_that_was_cut_is_answered_at_once() -> None:
    waits = Fixture()
    assert waits.move(A, OffsetMetadata(9, 0, 900))


async def test_an_end_below_the_offset_is_waited_for() -> None:
    waits = Fixture()
    waits.partitions[A].end = OffsetMetadata(5, 0, 500)
    waits.partitions[A].log_end_offset = 20
    assert not waits.fetch.try_complete_for(A)


async def test_an_unknown_place_counts_nothing() -> None:
    waits = Fixture(start=OffsetMetadata(10))
    assert not waits.move(A, OffsetMetadata(99, 0, 9000))


@pytest.mark.parametrize("why", ["is_fenced", "diverges"])
async def test_what_would_be_an_error_is_answered_at_once(why: str) -> None:
    waits = Fixture(last_fetched_epoch=3)
    assert not waits.fetch.try_complete()
    setattr(waits.partitions[B], why, True)
    assert waits.fetch.try_complete_for(B)


async def test_a_bug_is_told_to_the_asker() -> None:
    waits = Fixture()
    waits.fetch.on_error(ZeroDivisionError("expected by this test"))
    waits.fetch.on_error(ZeroDivisionError("the second is dropped"))
    with pytest.raises(ZeroDivisionError, match="expected"):
        waits.future.result()
