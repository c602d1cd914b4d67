"""Before a transaction's first records in a partition: the word of its coordinator.

Clients up to Produce 11 have told the coordinator beforehand, and it is asked whether
they did; from version 12 on asking adds the partition (KIP-890). A partition where
the transaction is open already needs no word: its first batch had it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.add_partitions import IMPLICIT_ADD, Addition
from odradek.broker.durability.committer import COMMIT
from odradek.broker.replica.appends import refusal
from odradek.broker.replica.waiting.delayed_produce import AppendResult
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, InvalidProducerIdMapping, KafkaError
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    unpack_header,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.broker.replica.appends import AppendResults
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.services import Services
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.record_batch import BatchHeader
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.producers.verification_state import VerificationGuard

FIRST_VERSION_THAT_ADDS = 12
FIRST_VERSION_WITH_ABORTABLE = 11

Guards = dict["TopicPartition", "VerificationGuard"]

# Asking again helps. Clients before version 12 are not prepared for these codes here,
# but try again without further ado when replicas are missing.
_ASK_AGAIN = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


def take_guards(
    ctx: RequestContext, headers: Mapping[TopicPartition, BatchHeader]
) -> tuple[Guards, AppendResults]:
    """The guards of those batches that need one, and which are refused at once.

    The coordinator is asked after that, so that what happens to the transaction
    meanwhile is noticed by its batch.

    Raises:
        InvalidProducerIdMapping: they are of more than one producer.
    """
    services, adds = ctx.services, ctx.api_version >= FIRST_VERSION_THAT_ADDS
    if len(headers) > 1 and len(set(map(_producer_of, headers.values()))) > 1:
        raise InvalidProducerIdMapping(
            "the request has transactional batches of more than one producer"
        )
    guards: Guards = {}
    refused: AppendResults = {}
    if not (adds or services.config.transaction_partition_verification_enable):
        return guards, refused
    now_ms = services.clock.now_ms()
    for topic_partition, header in headers.items():
        try:
            partition = services.replica_manager.partition(topic_partition)
            if partition.is_internal:
                continue  # the append says that it takes none
            guard = partition.start_verification(
                header.producer_id,
                header.base_sequence,
                header.producer_epoch,
                now_ms,
                adds,
            )
        except KafkaError as error:
            refused[topic_partition] = refusal(None, error)
            continue
        if guard is not None:
            guards[topic_partition] = guard
    return guards, refused


def ask_coordinator(
    ctx: RequestContext,
    transactional_id: str,
    header: BatchHeader,
    partitions: tuple[TopicPartition, ...],
) -> dict[TopicPartition, int] | Parked:
    """The coordinator's error code for each partition, perhaps parked.

    ``header`` is that of any of the transaction's batches.
    """
    if not transactional_id:
        return dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST)
    addition = Addition(
        transactional_id,
        _producer_of(header),
        partitions,
        IMPLICIT_ADD if ctx.api_version >= FIRST_VERSION_THAT_ADDS else 0,
    )
    return ctx.services.transactions.admit(addition)


def guard_at_once(
    services: Services,
    api_version: int,
    transactional_id: str,
    key: TopicPartition,
    batch: memoryview,
) -> tuple[VerificationGuard | None] | None:
    """What `take_guards` and `ask_coordinator` say of one batch, if that is good.

    Its guard, or that it needs none as its transaction is open. None: they are to be
    asked, as the word takes its time, is No, or anything is special.
    """
    if len(batch) < BATCH_OVERHEAD:
        return None
    fields = unpack_header(batch)
    producer_id, epoch, sequence = fields[9:12]
    try:
        partition = services.replica_manager.partition(key)
        log = partition.view.log
        state = None if log is None else log.producers.get(producer_id)
        if state is None or partition.is_internal:
            return None
        if state.is_in_transaction(epoch):
            return (None,)
        config, adds = services.config, api_version >= FIRST_VERSION_THAT_ADDS
        if (
            fields[1] + LOG_OVERHEAD != len(batch)
            or fields[3] != CURRENT_MAGIC
            # What is added is written: with commit that waits for the disk.
            or (adds and config.durability == COMMIT)
            or not (adds or config.transaction_partition_verification_enable)
            or services.transactions.other_brokers is not None
        ):
            return None
        now_ms = services.clock.now_ms()
        guard = partition.start_verification(producer_id, sequence, epoch, now_ms, adds)
    except KafkaError:
        return None
    version, producer = (
        IMPLICIT_ADD if adds else 0,
        ProducerIdentity(producer_id, epoch),
    )
    addition = Addition(transactional_id, producer, (key,), version)
    codes = services.transactions.admit(addition)
    return None if isinstance(codes, Parked) or codes[key] else (guard,)


def _producer_of(header: BatchHeader) -> ProducerIdentity:
    return ProducerIdentity(header.producer_id, header.producer_epoch)


def refused_by_coordinator(
    codes: Mapping[TopicPartition, int], api_version: int
) -> AppendResults:
    """What becomes of the batches that the coordinator did not agree to."""
    return {
        topic_partition: _in_produce(code, api_version)
        for topic_partition, code in codes.items()
        if code
    }


def _in_produce(code: int, api_version: int) -> AppendResult:
    """A code of the coordinator as producers of this version know it."""
    if code == ErrorCode.PRODUCER_FENCED:
        return AppendResult(ErrorCode.INVALID_PRODUCER_EPOCH)
    if code == ErrorCode.TRANSACTION_ABORTABLE:
        if api_version < FIRST_VERSION_WITH_ABORTABLE:
            code = ErrorCode.INVALID_TXN_STATE
        message = "the partition does not take part in the transaction"
        return AppendResult(code, message=message)
    is_early = api_version < FIRST_VERSION_THAT_ADDS
    if code in _ASK_AGAIN or (code == ErrorCode.CONCURRENT_TRANSACTIONS and is_early):
        reason = f"the transaction could not be verified: {ErrorCode(code).name}"
        return AppendResult(ErrorCode.NOT_ENOUGH_REPLICAS, message=reason)
    return AppendResult(code)


def within(parked: Parked, clock: Clock, timeout_ms: int) -> Parked:
    """The same answer, or None once ``timeout_ms`` have passed."""
    limited = Parked()

    def expire() -> None:
        if not limited.done():
            limited.set_result(None)

    def follow(answered: Parked) -> None:
        timer.cancel()
        if not limited.done():
            limited.follow(answered)

    timer = clock.call_later(timeout_ms, expire)
    parked.listen(follow)
    return limited
