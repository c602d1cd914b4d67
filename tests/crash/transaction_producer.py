"""A transactional producer on bare requests, of the first or second protocol (KIP-890).

It tries again what it is told to try again, as clients do, and keeps its account.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

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
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request
from odradek.protocol.topic_partition import TopicPartition
from tests.crash.transaction_account import Account, Sent

TIMEOUT_MS = 30_000
NOW_MS = 1_700_000_000_000
SOURCE = TopicPartition("source", 0)
TRIES = 50
TRY_AGAIN = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
# By protocol: InitProducerId, AddPartitionsToTxn and AddOffsetsToTxn, Produce,
# TxnOffsetCommit, EndTxn.
VERSIONS = {1: (4, 3, 11, 4, 4), 2: (5, 3, 12, 5, 5)}


class Refused(Exception):
    """The code with which the producer was refused for good."""

    def __init__(self, code: int) -> None:
        super().__init__(ErrorCode(code).name)
        self.code = code


class Desk(Protocol):
    """Where a producer asks, and keeps its account."""

    async def ask(self, request: Request, version: int) -> Any: ...

    def send(self, request: Request, version: int) -> object: ...

    async def back_off(self) -> None: ...

    def next_number(self) -> int: ...

    def note(self, account: Account) -> None: ...

    def note_given(self, producer_id: int, epoch: int) -> None: ...


class Producer:
    """One producer; ``account`` is that of its present transaction."""

    def __init__(self, desk: Desk, transactional_id: str, protocol: int) -> None:
        self.transactional_id = transactional_id
        self.protocol = protocol
        self.producer_id = self.epoch = -1
        self.account: Account | None = None
        self._desk = desk
        self._versions = VERSIONS[protocol]
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._value_count = 0

    async def init(self, timeout_ms: int = TIMEOUT_MS) -> None:
        """Take the transactional id over."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms
        )
        response = await self._persist(request, 0, lambda it: [it.error_code])
        self._become(response.producer_id, response.producer_epoch)

    async def produce(self, *where: TopicPartition, count: int = 2) -> None:
        """Send a batch to each of these, in one request."""
        account = self._begun()
        batches = {each: self._values(account, count) for each in where}
        sent = [Sent(each, value) for each in where for value in batches[each]]
        self._note(records=(*account.records, *sent))
        if self.protocol == 1:
            await self._add(where)
        request = ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[
                TopicProduceData(
                    name=each.topic,
                    partition_data=[
                        PartitionProduceData(
                            index=each.partition,
                            records=self._batch(each, batches[each]),
                        )
                    ],
                )
                for each in where
            ],
        )
        await self._persist(request, 2, _codes_of_produce)
        for each in where:
            self._sequences[each] = self._sequences.get(each, 0) + count

    async def commit_offsets(self) -> None:
        """The number of the transaction, as the offset of its group."""
        account = self._begun()
        self._note(has_offsets=True)
        group_id = f"group of {self.transactional_id}"
        if self.protocol == 1:
            adding = AddOffsetsToTxnRequest(group_id=group_id, **self._identity())
            await self._persist(adding, 1, lambda it: [it.error_code])
        partition = TxnOffsetCommitRequestPartition(
            partition_index=SOURCE.partition, committed_offset=account.number
        )
        topic = TxnOffsetCommitRequestTopic(name=SOURCE.topic, partitions=[partition])
        request = TxnOffsetCommitRequest(
            group_id=group_id, topics=[topic], **self._identity()
        )
        await self._persist(
            request,
            3,
            lambda it: [each.error_code for each in it.topics[0].partitions],
        )

    async def end(self, is_commit: bool) -> None:
        """Commit or abort."""
        self._note(asked=is_commit)
        request = self._ending(is_commit)
        response = await self._persist(request, 4, lambda it: [it.error_code])
        self._note(told=is_commit)
        self.account = None
        self._added.clear()
        if self.protocol == 2:
            self._become(response.producer_id, response.producer_epoch)

    def begin_to_end(self, is_commit: bool) -> None:
        """Ask for the end, and never hear of it."""
        self._note(asked=is_commit)
        self._desk.send(self._ending(is_commit), self._versions[4])

    def give_up(self) -> None:
        """Its transaction was aborted by somebody else, as it was told."""
        self._note(told=False)
        self.account = None
        self._added.clear()

    # Parts

    def _begun(self) -> Account:
        if self.account is None:
            number = self._desk.next_number()
            self.account = Account(number, self.transactional_id)
        return self.account

    def _note(self, **changes: Any) -> None:
        assert self.account is not None
        self.account = replace(self.account, **changes)
        self._desk.note(self.account)

    def _become(self, producer_id: int, epoch: int) -> None:
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self.producer_id, self.epoch = producer_id, epoch
            self._sequences.clear()
        self._desk.note_given(producer_id, epoch)

    def _ending(self, is_commit: bool) -> EndTxnRequest:
        return EndTxnRequest(committed=is_commit, **self._identity())

    def _identity(self) -> dict[str, Any]:
        return {
            "transactional_id": self.transactional_id,
            "producer_id": self.producer_id,
            "producer_epoch": self.epoch,
        }

    async def _add(self, where: Iterable[TopicPartition]) -> None:
        missing = [each for each in where if each not in self._added]
        if not missing:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=each.topic, partitions=[each.partition])
                for each in missing
            ],
        )
        await self._persist(request, 1, _codes_of_addition)
        self._added.update(missing)

    def _values(self, account: Account, count: int) -> list[bytes]:
        first = self._value_count
        self._value_count += count
        return [
            b"%d %s %d" % (account.number, self.transactional_id.encode(), each)
            for each in range(first, first + count)
        ]

    def _batch(self, where: TopicPartition, values: list[bytes]) -> bytearray:
        return build_batch(
            [NewRecord(b"k", value, NOW_MS) for value in values],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self._sequences.get(where, 0),
            is_transactional=True,
        )

    async def _persist(
        self, request: Request, kind: int, codes_of: Callable[[Any], list[int]]
    ) -> Any:
        """The answer, when nothing in it says to try again."""
        for _ in range(TRIES):
            response = await self._desk.ask(request, self._versions[kind])
            codes = [code for code in codes_of(response) if code]
            if not codes:
                return response
            final = [code for code in codes if code not in TRY_AGAIN]
            if final:
                raise Refused(final[0])
            await self._desk.back_off()
        raise AssertionError(f"it is never done: {request}, {codes}")


def _codes_of_produce(response: Any) -> list[int]:
    return [
        partition.error_code
        for topic in response.responses
        for partition in topic.partition_responses
    ]


def _codes_of_addition(response: Any) -> list[int]:
    return [
        result.partition_error_code
        for topic in response.results_by_topic_v3_and_below
        for result in topic.results_by_partition
    ]
