"""ShareAcknowledge 1-2: what became of records that a share group handed out.

Answered when it is durable: a record that was accepted never comes again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.current_leaders import current_leaders
from odradek.broker.requests.registry import handles
from odradek.broker.runtime.parked import gathered
from odradek.broker.share.sessions import FINAL_EPOCH, NEW_EPOCH
from odradek.protocol.acls import Operation
from odradek.protocol.errors import InvalidShareSessionEpoch
from odradek.protocol.messages.share_fetch import (
    ShareAcknowledgePartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)

from .said import (
    FIRST_VERSION_WITH_RENEWALS,
    member_of,
    name_leaders,
    said_of,
    take_said,
    told_of,
)

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.protocol.errors import KafkaError


@handles(
    ShareAcknowledgeRequest,
    versions=(1, 2),
    needs=needs.inside(needs.group(Operation.READ), needs.topic(Operation.READ)),
)
def handle_share_acknowledge(
    ctx: RequestContext, request: ShareAcknowledgeRequest
) -> Answer:
    """Take what is said of each partition, or say why not. The last epoch ends all.

    Raises:
        KafkaError: who asks may not, or has no such session.
    """
    member, sharing = member_of(ctx, request), ctx.services.sharing
    epoch = request.share_session_epoch
    if epoch == NEW_EPOCH:
        raise InvalidShareSessionEpoch("Only a fetch begins a session.")
    session = sharing.sessions.find(member, epoch)
    is_renewal = ctx.api_version >= FIRST_VERSION_WITH_RENEWALS and request.is_renew_ack
    outcomes = take_said(
        ctx, member, said_of(member.group_id, request.topics), is_renewal=is_renewal
    )
    if epoch == FINAL_EPOCH:
        sharing.end(session)
    else:
        session.begin_next()
    lock_ms = sharing.settings.of(member.group_id).limits.lock_ms

    def answer(errors: list[KafkaError | None]) -> ShareAcknowledgeResponse:
        topics: dict[bytes, list[ShareAcknowledgePartitionData]] = {}
        for key, error in zip(outcomes, errors, strict=True):
            code, words = told_of(error)
            topics.setdefault(key.topic_id, []).append(
                ShareAcknowledgePartitionData(
                    partition_index=key.partition, error_code=code, error_message=words
                )
            )
        leaders = current_leaders(ctx)
        if leaders is not None:
            name_leaders(leaders, topics)
        return ShareAcknowledgeResponse(
            node_endpoints=[] if leaders is None else leaders.endpoints,
            acquisition_lock_timeout_ms=lock_ms,
            responses=[
                ShareAcknowledgeTopicResponse(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in topics.items()
            ],
        )

    return gathered(list(outcomes.values()), answer)
