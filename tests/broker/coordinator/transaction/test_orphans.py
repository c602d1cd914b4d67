"""What is open in a log, and owned by nobody, is aborted; and nothing else is."""

from pathlib import Path

import pytest

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.phase import Phase
from odradek.broker.coordinator.transaction.add_partitions import Addition
from odradek.broker.coordinator.transaction.orphans import RETRY_MS
from odradek.broker.coordinator.transaction.states import TransactionState
from odradek.broker.coordinator.transaction.transaction import LAST_EPOCH
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.files import FakeFiles
from tests.fakes.transactions import ID, T0, T1, TransactionClient, transaction_client

STRANGER = (4711, 3)


async def ended(client: TransactionClient) -> int:
    count = client.service.orphans.end_all()
    await client.settle()
    return count


async def test_a_stranger_is_aborted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with transaction_client(tmp_path) as client:
        await client.write(STRANGER)
        assert client.stable() == 0
        assert await ended(client) == 1
        assert client.stable() == client.log().log_end_offset == 2
        (entry,) = client.log().local.active.transactions.entries()
        assert entry.producer_id == STRANGER[0]
        assert "t-0 has a transaction of producer 4711 open" in caplog.text
        assert await ended(client) == 0


async def test_so_is_one_whose_coordinator_has_lost_everything(tmp_path: Path) -> None:
    """A power cut with durability=none may leave any part of what was written."""
    files = FakeFiles()
    async with transaction_client(tmp_path, files) as client:
        producer = await client.producer()
        await client.settle()
        await client.write(producer)  # the record that it takes part is lost
    async with transaction_client(tmp_path, files) as client:
        assert client.transaction().state is TransactionState.EMPTY
        assert await ended(client) == 1
        assert client.stable() == 2


async def test_one_of_an_earlier_epoch_is_not_that_of_the_present_producer(
    tmp_path: Path,
) -> None:
    async with transaction_client(tmp_path) as client:
        old = await client.producer()
        await client.write(old)
        producer = await client.producer()
        await client.told(client.add(producer, T0))
        assert await ended(client) == 1
        assert client.transaction().state is TransactionState.ONGOING
        await client.write(producer)
        await client.told(client.end(producer))
        await client.settle()
        assert client.stable() == 4


async def test_a_commit_whose_marker_is_lost_is_one(tmp_path: Path) -> None:
    """In the second protocol the epoch tells which transaction it was."""
    async with transaction_client(tmp_path) as client:
        producer = await client.producer()
        identity = ProducerIdentity(*producer)
        await client.told(client.service.admit(Addition(ID, identity, (T0,), 2)))
        await client.told(client.end(producer, version=5))
        await client.settle()
        assert client.transaction().state is TransactionState.COMPLETE_COMMIT
        await client.write(producer, T1)  # as if T1 had lost its end
        assert await ended(client) == 1
        assert client.stable(T1) == 2
        assert not client.log(T1).local.active.transactions.entries()


async def test_what_has_an_owner_is_left(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing()
        assert await ended(client) == 0
        partition = client.broker.manager.partition(T1)
        await client.told(client.end(producer))
        assert client.transaction().state is TransactionState.PREPARE_COMMIT
        assert partition.log is not None
        assert client.service.orphans.end_all() == 0
        await client.settle()
        assert (client.stable(T0), client.stable(T1)) == (2, 2)


async def test_a_transaction_with_records_where_it_is_not_known_is_lost_whole(
    tmp_path: Path,
) -> None:
    """Half of it would be committed otherwise."""
    async with transaction_client(tmp_path) as client:
        other = await client.broker.create_topic("other")
        producer = await client.ongoing(T0)
        await client.write(producer, T1)
        await client.write(producer, other)
        assert await ended(client) == 2
        assert client.transaction().state is TransactionState.COMPLETE_ABORT
        for partition in (T0, T1, other):
            assert client.stable(partition) == 2
            (entry,) = client.log(partition).local.active.transactions.entries()
            assert entry.producer_id == producer[0]


async def test_it_is_tried_again_when_it_takes_a_new_producer_id(
    tmp_path: Path,
) -> None:
    async with transaction_client(tmp_path) as client:
        producer = await client.ongoing(T0)
        await client.write(producer, T1)
        runtime = client.service.runtime
        shard = runtime.shard(runtime.partition_of(ID)).state
        exhausted = client.transaction()._replace(
            producer_epoch=LAST_EPOCH, client_version=2
        )
        shard.transactions[ID] = exhausted
        for partition in (T0, T1):
            state = client.log(partition).producers.get(producer[0])
            assert state is not None
            state.producer_epoch = LAST_EPOCH
        while client.broker.services.producer_ids.next_or_none() is not None:
            pass
        await ended(client)
        assert client.transaction().state is TransactionState.ONGOING
        while client.broker.services.producer_ids.is_empty:
            await client.broker.clock.tick(turns=1)
        await client.broker.clock.tick(RETRY_MS)
        await client.settle()
        assert client.transaction().state is TransactionState.COMPLETE_ABORT


async def test_nothing_is_decided_while_a_part_is_not_known(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with transaction_client(tmp_path) as client:
        await client.write(STRANGER)
        runtime = client.service.runtime
        shard = runtime.shard(runtime.partition_of(ID))
        shard.fail("its log is damaged")
        assert shard.phase is Phase.FAILED
        assert await ended(client) == 0
        assert client.stable() == 0
        assert "is left as it is" in caplog.text


async def test_what_is_open_can_be_asked_for(tmp_path: Path) -> None:
    async with transaction_client(tmp_path) as client:
        await client.write(STRANGER)
        await client.write(STRANGER, T0, 1)
        (found,) = client.service.orphans.open_transactions()
        assert found == (T0, STRANGER, -1, 0)
        assert client.service.orphans.is_orphan(found)
        producer = await client.ongoing(T1)
        (found,) = client.service.orphans.open_in(T1)
        assert found.producer == producer
        assert not client.service.orphans.is_orphan(found)
        assert client.service.orphans.open_in(TopicPartition("gone", 0)) == []
