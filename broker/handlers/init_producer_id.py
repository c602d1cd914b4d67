"""InitProducerId: the id under which an idempotent producer writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.errors import InvalidRequest, TransactionalIdAuthorizationFailed
from protocol.messages.transactions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)

from .registry import answers_errors, handles

if TYPE_CHECKING:
    from protocol.errors import KafkaError

    from ..network.request_context import RequestContext
    from ..producer_ids import ProducerIds

NO_ID = -1


@handles(InitProducerIdRequest, versions=(0, 5))
def handle_init_producer_id(ctx: RequestContext, request: InitProducerIdRequest) -> Any:
    """Give a new id with epoch 0.

    Raises:
        InvalidRequest: an empty transactional id, or half of an identity.
        TransactionalIdAuthorizationFailed: there are no transactions here. This
            code is final; COORDINATOR_NOT_AVAILABLE would be tried again for ever.
    """
    if request.transactional_id == "":
        raise InvalidRequest("the transactional id is empty")
    if (request.producer_id == NO_ID) != (request.producer_epoch == NO_ID):
        raise InvalidRequest("a producer id and an epoch come together or not at all")
    if request.transactional_id is not None:
        raise TransactionalIdAuthorizationFailed("this broker serves no transactions")
    producer_ids = ctx.services.producer_ids
    producer_id = producer_ids.next_or_none()
    if producer_id is None:
        return _answer_with_new_block(producer_ids)
    return InitProducerIdResponse(producer_id=producer_id)


async def _answer_with_new_block(producer_ids: ProducerIds) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=await producer_ids.next())


@answers_errors(InitProducerIdRequest)
def refuse_init_producer_id(
    request: InitProducerIdRequest, error: KafkaError
) -> InitProducerIdResponse:
    """No id and no epoch."""
    return InitProducerIdResponse(error_code=error.code, producer_epoch=NO_ID)
