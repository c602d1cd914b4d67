"""The coordinator as handlers know it: through logs, syncs and the next broker."""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.add_partitions import Addition
from odradek.broker.coordinator.transaction.service import PATIENCE_MS
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.coordinator.transaction.transaction import LAST_EPOCH
from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import CoordinatorNotAvailable, ErrorCode
from tests.fakes.files import FakeFiles
from tests.fakes.led_with_another import US, LedWithAnother
from tests.fakes.other_brokers import OTHER, FakeOtherBrokers
from tests.fakes.replicas import replicas
from tests.fakes.transactions import ID, T0, T1, TIMEOUT_MS, transaction_client
from tests.patience import PATIENCE_S


async def test_a_commit_is_marked_in_every_partition(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        assert (client.stable(T0), client.stable(T1)) == (0, 0)
        answer = client.end(producer)
        assert not answer.done(), "the decision is not durable yet"
        assert (await client.told(answer)).error_code == ErrorCode.NONE
        await client.settle()
        assert (client.stable(T0), client.stable(T1)) == (2, 2)
        assert client.transaction().state is TransactionState.COMPLETE_COMMIT
        assert client.transaction().partitions == ()


async def test_an_abort_is_indexed(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing(T0)
        await client.told(client.end(producer, commit=False))
        await client.settle()
        assert client.stable() == 2
        (aborted,) = client.log().local.active.transactions.entries()
        assert (aborted.producer_id, aborted.first_offset) == (producer[0], 0)


async def test_the_second_protocol_bumps_the_epoch_at_every_end(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.producer()
        for commit in (True, False, True):
            identity = ProducerIdentity(*producer)
            codes = client.service.admit(Addition(ID, identity, (T0,), 2))
            assert await client.told(codes) == {T0: 0}
            await client.write(producer)
            answer = await client.told(client.end(producer, commit=commit, version=5))
            assert answer.producer_id == producer[0]
            assert answer.producer_epoch == producer[1] + 1
            producer = answer.producer_id, answer.producer_epoch
            await client.settle()
        assert client.stable() == 6


async def test_who_is_back_before_the_end_waits_for_it(tmp_path: Path) -> None:
    """Markers and completion are two syncs; a client's next try is 20 ms later."""
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        await client.told(client.end(producer))
        assert client.transaction().state is TransactionState.PREPARE_COMMIT
        again = client.add(producer, T0)
        assert isinstance(again, Parked)
        assert not again.done()
        await client.settle()
        client.broker.clock.advance(0)
        assert (await client.told(again)).results_by_topic_v3_and_below[
            0
        ].results_by_partition[0].partition_error_code == ErrorCode.NONE
        assert client.transaction().state is TransactionState.ONGOING


async def test_it_does_not_wait_for_long(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        await client.told(client.end(producer))
        again = client.end(producer)
        client.broker.clock.advance(PATIENCE_MS)
        assert again.result().error_code == ErrorCode.CONCURRENT_TRANSACTIONS


async def test_who_waits_for_an_end_is_answered_when_the_broker_closes(
    tmp_path: Path,
) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        await client.told(client.end(producer))
        again = client.add(producer, T0)
        await client.service.close()
        (topic,) = again.result().results_by_topic_v3_and_below
        (partition,) = topic.results_by_partition
        code = partition.partition_error_code
        assert code == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_t159_coordinator_crash_after_prepare_completes_markers_on_load(
    tmp_path: Path,
) -> None:
    files = FakeFiles()
    async with transaction_client(tmp_path, files, stops_cleanly=False) as client:
        producer = await client.ongoing()
        await client.told(client.end(producer))
        assert client.transaction().state is TransactionState.PREPARE_COMMIT
        files.power_cut()
    async with transaction_client(tmp_path, files) as client:
        await client.settle()
        assert client.transaction().state is TransactionState.COMPLETE_COMMIT
        assert (client.stable(T0), client.stable(T1)) == (2, 2)


async def test_t160_timeout_fences_producer(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        client.broker.clock.advance(TIMEOUT_MS + 1)
        client.service.abort_timed_out()
        await client.settle()
        assert client.transaction().state is TransactionState.COMPLETE_ABORT
        assert client.stable() == 2
        ended = await client.told(client.end(producer))
        assert ended.error_code == ErrorCode.PRODUCER_FENCED


async def test_t164_transactional_id_expiry_tombstone(tmp_path: Path) -> None:
    """One with an open transaction is kept, however old it is."""
    options = {"transactional_id_expiration_ms": 1000}
    async with transaction_client(tmp_path, **options) as client:
        await client.ongoing()
        await client.producer(transactional_id="idle")
        client.broker.clock.advance(1000)
        client.service.expire_ids()
        known = [
            transactional_id
            for shard in client.service.runtime.shards()
            for transactional_id in shard.state.transactions
        ]
        assert known == [ID]


async def test_new_ids_are_fetched_when_there_are_none(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        given = [
            await client.producer(transactional_id=f"t{number}")
            for number in range(1200)
        ]
        assert len({producer_id for producer_id, _ in given}) == 1200


async def test_an_end_that_needs_an_id_has_one_fetched(tmp_path: Path) -> None:
    """The epochs are used up, and after a restart no id is at hand."""
    async with transaction_client(tmp_path) as client:
        transactions = client.service.runtime
        producer = await client.ongoing()
        shard = transactions.shard(transactions.partition_of(ID)).state
        shard.transactions[ID] = client.transaction()._replace(
            producer_epoch=LAST_EPOCH, client_version=2
        )
        while client.broker.services.producer_ids.next_or_none() is not None:
            pass
        client.broker.clock.advance(TIMEOUT_MS + 1)
        async with asyncio.timeout(PATIENCE_S):
            while client.transaction().state is not TransactionState.COMPLETE_ABORT:
                client.service.abort_timed_out()
                await client.settle()
        assert client.transaction().producer_id > producer[0]


async def test_a_deleted_topic_takes_all_transactions_with_it(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        await client.ongoing()
        topic = client.broker.topics.get(TRANSACTION_STATE)
        assert topic is not None
        await client.broker.topics.begin_deletions([topic.topic_id])
        client.service.forget_topic(TRANSACTION_STATE)
        answer = await client.told(client.init())
        assert answer.error_code == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("client_version", [0, 2])
async def test_a_coordinator_elsewhere_is_asked_there(
    tmp_path: Path, client_version: int
) -> None:
    async with transaction_client(tmp_path) as client:
        others = FakeOtherBrokers()
        client.service.use_brokers(others)
        producer = ProducerIdentity(*await client.producer())
        addition = Addition(ID, producer, (T0,), client_version)
        place = client.service.partition_of(ID)
        here = await client.told(client.service.admit(addition))
        missing = 0 if client_version else ErrorCode.TRANSACTION_ABORTABLE
        assert (here, others.asked) == ({T0: missing}, [])
        others.leaders[place] = OTHER
        there = client.service.admit(addition)
        assert others.asked == [(OTHER, addition)]
        others.answers[-1].set_result({T0: 0})
        assert there.result() == {T0: 0}
        others.leaders[place] = None
        nowhere = client.service.admit(addition)
        assert nowhere == {T0: ErrorCode.COORDINATOR_NOT_AVAILABLE}


async def test_nobody_is_asked_about_transactions_before_there_are_any(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path) as broker:
        others = FakeOtherBrokers()
        broker.services.transactions.use_brokers(others)
        addition = Addition(ID, ProducerIdentity(1, 0), (T0,))
        found = broker.services.transactions.admit(addition)
        assert found == {T0: ErrorCode.NOT_COORDINATOR}


async def test_nothing_is_ended_by_what_only_this_broker_knows(tmp_path: Path) -> None:
    """A coordinator that comes after this one might end it the other way."""
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing(T0)
        place = client.service.partition_of(ID)
        moving = LedWithAnother(client.broker, place)
        moving.copy()
        answer = client.end(producer)
        await client.settle()
        assert not answer.done()
        moving.elect(US)
        client.service.runtime.elect(place.partition)
        await client.service.runtime.loaded()
        await client.settle()
        assert client.transaction().state is TransactionState.PREPARE_COMMIT
        assert client.stable() == 0
        moving.copy()
        await client.settle()
        moving.copy()
        await client.settle()
        assert client.stable() == 2
        assert client.transaction().state is TransactionState.COMPLETE_COMMIT


async def test_who_has_an_id_needs_no_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a cluster they are asked of the controllers, which may be away."""
    async with transaction_client(tmp_path) as client:
        first = await client.producer()
        ids = client.broker.services.producer_ids
        while ids.next_or_none() is not None:
            pass

        async def away() -> range:
            raise CoordinatorNotAvailable

        monkeypatch.setattr(client.broker.topics, "allocate_producer_id_block", away)
        assert await client.producer() == (first[0], first[1] + 1)
        with pytest.raises(CoordinatorNotAvailable):
            await client.told(client.init(transactional_id="new"))
