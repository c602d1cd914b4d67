"""TxnOffsetCommit: where a group is, once a transaction is committed.

The coordinator of the transaction is asked first whether the group's offsets take
part in it; in version 5 it lets them (KIP-890).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.group.offsets.commit import Committer
from odradek.broker.coordinator.transaction.add_partitions import IMPLICIT_ADD, Addition
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.parked import Parked
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import ErrorCode, InvalidRequest, KafkaError, error_class
from odradek.protocol.messages.txn_offsets import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

from .offset_commit import wanted_offset

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.offsets.commit import WantedOffset
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.producers.verification_state import VerificationGuard

FIRST_VERSION_THAT_ADDS = 5
FIRST_VERSION_WITH_ABORTABLE = 4
FIRST_VERSION_WITH_LOADING = 2


@handles(
    TxnOffsetCommitRequest,
    versions=(0, 5),
    needs=needs.inside(
        needs.transactional_id(Operation.WRITE),
        needs.group(Operation.READ),
        needs.topic(Operation.READ),
    ),
)
def handle_txn_offset_commit(
    ctx: RequestContext, request: TxnOffsetCommitRequest
) -> Answer:
    """Answered when the offsets are, durably, part of the transaction."""
    transactional_id = request.transactional_id
    ctx.require(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)
    ctx.require(Operation.READ, ResourceType.GROUP, request.group_id)
    return TxnOffsetCommit(ctx, request).begin()


class TxnOffsetCommit:
    """One request, from the coordinator of its transaction to its answer."""

    def __init__(self, ctx: RequestContext, request: TxnOffsetCommitRequest) -> None:
        self._ctx = ctx
        self._transactional_id = request.transactional_id
        self._producer = ProducerIdentity(request.producer_id, request.producer_epoch)
        self._committer = Committer(
            request.group_id,
            request.generation_id,
            request.member_id,
            request.group_instance_id,
        )
        self._response = TxnOffsetCommitResponse(topics=[])
        self._wanted: list[WantedOffset] = []
        self._places: list[TxnOffsetCommitResponsePartition] = []
        for asked in request.topics:
            topic = ctx.services.metadata.get(asked.name)
            is_allowed = ctx.may(Operation.READ, ResourceType.TOPIC, asked.name)
            answered = TxnOffsetCommitResponseTopic(name=asked.name, partitions=[])
            self._response.topics.append(answered)
            for each in asked.partitions:
                number = each.partition_index
                place = TxnOffsetCommitResponsePartition(partition_index=number)
                answered.partitions.append(place)
                if not is_allowed:
                    place.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                    continue
                if topic is None or not 0 <= number < len(topic.partitions):
                    place.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    continue
                self._places.append(place)
                self._wanted.append(wanted_offset(topic, each))

    def begin(self) -> Answer:
        """The answer, or a parked one."""
        if not self._wanted:
            return self._response
        adds = self._ctx.api_version >= FIRST_VERSION_THAT_ADDS
        services = self._ctx.services
        group_id = self._committer.group_id
        try:
            guard = services.groups.start_verification(group_id, self._producer, adds)
            if not self._transactional_id:
                raise InvalidRequest
            offsets = services.groups.partition_of(group_id)
        except KafkaError as error:
            return self._refuse(error)
        verifies = services.config.transaction_partition_verification_enable
        if guard is None or not (adds or verifies):
            return self._commit(guard)
        codes = services.transactions.admit(
            Addition(
                self._transactional_id,
                self._producer,
                (offsets,),
                IMPLICIT_ADD if adds else 0,
            )
        )
        if not isinstance(codes, Parked):
            return self._go_on(guard, codes)
        answer = Parked()
        run_soon = services.groups.runtime.run_soon
        codes.listen(
            lambda parked: run_soon(partial(self._answer, answer, guard, parked))
        )
        return answer

    def _answer(self, answer: Parked, guard: VerificationGuard, codes: Parked) -> None:
        """Go on behind the coordinator's word."""
        try:
            answer.follow(self._go_on(guard, codes.result()))
        except Exception as error:
            answer.set_exception(error)

    def _go_on(
        self, guard: VerificationGuard, codes: dict[TopicPartition, int]
    ) -> Answer:
        (code,) = codes.values()
        if code:
            return self._refuse(error_class(_as_told(code, self._ctx.api_version))())
        return self._commit(guard)

    def _commit(self, guard: VerificationGuard | None) -> Answer:
        return self._ctx.services.groups.commit_in_transaction(
            self._committer,
            self._producer,
            guard,
            self._wanted,
            self._respond,
            self._refuse,
        )

    def _respond(self, codes: list[int]) -> TxnOffsetCommitResponse:
        for place, code in zip(self._places, codes, strict=True):
            place.error_code = code
        return self._response

    def _refuse(self, error: KafkaError) -> TxnOffsetCommitResponse:
        code: int = error.code
        if (
            code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            and self._ctx.api_version < FIRST_VERSION_WITH_LOADING
        ):
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE  # the other stops old clients
        return self._respond([code] * len(self._places))


def _as_told(code: int, api_version: int) -> int:
    """What a client is told of an error of its transaction's coordinator."""
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code == ErrorCode.NOT_COORDINATOR:  # of transactions; who asked is of groups
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if (
        code == ErrorCode.TRANSACTION_ABORTABLE
        and api_version < FIRST_VERSION_WITH_ABORTABLE
    ):
        return ErrorCode.INVALID_TXN_STATE
    return code


@answers_errors(TxnOffsetCommitRequest)
def refuse_txn_offset_commit(
    request: TxnOffsetCommitRequest, error: KafkaError
) -> TxnOffsetCommitResponse:
    """The same code for every partition."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=error.code
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
