"""What a request says of records that its member has, and the answer to that.

Each partition has an answer of its own: its acknowledgements count all, or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.share.state import ShareKey
from odradek.broker.metadata.features import SHARE_VERSION
from odradek.broker.requests.current_leaders import LEADS_NO_MORE
from odradek.broker.share.acknowledge import Acknowledged, check_said
from odradek.broker.share.record_states import AcknowledgeType
from odradek.broker.share.sessions import MemberKey
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    InvalidRecordState,
    InvalidRequest,
    KafkaError,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from odradek.protocol.messages.share_fetch import ShareLeaderIdAndEpoch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.current_leaders import CurrentLeaders
    from odradek.broker.runtime.parked import Parked
    from odradek.protocol.messages.share_fetch import (
        AcknowledgementBatch,
        ShareAcknowledgePartitionData,
        ShareAcknowledgeRequest,
        ShareAcknowledgeTopic,
        ShareFetchRequest,
        ShareFetchTopic,
        SharePartitionData,
    )

    Outcome = KafkaError | None

FIRST_VERSION_WITH_RENEWALS = 2
_MEMBER_ID_LENGTH_MAX = 36


def member_of(
    ctx: RequestContext, request: ShareFetchRequest | ShareAcknowledgeRequest
) -> MemberKey:
    """Who asks. Nobody looks whether it is a member of the group.

    Raises:
        UnsupportedVersion: share groups are switched off.
        GroupAuthorizationFailed: it may not read for the group.
        InvalidRequest: it does not say who it is.
    """
    if not ctx.services.features.level_of(SHARE_VERSION):
        raise UnsupportedVersion("Share groups (KIP-932) are off: share.version is 0.")
    group_id, member_id = request.group_id, request.member_id
    if group_id is None:
        raise InvalidRequest("The request names no share group.")
    ctx.require(Operation.READ, ResourceType.GROUP, group_id)
    if not member_id or len(member_id) > _MEMBER_ID_LENGTH_MAX:
        raise InvalidRequest(
            f"A member id has 1 to {_MEMBER_ID_LENGTH_MAX} characters."
        )
    return MemberKey(group_id, member_id)


def said_of(
    group_id: str, topics: Iterable[ShareFetchTopic | ShareAcknowledgeTopic]
) -> dict[ShareKey, list[AcknowledgementBatch]]:
    """What is said of each partition; nothing of those of which nothing is."""
    return {
        ShareKey(group_id, topic.topic_id, each.partition_index): (
            each.acknowledgement_batches
        )
        for topic in topics
        for each in topic.partitions
        if each.acknowledgement_batches
    }


def check_readable(ctx: RequestContext, key: ShareKey) -> None:
    """See that the client may read the partition, and that it is there.

    Raises:
        UnknownTopicId, TopicAuthorizationFailed, UnknownTopicOrPartition.
    """
    topic = ctx.services.metadata.by_id(key.topic_id)
    if topic is None:
        raise UnknownTopicId
    if not ctx.may(Operation.READ, ResourceType.TOPIC, topic.name):
        raise TopicAuthorizationFailed
    if not 0 <= key.partition < len(topic.partitions):
        raise UnknownTopicOrPartition


def take_said(
    ctx: RequestContext,
    member: MemberKey,
    said: Mapping[ShareKey, Sequence[AcknowledgementBatch]],
    *,
    is_renewal: bool,
) -> dict[ShareKey, Outcome | Parked[KafkaError | None]]:
    """For each partition None, once what is said of it is durable; or why it is not."""
    sharing = ctx.services.sharing
    may_renew = sharing.settings.of(member.group_id).may_renew
    outcomes: dict[ShareKey, Outcome | Parked[KafkaError | None]] = {}
    for key, batches in said.items():
        acknowledged = [
            Acknowledged(each.first_offset, each.last_offset, each.acknowledge_types)
            for each in batches
        ]
        try:
            check_readable(ctx, key)
            check_said(acknowledged, may_renew=is_renewal)
            if not may_renew and any(map(_renews, acknowledged)):
                raise InvalidRecordState("This share group does not renew locks.")
        except KafkaError as error:
            outcomes[key] = error.as_value()
        else:
            outcomes[key] = sharing.acknowledge(key, member.member_id, acknowledged)
    return outcomes


def _renews(said: Acknowledged) -> bool:
    return AcknowledgeType.RENEW in said.types


def name_leaders(
    leaders: CurrentLeaders,
    topics: Mapping[
        bytes, list[SharePartitionData] | list[ShareAcknowledgePartitionData]
    ],
) -> None:
    """Say whom to ask instead, of what another broker leads."""
    for topic_id, partitions in topics.items():
        for each in partitions:
            if each.error_code in LEADS_NO_MORE:
                found = leaders.of(topic_id, each.partition_index)
                if found is not None:
                    each.current_leader = ShareLeaderIdAndEpoch(
                        leader_id=found[0], leader_epoch=found[1]
                    )


def told_of(error: KafkaError | None) -> tuple[int, str | None]:
    """The code and the words of an outcome."""
    return (0, None) if error is None else (int(error.code), str(error))
