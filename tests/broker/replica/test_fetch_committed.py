"""Fetches of committed readers, of transactions written as a coordinator would."""

from pathlib import Path
from typing import Any

from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.broker.replica.partition.fetch_reader import FetchParams, PartitionFetch
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import AbortedTransaction, FetchIsolation
from tests.fakes.cluster import led_by
from tests.fakes.replicas import Replicas, base_offsets, batch_of, marker_of, replicas

T0 = TopicPartition("t", 0)
COMMITTED, ALL = FetchIsolation.TXN_COMMITTED, FetchIsolation.HIGH_WATERMARK


async def append(broker: Replicas, *batches: memoryview) -> None:
    for batch in batches:
        results = broker.manager.append_records(
            {T0: batch}, acks=1, timeout_ms=1000, terms=OF_A_COORDINATOR
        )
        assert results[T0].error_code == ErrorCode.NONE
    await broker.commit()


def data_of(producer_id: int, sequence: int = 0) -> memoryview:
    return batch_of(
        b"v",
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=True,
    )


def fetch(broker: Replicas, offset: int, isolation: FetchIsolation, **more: Any) -> Any:
    params = FetchParams(
        isolation, more.get("max_wait_ms", 0), more.get("min_bytes", 1), 1 << 20
    )
    return broker.manager.fetch_records(params, [PartitionFetch(T0, offset, 1 << 20)])


async def test_the_aborted_come_with_what_they_wrote(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic(internal_segment_bytes="300")
        await append(broker, data_of(7), data_of(8), *[batch_of(b"v")] * 1)
        await append(broker, *[batch_of(b"between") for _ in range(10)])  # 3 to 12
        await append(broker, marker_of(7, commits=True), marker_of(8, commits=False))
        aborted = [AbortedTransaction(8, 1)]
        (first,) = fetch(broker, 0, COMMITTED)
        assert (base_offsets(first.records)[:2], first.aborted) == ([0, 1], aborted)
        (later,) = fetch(broker, 6, COMMITTED)
        assert later.aborted == aborted, "its records may go on here"
        (behind,) = fetch(broker, 14, COMMITTED)
        assert (base_offsets(behind.records), behind.aborted) == ([14], aborted)
        (end,) = fetch(broker, 15, COMMITTED)
        assert (bytes(end.records), end.aborted) == (b"", [])
        (uncommitted,) = fetch(broker, 0, ALL)
        assert uncommitted.aborted is None
        assert len(uncommitted.records) == len(first.records)


async def test_undecided_records_are_not_read(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        await append(broker, batch_of(b"v"), data_of(7), batch_of(b"v"))
        (result,) = fetch(broker, 0, COMMITTED)
        assert base_offsets(result.records) == [0]
        assert (result.high_watermark, result.last_stable_offset) == (3, 1)
        (above,) = fetch(broker, 2, COMMITTED)
        assert (above.error_code, bytes(above.records)) == (ErrorCode.NONE, b"")
        (result,) = fetch(broker, 0, ALL)
        assert base_offsets(result.records) == [0, 1, 2]


async def test_a_marker_wakes_committed_readers(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        await append(broker, data_of(7))
        waiting = fetch(broker, 0, COMMITTED, max_wait_ms=500)
        assert isinstance(waiting, Parked)
        await append(broker, batch_of(b"v"))
        assert not waiting.done()
        broker.manager.append_records(
            {T0: marker_of(7, commits=False)},
            acks=1,
            timeout_ms=1000,
            terms=OF_A_COORDINATOR,
        )
        assert not waiting.done(), "the marker is not replicated yet"
        await broker.commit()
        (result,) = await waiting
        assert base_offsets(result.records) == [0, 1, 2]
        assert result.aborted == [AbortedTransaction(7, 0)]


async def test_min_bytes_count_up_to_the_last_stable_offset(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        size = len(batch_of(b"v"))
        await append(broker, batch_of(b"v"), data_of(7))
        waiting = fetch(broker, 0, COMMITTED, max_wait_ms=500, min_bytes=2 * size)
        await append(broker, *[batch_of(b"v") for _ in range(5)])
        assert not waiting.done()
        await append(broker, marker_of(7, commits=True))
        (result,) = await waiting
        assert len(base_offsets(result.records)) == 8


async def test_t137_leader_to_follower_completes_parked_fetches_with_6(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        await broker.create_topic()
        waiting = fetch(broker, 0, ALL, max_wait_ms=500)
        params = FetchParams(ALL, 500, 1, 1 << 20, needs_leader=False)
        wanted = [PartitionFetch(T0, 0, 1 << 20)]
        of_any_replica = broker.manager.fetch_records(params, wanted)
        partition = broker.manager.partition(T0)
        partition.make_follower(led_by(2, leader_epoch=1))
        (result,) = await waiting
        assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert not of_any_replica.done(), "a follower may answer it"
        broker.clock.advance(510)
        (result,) = await of_any_replica
        assert result.error_code == ErrorCode.NONE
