"""InitProducerId: the identity under which a producer writes.

Without a transactional id it is only idempotent, and gets an id that nobody had.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.decision import ProducerIdentity
from odradek.broker.coordinator.transaction.init_producer import Initialisation
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import ErrorCode, InvalidRequest
from odradek.protocol.messages.transactions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

if TYPE_CHECKING:
    from odradek.broker.metadata.producer_ids import ProducerIds
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.protocol.errors import KafkaError

NO_ID = -1
FIRST_VERSION_WITH_PRODUCER_FENCED = 4


@handles(
    InitProducerIdRequest,
    versions=(0, 5),
    needs=needs.inside(
        needs.transactional_id(Operation.WRITE),
        needs.cluster(Operation.IDEMPOTENT_WRITE),
        needs.topic(Operation.WRITE),
    ),
)
def handle_init_producer_id(
    ctx: RequestContext, request: InitProducerIdRequest
) -> Answer:
    """Give a new id with epoch 0, or the next epoch of a transactional id.

    Raises:
        InvalidRequest: an empty transactional id, or half of an identity.
    """
    _check_allowed(ctx, request.transactional_id)
    if request.transactional_id == "":
        raise InvalidRequest("the transactional id is empty")
    if (request.producer_id == NO_ID) != (request.producer_epoch == NO_ID):
        raise InvalidRequest("a producer id and an epoch come together or not at all")
    if request.transactional_id is not None:
        return _init_transactional(ctx, request, request.transactional_id)
    producer_ids = ctx.services.producer_ids
    producer_id = producer_ids.next_or_none()
    if producer_id is None:
        return _answer_with_new_block(producer_ids)
    return InitProducerIdResponse(producer_id=producer_id)


def _check_allowed(ctx: RequestContext, transactional_id: str | None) -> None:
    """See that the client may have what it wants.

    Without a transactional id whoever may write any topic may have a producer id
    (KIP-679).
    """
    if transactional_id is not None:
        ctx.require(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)
        return
    access = ctx.access
    if access is None or access.may_any(Operation.WRITE, ResourceType.TOPIC):
        return
    ctx.require(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME)


def _init_transactional(
    ctx: RequestContext, request: InitProducerIdRequest, transactional_id: str
) -> Answer:
    expected = ProducerIdentity(request.producer_id, request.producer_epoch)
    wanted = Initialisation(
        transactional_id,
        request.transaction_timeout_ms,
        None if request.producer_id == NO_ID else expected,
    )

    def refuse(error: KafkaError) -> InitProducerIdResponse:
        code = int(error.code)
        if ctx.api_version < FIRST_VERSION_WITH_PRODUCER_FENCED:
            code = without_producer_fenced(code)
        return InitProducerIdResponse(error_code=code, producer_epoch=NO_ID)

    return ctx.services.transactions.init_producer(wanted, _given, refuse)


def _given(producer: ProducerIdentity) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
    )


def without_producer_fenced(code: int) -> int:
    """What clients are told that know no PRODUCER_FENCED."""
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


async def _answer_with_new_block(producer_ids: ProducerIds) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=await producer_ids.next())


@answers_errors(InitProducerIdRequest)
def refuse_init_producer_id(
    request: InitProducerIdRequest, error: KafkaError
) -> InitProducerIdResponse:
    """No id and no epoch."""
    return InitProducerIdResponse(error_code=error.code, producer_epoch=NO_ID)
