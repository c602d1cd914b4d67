"""Is a heartbeat one at all? What is asked before anything is known of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    LEFT_EPOCH,
)
from odradek.protocol.errors import FencedMemberEpoch, InvalidRequest

if TYPE_CHECKING:
    from odradek.broker.coordinator.group.state.share.member import ShareHolding
    from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest

MEMBER_ID_LENGTH_MAX = 36
TOPIC_NAMES_MAX = 10_000


def check_request(request: ShareGroupHeartbeatRequest) -> None:
    """See that a heartbeat says what one has to say.

    Raises:
        InvalidRequest: the message says what is wrong.
    """
    if not request.group_id.strip():
        raise InvalidRequest("GroupId can't be empty.")
    if request.rack_id is not None and not request.rack_id.strip():
        raise InvalidRequest("RackId can't be empty.")
    if request.member_epoch == JOINING_EPOCH and not request.subscribed_topic_names:
        raise InvalidRequest("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEFT_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")
    if len(request.subscribed_topic_names or ()) > TOPIC_NAMES_MAX:
        raise InvalidRequest(
            f"SubscribedTopicNames must not be more than {TOPIC_NAMES_MAX}."
        )


def check_member_id(member_id: str | None) -> None:
    """See that a member has an id, as every consumer makes one for itself.

    Raises:
        InvalidRequest: it has none, or a longer one than a UUID in text.
    """
    if not member_id or len(member_id) > MEMBER_ID_LENGTH_MAX:
        raise InvalidRequest(
            f"MemberId must have 1 to {MEMBER_ID_LENGTH_MAX} characters."
        )


def check_epoch(holding: ShareHolding, epoch: int) -> None:
    """See that a member is in the epoch that it is known to be in.

    It may be one behind: then the answer that said so was lost.

    Raises:
        FencedMemberEpoch: it is in another one.
    """
    known = holding.epoch
    if epoch in (known, holding.previous_epoch):
        return
    relation = "greater" if epoch > known else "smaller"
    raise FencedMemberEpoch(
        f"The share group member has a {relation} member epoch ({epoch}) than the one "
        f"known by the group coordinator ({known}). The member must abandon all its "
        "partitions and rejoin."
    )
