"""A broker without sockets, and requests of transactional producers in few words.

Syncs happen in `settle` and `commit` alone. What a request answers is looked at with
`told`, which settles until the answer is there.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from odradek.broker.coordinator.transaction.transaction import Transaction
from odradek.broker.handlers.transactions.init_producer_id import (
    handle_init_producer_id,
)
from odradek.broker.handlers.transactions.transactions import (
    handle_add_offsets_to_txn,
    handle_add_partitions_to_txn,
    handle_end_txn,
)
from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.broker.runtime.parked import Parked
from odradek.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    InitProducerIdRequest,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, batch_of, replicas
from tests.patience import PATIENCE_S

ID = "t"
TIMEOUT_MS = 60_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class TransactionClient:
    """Asks the handlers of ``broker``; producers are pairs of id and epoch."""

    def __init__(self, broker: Replicas) -> None:
        self.broker = broker
        self.service = broker.services.transactions

    async def settle(self) -> None:
        """Sync until nothing follows any more."""
        for _ in range(12):
            await self.broker.commit()
            await self.broker.clock.tick(turns=2)

    async def told(self, answer: Any) -> Any:
        """The answer to a request, when it is there."""
        if asyncio.iscoroutine(answer):
            answer = asyncio.ensure_future(answer)
        if isinstance(answer, Parked | asyncio.Future):
            async with asyncio.timeout(PATIENCE_S):
                while not answer.done():
                    await self.broker.commit()
                    await self.broker.clock.tick(turns=1)
            answer = answer.result()
        return answer

    # Requests

    def init(
        self,
        version: int = 5,
        transactional_id: str = ID,
        timeout_ms: int = TIMEOUT_MS,
        expected: tuple[int, int] = (-1, -1),
    ) -> Any:
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=expected[0],
            producer_epoch=expected[1],
        )
        return handle_init_producer_id(self.broker.context(version), request)

    def add(
        self,
        producer: tuple[int, int],
        *partitions: TopicPartition,
        version: int = 3,
        transactional_id: str = ID,
    ) -> Any:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=[partition])
                for name, partition in partitions
            ],
        )
        return handle_add_partitions_to_txn(self.broker.context(version), request)

    def add_offsets(
        self, producer: tuple[int, int], group_id: str = "g", version: int = 4
    ) -> Any:
        request = AddOffsetsToTxnRequest(
            transactional_id=ID,
            producer_id=producer[0],
            producer_epoch=producer[1],
            group_id=group_id,
        )
        return handle_add_offsets_to_txn(self.broker.context(version), request)

    def end(
        self, producer: tuple[int, int], *, commit: bool = True, version: int = 4
    ) -> Any:
        request = EndTxnRequest(
            transactional_id=ID,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commit,
        )
        return handle_end_txn(self.broker.context(version), request)

    # Whole steps

    async def producer(self, **options: Any) -> tuple[int, int]:
        """A producer that has begun."""
        answer = await self.told(self.init(**options))
        assert answer.error_code == 0, answer
        return answer.producer_id, answer.producer_epoch

    async def write(
        self,
        producer: tuple[int, int],
        partition: TopicPartition = T0,
        sequence: int = 0,
    ) -> None:
        """One record of a transaction, past the verification."""
        batch = batch_of(
            b"v",
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=sequence,
            is_transactional=True,
        )
        results = self.broker.manager.append_records(
            {partition: batch}, acks=1, timeout_ms=1000
        )
        assert results[partition].error_code == 0, results
        await self.broker.commit()

    async def ongoing(self, *partitions: TopicPartition) -> tuple[int, int]:
        """A producer in a transaction with a record in each of the partitions."""
        producer = await self.producer()
        await self.told(self.add(producer, *(partitions or (T0, T1))))
        for each in partitions or (T0, T1):
            await self.write(producer, each)
        return producer

    # What has become of it

    def transaction(self, transactional_id: str = ID) -> Transaction:
        runtime = self.service.runtime
        shard = runtime.shard(runtime.partition_of(transactional_id))
        found = shard.state.get(transactional_id)
        assert found is not None, transactional_id
        return found

    def log(self, partition: TopicPartition = T0) -> UnifiedLog:
        return self.broker.log_of(partition)

    def stable(self, partition: TopicPartition = T0) -> int:
        """The last stable offset."""
        return self.log(partition).last_stable_offset


@contextlib.asynccontextmanager
async def transaction_client(
    directory: Path, files: FakeFiles | None = None, **options: Any
) -> AsyncIterator[TransactionClient]:
    """The next one on the same ``files`` has loaded what this one left."""
    options.setdefault("transaction_state_log_num_partitions", 2)
    options.setdefault("offsets_topic_num_partitions", 2)
    async with replicas(directory, files, **options) as broker:
        client = TransactionClient(broker)
        if broker.topics.get(TRANSACTION_STATE) is None:
            await client.service.create_topic()
            await broker.services.groups.create_topic()
            await broker.create_topic("t", 2)
        await broker.manager.open_all()
        broker.services.groups.load_all()
        client.service.load_all()
        await broker.services.groups.runtime.loaded()
        await client.service.runtime.loaded()
        try:
            yield client
        finally:
            await client.service.close()
            await broker.services.groups.close()
            assert not broker.bugs, broker.bugs
