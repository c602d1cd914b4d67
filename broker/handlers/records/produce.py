"""Produce: append one batch to each of the partitions.

Versions 0 to 2 are advertised and refused: librdkafka compresses only for a broker
that offers them (KAFKA-18659). Shape and content of a batch are checked by the log;
here is what depends on the version and on the producer.

Where a transaction begins in a partition its coordinator is asked first. Until it has
answered the connection starts nothing else: a later batch of the producer must not
overtake this one. Then only the answer waits, as always.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.replica.appends import OF_A_CLIENT, AppendTerms
from odradek.broker.replica.partition.partition import ACKS_ALL
from odradek.broker.replica.waiting.delayed_produce import AppendResult
from odradek.broker.replica.waiting.patience import DISK_TIMEOUT_MS
from odradek.broker.requests import needs
from odradek.broker.requests.registry import (
    NO_RESPONSE,
    answers_errors,
    handles,
    reads_refused,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import (
    ErrorCode,
    KafkaError,
    TransactionalIdAuthorizationFailed,
)
from odradek.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.protocol.record_batch import (
    ATTRIBUTES_LOW_POSITION,
    COMPRESSION_MASK,
    COMPRESSION_ZSTD,
    TRANSACTIONAL,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import to_text
from odradek.storage.validation.validator import delimit

from .produce_answers import FIRST_VERSION, encode_appended
from .transaction_verification import (
    ask_coordinator,
    refused_by_coordinator,
    take_guards,
    within,
)

if TYPE_CHECKING:
    from odradek.broker.replica.appends import AppendResults
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer, Body, Settled
    from odradek.protocol.messages.produce import TopicProduceData
    from odradek.protocol.record_batch import BatchHeader
    from odradek.storage.files.files import Buffer

    from .transaction_verification import Guards

FIRST_VERSION_WITH_TOPIC_IDS = 13
FIRST_VERSION_WITH_ZSTD = 7
ADMIN_CLIENT_ID = "__admin_client"

_TO_BE_LOOKED_AT = COMPRESSION_MASK | TRANSACTIONAL
# NamedTuple's own constructor costs three times as much as the tuple.
_new = tuple.__new__
_NO_TRANSACTIONAL_ID = b"\xff\xff"

_TIMED_OUT = AppendResult(
    ErrorCode.REQUEST_TIMED_OUT, message="the transaction's coordinator took too long"
)
_NOT_ALLOWED = AppendResult(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_UNKNOWN_ID = AppendResult(ErrorCode.UNKNOWN_TOPIC_ID)
_NO_RECORDS = AppendResult(ErrorCode.INVALID_RECORD, message="there are no records")
_NO_ZSTD_YET = AppendResult(
    ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    message="zstd needs version 7 of the request",
)
_TWO_BATCHES = AppendResult(
    ErrorCode.INVALID_REQUEST,
    message="the request has two batches for this partition",
)


@handles(
    ProduceRequest,
    versions=(3, 13),
    advertised=(0, 13),
    needs=needs.inside(
        needs.topic(Operation.WRITE), needs.transactional_id(Operation.WRITE)
    ),
)
def handle_produce(ctx: RequestContext, request: ProduceRequest) -> Answer:
    """Append, and answer when ``acks`` are fulfilled; with acks=0 never."""
    produce = Produce(ctx, request)
    manager = ctx.services.replica_manager
    if manager.unopened_logs and (unopened := manager.unopened(produce.entries)):
        return produce.append_when_open(unopened)
    return produce.append() if produce.headers is None else produce.verify()


class Produce:
    """One request, from its batches to its answer.

    ``entries`` are the batches to append, ``refused`` what became of the others;
    ``headers`` are of those that are part of a transaction, None without any.
    """

    __slots__ = ("_ctx", "_names", "_request", "entries", "headers", "refused")

    def __init__(self, ctx: RequestContext, request: ProduceRequest) -> None:
        self.entries: dict[TopicPartition, Buffer] = {}
        self.refused: AppendResults = {}
        self.headers: dict[TopicPartition, BatchHeader] | None = None
        self._ctx = ctx
        self._request = request
        self._names: list[str] = []  # of the topics, in the order of the request
        by_id = ctx.api_version >= FIRST_VERSION_WITH_TOPIC_IDS
        has_authorizer = ctx.services.authorizer is not None
        for topic in request.topic_data:
            name = self._name_of(topic.topic_id) if by_id else topic.name
            key = to_text(topic.topic_id) if name is None else name
            self._names.append(key)
            if has_authorizer and name is not None and not self._may_write(name):
                self._refuse_topic(topic, name)
                continue
            for data in topic.partition_data:
                topic_partition = _new(TopicPartition, (key, data.index))
                records = data.records
                if name is None:
                    self.refused[topic_partition] = _UNKNOWN_ID
                elif (
                    records is None
                    or len(records) <= ATTRIBUTES_LOW_POSITION
                    or records[ATTRIBUTES_LOW_POSITION] & _TO_BE_LOOKED_AT
                    or topic_partition in self.entries
                    or topic_partition in self.refused
                ):
                    self._offer(topic_partition, records)
                else:
                    self.entries[topic_partition] = records

    def append(self, guards: Guards | None = None) -> Settled:
        """The answer, or a `Parked` one."""
        request, terms = self._request, OF_A_CLIENT
        is_admin = self._ctx.client_id == ADMIN_CLIENT_ID
        if guards or is_admin:
            terms = AppendTerms(internal_topics_allowed=is_admin, guards=guards)
        return self._ctx.services.replica_manager.appends.append(
            self.entries,
            request.acks,
            request.timeout_ms,
            self.respond,
            terms,
        )

    async def append_when_open(self, unopened: list[TopicPartition]) -> Settled:
        """The answer, once the logs that were never used before are open."""
        await self._ctx.services.replica_manager.open(unopened)
        self._refuse_replaced()
        if self.headers is None:
            return self.append()
        answer = self.verify()
        return await answer if isinstance(answer, Coroutine) else answer

    def verify(self) -> Settled | Coroutine[Any, Any, Settled]:
        """`append`, once the transaction's coordinator has agreed; see `append`.

        A coroutine while that takes its time.

        Raises:
            InvalidProducerIdMapping: there are batches of two transactions.
        """
        ctx, transactional_id = self._ctx, self._request.transactional_id
        headers = self.headers
        assert transactional_id is not None
        assert headers is not None
        guards, refused = take_guards(ctx, headers)
        if refused:
            self._refuse(refused)
        if not guards:
            return self.append()
        header = headers[next(iter(guards))]
        codes = ask_coordinator(ctx, transactional_id, header, tuple(guards))
        if isinstance(codes, Parked):
            return self._append_when_verified(codes, guards)
        self._refuse(refused_by_coordinator(codes, ctx.api_version))
        return self.append(guards)

    async def _append_when_verified(
        self, parked: Parked[dict[TopicPartition, int] | None], guards: Guards
    ) -> Settled:
        request = self._request
        if request.acks == ACKS_ALL:
            # Neither is quicker for it: the coordinator, nor the disk it waits for.
            patience_ms = max(request.timeout_ms, DISK_TIMEOUT_MS)
            parked = within(parked, self._ctx.services.clock, patience_ms)
        codes = await parked
        if codes is None:
            self._refuse(dict.fromkeys(self.entries, _TIMED_OUT))
        else:
            self._refuse(refused_by_coordinator(codes, self._ctx.api_version))
            self._refuse_replaced()
        return self.append(guards)

    def _refuse(self, refused: AppendResults) -> None:
        for topic_partition in refused:
            del self.entries[topic_partition]
            if self.headers is not None:
                self.headers.pop(topic_partition, None)
        self.refused.update(refused)

    def _refuse_replaced(self) -> None:
        """Refuse what is for a topic that was deleted while we waited."""
        if self._ctx.api_version < FIRST_VERSION_WITH_TOPIC_IDS:
            return
        for name, topic in zip(self._names, self._request.topic_data, strict=True):
            if self._name_of(topic.topic_id) != name:
                gone = [each for each in self.entries if each.topic == name]
                self._refuse(dict.fromkeys(gone, _UNKNOWN_ID))

    def respond(self, results: AppendResults) -> Body:
        """The response with what became of each batch; its body, when that is known."""
        request = self._request
        if len(results) == 1 and len(request.topic_data) == 1 and not self.refused:
            ((key, result),) = results.items()
            version = self._ctx.api_version
            if not result.error_code and request.acks and version >= FIRST_VERSION:
                topic_id = request.topic_data[0].topic_id
                return encode_appended(version, key[0], topic_id, key[1], result)
        return self._respond_to_each(results)

    def _respond_to_each(self, results: AppendResults) -> Body:
        if self.refused:
            results = {**results, **self.refused}
        if self._request.acks == 0:
            if any(result.error_code for result in results.values()):
                # There is no other way to tell a client that listens to nothing.
                self._ctx.close_connection()
            return NO_RESPONSE
        responses = []
        for name, topic in zip(self._names, self._request.topic_data, strict=True):
            answers = [
                partition_response(data.index, result)
                for data in topic.partition_data
                if (
                    result := results.pop(
                        _new(TopicPartition, (name, data.index)), None
                    )
                )
            ]
            if answers:  # else all of them were named, and answered, before
                responses.append(
                    TopicProduceResponse(
                        name=name, topic_id=topic.topic_id, partition_responses=answers
                    )
                )
        response = ProduceResponse(responses=responses)
        if self._ctx.services.cluster is not None:
            from .told_leaders import told_to_producer

            return told_to_producer(self._ctx, response)
        return response

    def _may_write(self, name: str) -> bool:
        return self._ctx.may(Operation.WRITE, ResourceType.TOPIC, name)

    def _refuse_topic(self, topic: TopicProduceData, name: str) -> None:
        """Refuse all batches, after what would refuse the whole request."""
        for data in topic.partition_data:
            topic_partition = TopicPartition(name, data.index)
            if data.records is not None:
                self._offer(topic_partition, data.records)
            self.entries.pop(topic_partition, None)
            if self.headers is not None:
                self.headers.pop(topic_partition, None)
            self.refused[topic_partition] = _NOT_ALLOWED

    def _name_of(self, topic_id: bytes) -> str | None:
        topic = self._ctx.services.metadata.by_id(topic_id)
        return None if topic is None else topic.name

    def _offer(self, topic_partition: TopicPartition, records: Buffer | None) -> None:
        """Put the batch among the entries, or the reason why not among the refused."""
        if topic_partition in self.entries or topic_partition in self.refused:
            self.entries.pop(topic_partition, None)
            if self.headers is not None:
                self.headers.pop(topic_partition, None)
            self.refused[topic_partition] = _TWO_BATCHES
        elif records is None:
            self.refused[topic_partition] = _NO_RECORDS
        elif len(records) > ATTRIBUTES_LOW_POSITION and (
            refusal := self._refusal(
                topic_partition, records, records[ATTRIBUTES_LOW_POSITION]
            )
        ):
            self.refused[topic_partition] = refusal
        else:
            self.entries[topic_partition] = records

    def _refusal(
        self, topic_partition: TopicPartition, records: Buffer, attributes: int
    ) -> AppendResult | None:
        """Why a batch with these attributes is not for the log; mostly None."""
        is_zstd = attributes & COMPRESSION_MASK == COMPRESSION_ZSTD
        is_early_zstd = is_zstd and self._ctx.api_version < FIRST_VERSION_WITH_ZSTD
        if not (attributes & TRANSACTIONAL or is_early_zstd):
            return None
        try:
            _, header = delimit(records)
        except KafkaError:
            return None  # no batch at all: the log says what is wrong with it
        if is_early_zstd:
            return _NO_ZSTD_YET
        if self._request.transactional_id is None:
            raise TransactionalIdAuthorizationFailed(
                "a transactional batch in a request without transactional id"
            )
        self._ctx.require(
            Operation.WRITE,
            ResourceType.TRANSACTIONAL_ID,
            self._request.transactional_id,
        )
        if header.producer_id >= 0:
            if self.headers is None:
                self.headers = {}
            self.headers[topic_partition] = header
        return None


def partition_response(index: int, result: AppendResult) -> PartitionProduceResponse:
    """What became of the batch for one partition, as the answer says it."""
    if not result.error_code:
        return PartitionProduceResponse(
            index=index,
            base_offset=result.base_offset,
            log_append_time_ms=result.log_append_time_ms,
            log_start_offset=result.log_start_offset,
        )
    return PartitionProduceResponse(
        index=index,
        error_code=result.error_code,
        base_offset=result.base_offset,
        log_append_time_ms=result.log_append_time_ms,
        log_start_offset=result.log_start_offset,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=at, batch_index_error_message=why)
            for at, why in result.record_errors or ()
        ],
        error_message=result.message,
    )


@answers_errors(ProduceRequest)
def refuse_produce(
    request: ProduceRequest, error: KafkaError
) -> ProduceResponse | None:
    """The same error for every partition; with acks=0 the connection closes."""
    if request.acks == 0:
        return None
    refuse = partial(
        PartitionProduceResponse,
        error_code=error.code,
        base_offset=-1,
        error_message=str(error),
    )
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    refuse(index=data.index) for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


@reads_refused(ProduceRequest)
def read_refused_produce(
    frame: memoryview, position: int
) -> tuple[ProduceRequest, int]:
    """Versions 0 to 2: version 3 without the transactional id in front."""
    body = memoryview(_NO_TRANSACTIONAL_ID + bytes(frame[position:]))
    request, end = decoder(ProduceRequest, 3)(body, 0)
    return request, position + end - len(_NO_TRANSACTIONAL_ID)
