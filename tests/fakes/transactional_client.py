"""A transactional producer on bare requests, of both versions of the protocol.

It keeps to the rules of Kafka's own producer: what is asked again and what is not,
sequence numbers per partition that begin anew with every epoch, and an abort after
whatever can be aborted.

- First version: AddPartitionsToTxn 3 and AddOffsetsToTxn 3 before Produce 11 and
  TxnOffsetCommit 3; EndTxn 4. After a failed batch the abort is followed by
  InitProducerId, which bumps the epoch (KIP-360).
- Second version (KIP-890): Produce 12 (or 13, by topic id) and TxnOffsetCommit 5 add
  their partitions themselves; the answer to EndTxn 5 names the next epoch.

All requests go to one address, that of the only broker or of a proxy before it.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    InitProducerIdRequest,
)
from odradek.protocol.messages.txn_offsets import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.protocol.record_batch import next_sequence
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.transaction_errors import MAPPING_LOST, Abortable, GaveUp
from tests.fakes.transactional_asker import Asker, Codes, Hooks, error_code

FIRST, SECOND = 1, 2
BY_TOPIC_ID = 13  # the first version of Produce that calls topics by their ids

Value = TypeVar("Value")


class TransactionalClient:
    """One producer; ``producer_id``, ``epoch`` and ``sequences`` are for tests."""

    def __init__(
        self,
        address: str,
        transactional_id: str,
        *,
        protocol: int = SECOND,
        produce_version: int | None = None,
        topic_ids: Mapping[str, bytes] | None = None,
        transaction_timeout_ms: int = 60_000,
        request_timeout_s: float = 10,
        deadline_s: float = 60,
        hooks: Hooks | None = None,
    ) -> None:
        """Nothing is asked before ``start``."""
        self.transactional_id = transactional_id
        self.protocol = protocol
        self.produce_version = produce_version or (11 if protocol == FIRST else 12)
        self.topic_ids = dict(topic_ids or {})
        self.transaction_timeout_ms = transaction_timeout_ms
        self.asker = Asker(
            address,
            transactional_id,
            request_timeout_s=request_timeout_s,
            deadline_s=deadline_s,
            hooks=hooks,
        )
        self.producer_id, self.epoch = -1, -1
        self.sequences: dict[TopicPartition, int] = defaultdict(int)
        self._locks: dict[TopicPartition, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._adding = asyncio.Lock()
        self._known_groups: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        self.added: set[TopicPartition] = set()
        self.groups: set[str] = set()
        self.has_started = False
        self._bumps_on_abort = False  # by InitProducerId, after EndTxn
        self._is_lost = False  # whether there is something that EndTxn could end

    # What a producer does

    async def start(self) -> None:
        """Fence whoever had this transactional id, and end what was left open."""
        await self.asker.find_coordinator()
        await self._init(-1, -1)

    async def send(
        self, records: Mapping[TopicPartition, Sequence[bytes]], **fields: Any
    ) -> dict[TopicPartition, int]:
        """Produce values, one batch for each partition; their base offsets.

        Raises:
            Abortable, Fatal: an error code.
            GaveUp: no answer; the transaction has to be aborted.
        """
        async with AsyncExitStack() as stack:
            for place in sorted(records):
                await stack.enter_async_context(self._locks[place])
            if self.protocol == FIRST:
                await self.add_partitions(records)
            self.has_started = True
            try:
                offsets = await self._produce(records, fields)
            except (Abortable, GaveUp):
                self._bumps_on_abort = True
                raise
            for place, values in records.items():
                self.sequences[place] = next_sequence(
                    self.sequences[place], len(values)
                )
            self.added.update(records)
        return offsets

    async def send_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, int],
        *,
        generation_id: int = -1,
        member_id: str = "",
    ) -> None:
        """Commit offsets of a group with this transaction."""
        if self.protocol == FIRST and group_id not in self.groups:
            added = AddOffsetsToTxnRequest(
                transactional_id=self.transactional_id,
                producer_id=self.producer_id,
                producer_epoch=self.epoch,
                group_id=group_id,
            )
            await self._add(added, 3, error_code)
        if group_id not in self._known_groups:
            await self.asker.find_coordinator(group_id)
            self._known_groups.add(group_id)
        self.has_started = True
        self.groups.add(group_id)
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            generation_id=generation_id,
            member_id=member_id,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=offset,
                            committed_metadata="",
                        )
                        for index, offset in partitions
                    ],
                )
                for topic, partitions in _by_topic(offsets).items()
            ],
        )
        await self.ask(request, 3 if self.protocol == FIRST else 5, _offset_codes)

    async def commit(self) -> None:
        """Commit; after `GaveUp` it may be asked again.

        Raises:
            Abortable, Fatal, GaveUp: nobody said that it is committed.
        """
        await self._end(committed=True)
        self._begin()

    async def abort(self) -> None:
        """Abort, and be ready for the next transaction."""
        if self._is_lost:
            await self._init(self.producer_id, self.epoch)
        else:
            await self._end(committed=False)
            if self._bumps_on_abort and self.protocol == FIRST:
                await self._init(self.producer_id, self.epoch)
        self._begin()

    async def close(self) -> None:
        """Close the connection, nothing else."""
        await self.asker.close()

    # Its requests

    async def add_partitions(self, places: Iterable[TopicPartition]) -> None:
        """Add those that are not part of the transaction yet (first version)."""
        async with self._adding:
            new = dict.fromkeys(set(places) - self.added, 0)
            if not new:
                return
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=self.producer_id,
                v3_and_below_producer_epoch=self.epoch,
                v3_and_below_topics=[
                    AddPartitionsToTxnTopic(
                        name=topic, partitions=[index for index, _ in partitions]
                    )
                    for topic, partitions in _by_topic(new).items()
                ],
            )
            await self._add(request, 3, _added_codes)
            self.added.update(new)

    async def _add(self, request: Request, version: int, codes: Codes) -> None:
        try:
            await self.ask(request, version, codes)
        except GaveUp:
            self._is_lost = True
            raise
        self.has_started = True

    async def _produce(
        self,
        records: Mapping[TopicPartition, Sequence[bytes]],
        fields: Mapping[str, Any],
    ) -> dict[TopicPartition, int]:
        batches = {
            place: self.batch(place, values, **fields)
            for place, values in records.items()
        }
        offsets: dict[TopicPartition, int] = {}

        def codes(answer: Any) -> list[int]:
            found = []
            for topic in answer.responses:
                name = self._name_of(topic)
                for each in topic.partition_responses:
                    place = TopicPartition(name, each.index)
                    if each.error_code in (0, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                        offsets[place] = each.base_offset
                        batches.pop(place, None)
                    else:
                        found.append(each.error_code)
            return found

        def request() -> ProduceRequest:
            return self.produce_request(batches)

        await self.ask(request, self.produce_version, codes)
        return offsets

    def batch(
        self, place: TopicPartition, values: Sequence[bytes], **fields: Any
    ) -> bytes:
        """The next batch of a partition; ``fields`` replace its own."""
        now_ms = time.time_ns() // 1_000_000
        own: dict[str, Any] = {
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
            "base_sequence": self.sequences[place],
            "is_transactional": True,
        }
        records = [NewRecord(None, value, now_ms) for value in values]
        return bytes(build_batch(records, **{**own, **fields}))

    def produce_request(
        self, batches: Mapping[TopicPartition, bytes]
    ) -> ProduceRequest:
        """One request with these batches."""
        by_id = self.produce_version >= BY_TOPIC_ID
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    topic_id=self.topic_ids[topic] if by_id else bytes(16),
                    partition_data=[
                        PartitionProduceData(index=index, records=batch)
                        for index, batch in partitions
                    ],
                )
                for topic, partitions in _by_topic(batches).items()
            ],
        )

    def _name_of(self, topic: Any) -> str:
        if self.produce_version < BY_TOPIC_ID:
            return str(topic.name)
        return next(k for k, v in self.topic_ids.items() if v == topic.topic_id)

    async def _end(self, *, committed: bool) -> None:
        if not self.has_started:
            return
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=committed,
        )
        answer = await self.ask(request, 4 if self.protocol == FIRST else 5)
        if self.protocol == SECOND:
            self._take_identity(answer)

    async def _init(self, producer_id: int, epoch: int) -> None:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self.transaction_timeout_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        self._take_identity(await self.ask(request, 4))
        self._begin()

    def _take_identity(self, answer: Any) -> None:
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self.sequences.clear()

    async def ask(
        self,
        request: Request | Callable[[], Request],
        version: int,
        codes: Codes = error_code,
    ) -> Any:
        """The answer, by Kafka's rules; see `Asker`."""
        try:
            return await self.asker.ask(request, version, codes)
        except Abortable as error:
            self._is_lost |= error.code in MAPPING_LOST
            raise


def _added_codes(answer: Any) -> list[int]:
    return [
        each.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for each in topic.results_by_partition
    ]


def _offset_codes(answer: Any) -> list[int]:
    return [each.error_code for topic in answer.topics for each in topic.partitions]


def _by_topic(
    values: Mapping[TopicPartition, Value],
) -> dict[str, list[tuple[int, Value]]]:
    found: dict[str, list[tuple[int, Value]]] = defaultdict(list)
    for (topic, index), value in values.items():
        found[topic].append((index, value))
    return found
