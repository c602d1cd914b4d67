"""Transactions from the first Produce to what readers of committed records see."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.records.fetch import handle_fetch
from odradek.broker.network.connection import Connection
from odradek.broker.network.listener import Listener
from odradek.broker.replica.appends import AppendTerms
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.registry import registered_handlers
from odradek.broker.runtime.parked import Parked
from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.fetch import PartitionData
from odradek.protocol.messages.produce import ProduceResponse
from odradek.storage.producers.append_info import AppendOrigin
from tests.broker.handlers.records.test_fetch import at as place
from tests.broker.handlers.records.test_fetch import request as fetch_request
from tests.broker.handlers.records.test_list_offsets import ask
from tests.broker.handlers.records.test_list_offsets import at as wanted_at
from tests.broker.handlers.records.test_produce import decoded
from tests.broker.handlers.transactional_producer import NEW, OLD, Producer, producing
from tests.fakes.answers import fetched
from tests.fakes.files import FakeFiles
from tests.fakes.network import FakeTransport, fake_network, settle
from tests.fakes.replicas import NOW_MS, base_offsets, batch_of
from tests.fakes.transactions import T0, T1

COMMITTED = {"isolation_level": 1}


def fetch(it: Producer, offset: int, max_wait_ms: int = 0, **fields: Any) -> Any:
    asked = fetch_request(
        ("t", place(offset)), max_wait_ms=max_wait_ms, **{**COMMITTED, **fields}
    )
    return handle_fetch(it.client.broker.context(12), asked)


def read(it: Producer, offset: int = 0, **fields: Any) -> PartitionData:
    return fetched(fetch(it, offset, **fields), 12).responses[0].partitions[0]


def plain(it: Producer, timestamp: int = NOW_MS) -> None:
    batch = batch_of(b"plain", timestamp=timestamp)
    it.client.broker.manager.append_records({T0: batch}, acks=1, timeout_ms=1000)


def mark(
    it: Producer,
    epoch: int,
    *,
    commits: bool = False,
    coordinator_epoch: int = 0,
    transaction_version: int = 0,
) -> int:
    """A marker as a coordinator of some epoch would write it; the error code."""
    kind = ControlType.COMMIT if commits else ControlType.ABORT
    marker = EndTxnMarker(kind, coordinator_epoch)
    batch = build_marker_batch(marker, it.identity[0], epoch, NOW_MS)
    results = it.client.broker.manager.append_records(
        {T0: memoryview(batch)},
        acks=1,
        timeout_ms=1000,
        terms=AppendTerms(
            AppendOrigin.COORDINATOR, transaction_version=transaction_version
        ),
    )
    return int(results[T0].error_code)


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_transaction_is_read_when_it_is_committed(
    tmp_path: Path, version: int
) -> None:
    async with producing(tmp_path, version) as it:
        await it.begin()
        await it.add(T0, T1)
        assert await it.write(T0, T1) == [0, 0]
        assert await it.write(T0) == [0]
        plain(it)
        await it.client.broker.commit()
        undecided = read(it)
        assert base_offsets(undecided.records) == []
        assert (undecided.last_stable_offset, undecided.high_watermark) == (0, 3)
        everything = read(it, isolation_level=0)
        assert base_offsets(everything.records) == [0, 1, 2]
        assert everything.aborted_transactions is None
        assert ask(it.client.broker, wanted_at(-1), **COMMITTED).offset == 0
        assert ask(it.client.broker, wanted_at(-1)).offset == 3
        assert await it.end(commit=True) == 0
        await it.client.settle()
        committed = read(it)
        assert base_offsets(committed.records) == [0, 1, 2, 3]
        assert committed.aborted_transactions == []
        assert ask(it.client.broker, wanted_at(-1), **COMMITTED).offset == 4
        assert it.client.stable(T1) == 2


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_aborted_records_come_with_what_to_leave_out(
    tmp_path: Path, version: int
) -> None:
    async with producing(tmp_path, version) as it:
        await it.begin()
        for commit in (False, True, False):
            await it.add(T0)
            assert await it.write(T0) == [0]
            assert await it.end(commit=commit) == 0
            await it.client.settle()
        data = read(it)
        assert base_offsets(data.records) == [0, 1, 2, 3, 4, 5]
        assert data.aborted_transactions is not None
        named = [each.first_offset for each in data.aborted_transactions]
        assert named == [0, 4]
        assert {each.producer_id for each in data.aborted_transactions} == {
            it.identity[0]
        }
        behind = read(it, 2).aborted_transactions
        assert behind is not None
        assert [each.first_offset for each in behind] == [4]


async def test_the_second_protocol_appends_when_the_addition_is_durable(
    tmp_path: Path,
) -> None:
    async with producing(tmp_path, NEW) as it:
        await it.begin()
        task = asyncio.ensure_future(it.send(T0))
        await asyncio.sleep(0)
        assert it.client.broker.logs.get(T0) is None, "not even a log"
        await it.client.broker.commit()
        parked = await task
        assert isinstance(parked, Parked)
        assert not parked.done(), "the record is not durable yet"
        assert it.client.log().log_end_offset == 1
        assert (await it.client.told(parked)) is not None
        assert it.client.transaction().partitions == (T0,)
        second = it.send(T0)
        assert isinstance(second, Parked), "nobody is asked"


async def test_a_power_cut_before_the_addition_is_durable_loses_both(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with producing(tmp_path, NEW, files) as it:
        await it.begin()
        await it.client.settle()
        task = asyncio.ensure_future(it.send(T0))
        await asyncio.sleep(0)
        files.power_cut()
        task.cancel()
    async with producing(tmp_path, NEW, files) as it:
        await it.client.settle()
        assert it.client.transaction().partitions == ()
        assert it.client.broker.logs.get(T0) is None


async def test_the_first_protocol_wants_to_be_told(tmp_path: Path) -> None:
    async with producing(tmp_path, OLD) as it:
        await it.begin()
        await it.add(T0)
        both = await it.write(T0, T1)
        assert both == [0, ErrorCode.TRANSACTION_ABORTABLE]
        it.version = 10
        assert await it.write(T1) == [ErrorCode.INVALID_TXN_STATE]
        assert it.client.broker.logs.get(T1) is None
        assert it.client.transaction().partitions == (T0,)


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_who_was_replaced_is_fenced(tmp_path: Path, version: int) -> None:
    async with producing(tmp_path, version) as it:
        await it.begin()
        await it.add(T0)
        assert await it.write(T0) == [0]
        again = await it.client.told(it.client.init())
        assert again.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
        fenced = [ErrorCode.INVALID_PRODUCER_EPOCH]
        await it.client.settle()
        assert it.client.stable() == 2, "its transaction was aborted"
        assert await it.write(T0, sequence=1) == fenced
        await it.client.producer()
        assert await it.write(T1, sequence=0) == fenced
        assert it.client.log().log_end_offset == 2
        assert it.client.broker.logs.get(T1) is None


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_stranger_is_told_so(tmp_path: Path, version: int) -> None:
    async with producing(tmp_path, version) as it:
        await it.begin()
        producer_id, epoch = it.identity
        it.identity = producer_id + 1000, epoch
        mapping = [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
        assert await it.write(T0) == mapping
        it.identity = producer_id, epoch + 1
        assert await it.write(T0) == [ErrorCode.INVALID_PRODUCER_EPOCH]
        assert it.client.broker.logs.get(T0) is None


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_who_goes_on_before_the_end_waits_or_tries_again(
    tmp_path: Path, version: int
) -> None:
    async with producing(tmp_path, version) as it:
        await it.begin()
        await it.add(T0)
        await it.write(T0)
        await it.end(commit=True)
        stays = asyncio.ensure_future(it.send(T1))
        await asyncio.sleep(0)
        it.client.broker.clock.advance(100)
        answer = decoded(await stays, version)
        (refused,) = answer.responses[0].partition_responses
        again = ErrorCode.CONCURRENT_TRANSACTIONS
        if version == OLD:
            again = ErrorCode.NOT_ENOUGH_REPLICAS
        assert refused.error_code == again
        await it.client.settle()
        if version == NEW:
            assert await it.write(T1, sequence=0) == [0]


# Markers that come late


async def test_a_late_marker_never_ends_a_later_transaction(tmp_path: Path) -> None:
    """With an epoch for each transaction: it has the epoch of the next one."""
    async with producing(tmp_path, NEW) as it:
        await it.begin()
        await it.write(T0)
        await it.end(commit=True)
        await it.client.settle()
        epoch = it.identity[1]
        assert mark(it, epoch, transaction_version=2) == 0, "nothing is open: no harm"
        assert await it.write(T0) == [0]
        first_offset = it.client.stable()
        fenced = ErrorCode.INVALID_PRODUCER_EPOCH
        for late in (epoch, epoch - 1):
            assert mark(it, late, transaction_version=2) == fenced
        assert it.client.stable() == first_offset
        await it.end(commit=False)
        await it.client.settle()
        data = read(it)
        assert data.aborted_transactions is not None
        assert [each.first_offset for each in data.aborted_transactions] == [3]


async def test_a_marker_of_an_older_coordinator_is_refused(tmp_path: Path) -> None:
    async with producing(tmp_path, OLD) as it:
        await it.begin()
        await it.add(T0)
        await it.write(T0)
        assert mark(it, it.identity[1], coordinator_epoch=5) == 0
        await it.write(T0)
        fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
        assert mark(it, it.identity[1], coordinator_epoch=4) == fenced
        older = ErrorCode.INVALID_PRODUCER_EPOCH
        assert mark(it, it.identity[1] - 1, coordinator_epoch=5) == older


# Readers who wait


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_a_marker_wakes_who_waits_for_committed_records(
    tmp_path: Path, version: int
) -> None:
    async with producing(tmp_path, version) as it:
        await it.begin()
        await it.add(T0)
        await it.write(T0)
        waiting = fetch(it, 0, max_wait_ms=500)
        assert isinstance(waiting, Parked)
        await it.write(T0)
        plain(it)
        await it.client.settle()
        assert not waiting.done(), "all of it is behind an open transaction"
        await it.end(commit=True)
        assert not waiting.done(), "the marker is not durable"
        await it.client.settle()
        data = fetched(waiting.result(), 12).responses[0].partitions[0]
        assert base_offsets(data.records) == [0, 1, 2, 3]


async def test_times_are_looked_up_among_what_is_decided(tmp_path: Path) -> None:
    async with producing(tmp_path, NEW) as it:
        await it.begin()
        plain(it, NOW_MS - 1000)
        await it.write(T0)
        plain(it, NOW_MS + 1000)
        await it.client.settle()
        broker = it.client.broker
        assert ask(broker, wanted_at(NOW_MS - 1000), **COMMITTED).offset == 0
        for timestamp, offset in ((NOW_MS, 1), (NOW_MS + 1, 2)):
            assert ask(broker, wanted_at(timestamp), **COMMITTED).offset == -1
            assert ask(broker, wanted_at(timestamp)).offset == offset
        await it.end(commit=True)
        await it.client.settle()
        for timestamp, offset in ((NOW_MS, 1), (NOW_MS + 1, 2)):
            assert ask(broker, wanted_at(timestamp), **COMMITTED).offset == offset


# The next broker


@pytest.mark.parametrize("version", [OLD, NEW])
async def test_an_open_transaction_goes_on_with_the_next_broker(
    tmp_path: Path, version: int
) -> None:
    files = FakeFiles()
    async with producing(tmp_path, version, files) as it:
        await it.begin()
        await it.add(T0)
        await it.write(T0)
        before = it
        files.power_cut()
    async with producing(tmp_path, version, files) as it:
        it.identity, it.sequences = before.identity, before.sequences
        assert it.client.stable() == 0
        assert it.client.log().log_end_offset == 1
        again = await it.write(T0, sequence=0)
        assert again == [0], "a retry of what was answered"
        assert it.client.log().log_end_offset == 1
        assert await it.write(T0, sequence=1) == [0]
        await it.end(commit=True)
        await it.client.settle()
        assert it.client.stable() == 3
        assert base_offsets(read(it).records) == [0, 1, 2]


# One connection


async def test_requests_sent_ahead_keep_their_order_and_share_a_sync(
    tmp_path: Path,
) -> None:
    async with producing(tmp_path, NEW) as it:
        await it.begin()
        await it.client.settle()
        broker = it.client.broker
        network = fake_network(broker.clock)[0]
        dispatcher = Dispatcher(broker.services, registered_handlers())
        network = replace(network, dispatcher=dispatcher)
        listener = Listener("PLAINTEXT", "127.0.0.1", 0, network)
        transport = FakeTransport()
        transport.connect(Connection(listener))
        asked = [(it.record(T0), NEW) for _ in range(3)]
        transport.feed(b"".join(encode_request(*each, 7, "c") for each in asked))
        await settle()
        assert broker.logs.get(T0) is None, "the coordinator has not answered"
        broker.sync()
        await settle()
        assert it.client.log().log_end_offset == 3, "all of them, in their order"
        assert not transport.sent
        await it.client.settle()
        answers = memoryview(bytes(transport.sent))
        for offset in range(3):
            size = int.from_bytes(answers[:4], "big")
            _, answer = decode_response(answers[4 : 4 + size], ProduceResponse, NEW)
            (stored,) = answer.responses[0].partition_responses
            assert (stored.error_code, stored.base_offset) == (0, offset)
            answers = answers[4 + size :]
        assert not answers
