"""Markers are written until every one of them is durable."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.marker_writer import (
    FIRST_RETRY_MS,
    RETRY_MAX_MS,
    Marker,
)
from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.record_batch import scan
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.other_brokers import OTHER, FakeOtherBrokers
from tests.fakes.transactions import ID, T0, T1, TransactionClient, transaction_client

GONE = TopicPartition("gone", 0)


def marker(producer: tuple[int, int], *, commit: bool = True, epoch: int = 0) -> Marker:
    return Marker(ProducerIdentity(*producer), commit, epoch, 0)


class Writing:
    """One call of the writer, and how often it was told to be done."""

    def __init__(
        self, client: TransactionClient, what: Marker, *partitions: TopicPartition
    ) -> None:
        self.done_count = 0
        client.service.markers.write_each(what, partitions, self.note)

    def note(self) -> None:
        self.done_count += 1


async def test_done_is_what_is_durable(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        writing = Writing(client, marker(producer, epoch=7), T0, T1)
        await client.broker.clock.tick()
        assert not writing.done_count
        assert client.stable(T0) == 0
        await client.settle()
        assert writing.done_count == 1
        log = client.log(T1)
        *_, (_, header) = scan(log.read(0, 10_000).records)
        records = log.read(1, 10_000).records
        assert header.is_control
        assert (header.producer_id, header.producer_epoch) == producer
        found = read_marker(records)
        assert found is not None
        assert (found.is_commit, found.coordinator_epoch) == (True, 7)


async def test_done_is_what_is_no_more(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing(T0)
        writing = Writing(client, marker(producer), T0, GONE)
        await client.settle()
        assert writing.done_count == 1


async def test_done_is_what_has_moved_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with transaction_client(tmp_path) as client:
        producer_id, _ = await client.ongoing(T0)
        writing = Writing(client, marker((producer_id, 5)), T0)
        await client.settle()
        late = Writing(client, marker((producer_id, 4)), T0)
        await client.settle()
        assert (writing.done_count, late.done_count) == (1, 1)
        assert client.log().log_end_offset == 2
        assert "t-0 has moved on (INVALID_PRODUCER_EPOCH)" in caplog.text


async def test_everything_else_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The log of one partition opens late; only that one is written again."""
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        partition = client.broker.manager.partition(T1)
        partition.leadership.refusal = KafkaStorageError("not open yet")
        writing = Writing(client, marker(producer), T0, T1)
        for _ in range(12):
            await client.settle()
            await client.broker.clock.tick(RETRY_MAX_MS)
        assert not writing.done_count
        assert "cannot be written to t-1 yet (KAFKA_STORAGE_ERROR)" in caplog.text
        partition.leadership.refusal = None
        await client.broker.clock.tick(RETRY_MAX_MS)
        await client.settle()
        assert writing.done_count == 1
        assert client.log(T0).log_end_offset == 2
        assert client.log(T1).log_end_offset == 2


async def test_offsets_are_ended_by_the_group_coordinator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with transaction_client(tmp_path) as client:
        groups = client.broker.services.groups
        asked: list[Any] = []
        codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NONE]

        def end_transaction(*arguments: Any) -> int:
            asked.append(arguments)
            return codes.pop(0)

        monkeypatch.setattr(groups, "end_transaction", end_transaction)
        partition = groups.partition_of("g")
        writing = Writing(client, marker((9, 1), commit=False, epoch=3), partition)
        await client.settle()
        assert not writing.done_count
        await client.broker.clock.tick(FIRST_RETRY_MS)
        assert writing.done_count == 1
        assert asked == [(partition, (9, 1), False, 3, 0)] * 2


async def test_a_closed_one_leaves_the_rest_to_the_next_broker(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing(T0)
        partition = client.broker.manager.partition(T0)
        partition.leadership.refusal = KafkaStorageError()
        writing = Writing(client, marker(producer), T0)
        await client.settle()
        client.service.markers.close()
        partition.leadership.refusal = None
        await client.broker.clock.tick(RETRY_MAX_MS)
        await client.settle()
        assert not writing.done_count
        assert client.log().log_end_offset == 1


async def test_markers_go_to_whoever_leads(tmp_path: Path) -> None:
    """The leader changes while it is asked: the next try goes to the new one."""
    async with transaction_client(tmp_path) as client:
        others = FakeOtherBrokers()
        client.service.use_brokers(others)
        others.leaders[T1] = OTHER
        producer = await client.ongoing()
        what = marker(producer, epoch=7)
        writing = Writing(client, what, T0, T1)
        await client.settle()
        assert client.stable(T0) == 2
        assert others.asked == [(OTHER, (what, (T1,)))]
        others.answers[-1].set_result({T1: ErrorCode.NOT_LEADER_OR_FOLLOWER})
        await client.settle()
        others.leaders[T1] = 3
        await client.broker.clock.tick(FIRST_RETRY_MS)
        assert others.asked[1:] == [(3, (what, (T1,)))]
        assert not writing.done_count
        others.answers[-1].set_result({T1: 0})
        await client.settle()
        assert (writing.done_count, client.stable(T1)) == (1, 0)


async def test_nobody_is_asked_for_what_nobody_leads(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        others = FakeOtherBrokers()
        client.service.use_brokers(others)
        others.leaders |= {T0: None, GONE: None}
        others.gone.add(GONE)
        producer = await client.ongoing(T1)
        writing = Writing(client, marker(producer), T0, GONE)
        await client.settle()
        assert not writing.done_count
        del others.leaders[T0]
        await client.broker.clock.tick(RETRY_MAX_MS)
        await client.settle()
        assert (writing.done_count, others.asked) == (1, [])


async def test_who_coordinates_no_more_tries_nothing_again(tmp_path: Path) -> None:
    """The next coordinator writes the markers, with its own epoch."""
    async with transaction_client(tmp_path) as client:
        others = FakeOtherBrokers()
        client.service.use_brokers(others)
        others.leaders[T0] = OTHER
        producer = await client.ongoing(T1)
        await client.told(client.add(producer, T0))
        assert (await client.told(client.end(producer))).error_code == 0
        await client.settle()
        assert len(others.asked) == 1
        place = client.service.partition_of(ID)
        leadership = client.broker.manager.partition(place).leadership
        leadership.epoch += 1
        others.answers[-1].set_result({T0: ErrorCode.NETWORK_EXCEPTION})
        await client.settle()
        await client.broker.clock.tick(RETRY_MAX_MS)
        assert len(others.asked) == 1
