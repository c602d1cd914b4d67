"""A producer of one of the two protocols of transactions, through the handlers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from odradek.broker.handlers.records.produce import handle_produce
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.handlers.records.test_produce import decoded, request
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import batch_of
from tests.fakes.transactions import ID, TransactionClient, transaction_client

OLD, NEW = 11, 12  # the versions of Produce of the two protocols


class Producer:
    """A client of one of the two protocols, with what it knows of its transaction."""

    def __init__(self, client: TransactionClient, version: int) -> None:
        self.client = client
        self.version = version
        self.identity = (-1, -1)
        self.sequences: dict[TopicPartition, int] = {}

    async def begin(self) -> None:
        self.identity = await self.client.producer()

    async def add(self, *partitions: TopicPartition) -> None:
        """Tell the coordinator, where the protocol wants that."""
        if self.version < NEW:
            await self.client.told(self.client.add(self.identity, *partitions))

    def send(
        self,
        *partitions: TopicPartition,
        sequence: int | None = None,
        epoch: int | None = None,
        acks: int = -1,
    ) -> Any:
        """What the handler returns to a record for each of the partitions."""
        asked = self.record(*partitions, sequence=sequence, epoch=epoch, acks=acks)
        return handle_produce(self.client.broker.context(self.version), asked)

    def record(
        self,
        *partitions: TopicPartition,
        sequence: int | None = None,
        epoch: int | None = None,
        acks: int = -1,
    ) -> ProduceRequest:
        batches = []
        for each in partitions:
            known = self.sequences.get(each, 0)
            self.sequences[each] = known + 1
            batch = batch_of(
                b"v",
                producer_id=self.identity[0],
                producer_epoch=self.identity[1] if epoch is None else epoch,
                base_sequence=known if sequence is None else sequence,
                is_transactional=True,
            )
            batches.append((each.topic, each.partition, batch))
        return request(*batches, acks=acks, transactional_id=ID)

    async def write(self, *partitions: TopicPartition, **options: Any) -> list[int]:
        """The error codes of a record in each of the partitions."""
        answer = await told(self.client, self.send(*partitions, **options))
        answer = decoded(answer, self.version)
        return [
            each.error_code
            for topic in answer.responses
            for each in topic.partition_responses
        ]

    async def end(self, *, commit: bool) -> int:
        version = 5 if self.version >= NEW else 4
        ending = self.client.end(self.identity, commit=commit, version=version)
        ended = await self.client.told(ending)
        if self.version >= NEW and not ended.error_code:
            self.identity = (ended.producer_id, ended.producer_epoch)
            self.sequences = {}
        return int(ended.error_code)


async def told(client: TransactionClient, answer: Any) -> Any:
    """The answer, when what it waits for is durable."""
    if asyncio.iscoroutine(answer):
        task = asyncio.ensure_future(answer)
        for _ in range(20):
            if task.done():
                break
            await client.broker.commit()
            await asyncio.sleep(0)
        answer = await task
    return await client.told(answer)


@contextlib.asynccontextmanager
async def producing(
    directory: Path, version: int, files: FakeFiles | None = None
) -> AsyncIterator[Producer]:
    options = {"transaction_partition_verification_enable": True}
    async with transaction_client(directory, files, **options) as client:
        yield Producer(client, version)
