from typing import Any

import pytest

from odradek.broker.replica.partition.fetch_reader import (
    FetchParams,
    FetchReader,
    PartitionFetch,
)
from odradek.broker.replica.partition.partition import Partition
from odradek.broker.replica.partition.replica_state import ReplicaState
from odradek.protocol.errors import ErrorCode, UnknownTopicOrPartition
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import ColdRead
from odradek.storage.values.log_config import LogConfig
from odradek.storage.values.log_read import FetchedData, FetchIsolation
from odradek.storage.values.offset_metadata import OffsetMetadata
from tests.broker.replica.partition.test_partition import FakeHost

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
PARAMS = FetchParams(FetchIsolation.HIGH_WATERMARK, 500, 1, 1000)


class FakeLog:
    """A log whose every read appends first, as if something came between."""

    path = "00.log"
    log_start_offset = 0

    def __init__(self) -> None:
        self.visibility = self.reading = self  # it has no parts
        self.high_watermark = self.last_stable_offset = 5
        self.is_cold = False
        self.reads: list[bool] = []
        self.epochs: dict[int, tuple[int, int]] = {}

    def offsets(self) -> tuple[int, int, int]:
        return self.high_watermark, self.last_stable_offset, self.log_start_offset

    def read(
        self, offset: int, size_max: int, isolation: Any, min_one: bool, may_block: bool
    ) -> FetchedData:
        self.reads.append(may_block)
        if self.is_cold and not may_block:
            raise ColdRead(self, 0, 0)  # type: ignore[arg-type]
        self.high_watermark += 1
        self.last_stable_offset += 1
        return FetchedData(OffsetMetadata(offset, 0, 0), b"x" * 100)

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        return self.epochs.get(epoch, (-1, -1))

    def update_config(self, config: LogConfig) -> None:
        """A fake has none."""


def partition(log: FakeLog, leader_epoch: int = 3, is_leader: bool = True) -> Partition:
    host: Any = FakeHost()
    replicas = ReplicaState((1,), (1,), is_leader)
    made = Partition(T0, bytes(16), leader_epoch, LogConfig(), replicas, host)
    made.view.log = log  # type: ignore[assignment]
    return made


def reader(
    log: FakeLog, *wanted: PartitionFetch, params: FetchParams = PARAMS, **more: Any
) -> FetchReader:
    found = partition(log, **more)
    return FetchReader(params, wanted, lambda _: found, params.max_bytes)


def error_of(log: FakeLog, wanted: PartitionFetch, **more: Any) -> int:
    reading = reader(log, wanted, **more)
    reading.read()
    (result,) = reading.results
    assert reading.must_answer == (result.error_code != 0 or reading.size > 0)
    return result.error_code


def test_t041_fetch_hw_lso_values_are_pre_read() -> None:
    reading = reader(FakeLog(), PartitionFetch(T0, 0, 1000))
    reading.read()
    (result,) = reading.results
    assert (result.high_watermark, result.last_stable_offset) == (5, 5)
    assert len(result.records) == 100


@pytest.mark.parametrize("is_leader", [True, False])
def test_t043_fetch_epoch_fencing(is_leader: bool) -> None:
    def error(epoch: int) -> int:
        wanted = PartitionFetch(T0, 0, 1000, current_leader_epoch=epoch)
        return error_of(FakeLog(), wanted, is_leader=is_leader)

    assert error(2) == ErrorCode.FENCED_LEADER_EPOCH
    assert error(4) == ErrorCode.UNKNOWN_LEADER_EPOCH
    ours = ErrorCode.NONE if is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert error(3) == ours
    assert error(-1) == ours, "the epoch is checked before the leader"


def test_t044_last_fetched_epoch_diverging() -> None:
    log = FakeLog()
    log.epochs = {3: (2, 10), 2: (2, 10), 4: (4, 12)}
    reading = reader(log, PartitionFetch(T0, 9, 1000, last_fetched_epoch=3))
    reading.read()
    (result,) = reading.results
    assert result.diverging_epoch == (2, 10)
    assert (result.error_code, bytes(result.records)) == (ErrorCode.NONE, b"")
    assert reading.must_answer
    assert log.reads == []

    above_the_end = PartitionFetch(T0, 11, 1000, last_fetched_epoch=2)
    reading = reader(log, above_the_end)
    reading.read()
    assert reading.results[0].diverging_epoch == (2, 10)

    shared = PartitionFetch(T0, 11, 1000, last_fetched_epoch=4)
    reading = reader(log, shared)
    reading.read()
    assert len(reading.results[0].records) == 100


def test_an_unknown_last_fetched_epoch_is_out_of_range() -> None:
    wanted = PartitionFetch(T0, 9, 1000, last_fetched_epoch=9)
    assert error_of(FakeLog(), wanted) == ErrorCode.OFFSET_OUT_OF_RANGE


def test_t045_offset_below_start_with_diverging_epoch_is_1() -> None:
    log = FakeLog()
    log.log_start_offset = 5
    log.epochs = {3: (2, 10)}
    wanted = PartitionFetch(T0, 4, 1000, last_fetched_epoch=3)
    assert error_of(log, wanted) == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_cold_read_goes_on_where_it_stopped() -> None:
    log = FakeLog()
    reading = reader(log, PartitionFetch(T0, 0, 500), PartitionFetch(T1, 0, 500))
    log.is_cold = True
    with pytest.raises(ColdRead):
        reading.read()
    with pytest.raises(ColdRead):
        reading.read(may_block=True)
    reading.read(may_block=True)
    assert log.reads == [False, True, False, True], "each was warmed by itself"
    assert reading.size == 200


def test_what_a_handler_refused_is_answered_without_reading() -> None:
    log = FakeLog()
    wanted = PartitionFetch(T0, 0, 500, refusal=ErrorCode.UNKNOWN_TOPIC_ID)
    assert error_of(log, wanted) == ErrorCode.UNKNOWN_TOPIC_ID
    assert log.reads == []


def test_an_unknown_partition_has_no_offsets() -> None:
    def find(topic_partition: TopicPartition) -> Partition:
        raise UnknownTopicOrPartition

    reading = FetchReader(PARAMS, [PartitionFetch(T0, 0, 500)], find, 1000)
    reading.read()
    assert reading.results[0][:4] == (3, -1, -1, -1)


def test_it_waits_only_when_waiting_helps() -> None:
    log = FakeLog()
    wanted = PartitionFetch(T0, 0, 500)
    enough = reader(log, wanted)
    enough.read()
    assert enough.must_answer
    more = reader(log, wanted, params=PARAMS._replace(min_bytes=101))
    more.read()
    assert not more.must_answer
    impatient = PARAMS._replace(min_bytes=101, max_wait_ms=0)
    at_once = reader(log, wanted, params=impatient)
    at_once.read()
    assert at_once.must_answer
    assert reader(log, params=PARAMS._replace(min_bytes=101)).must_answer
