"""Is a heartbeat one at all? What is asked before anything is known of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.state.consumer.member import (
    JOINING_EPOCH,
    LEFT_EPOCH,
    LEFT_FOR_A_WHILE_EPOCH,
)
from odradek.protocol.errors import (
    FencedMemberEpoch,
    InvalidRequest,
    UnsupportedAssignor,
)

from .reconcile import is_part_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.coordinator.group.state.consumer.member import Holding
    from odradek.protocol.messages.consumer_groups import (
        ConsumerGroupHeartbeatRequest,
    )

NOT_SAID = -1
TOPIC_NAMES_MAX = 10_000
PATTERN_LENGTH_MAX = 4096
FIRST_VERSION_WITH_ID_OF_CLIENT = 1


def check_request(
    request: ConsumerGroupHeartbeatRequest,
    api_version: int,
    assignors: Sequence[str],
) -> None:
    """See that a heartbeat says what one has to say.

    Raises:
        InvalidRequest, UnsupportedAssignor: the message says what is wrong.
    """
    epoch = request.member_epoch
    needs_id = epoch > JOINING_EPOCH or epoch == LEFT_EPOCH
    if api_version >= FIRST_VERSION_WITH_ID_OF_CLIENT or needs_id:
        _check_not_empty("MemberId", request.member_id)
    _check_not_empty("GroupId", request.group_id)
    _check_not_empty("InstanceId", request.instance_id)
    _check_not_empty("RackId", request.rack_id)
    if epoch == JOINING_EPOCH:
        _check_joining(request)
    elif epoch == LEFT_FOR_A_WHILE_EPOCH:
        _check_not_empty("MemberId", request.member_id)
        if request.instance_id is None:
            raise InvalidRequest("InstanceId can't be null.")
    elif epoch < LEFT_FOR_A_WHILE_EPOCH:
        raise InvalidRequest("MemberEpoch is invalid.")
    _check_sizes(request)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise UnsupportedAssignor(
            f"ServerAssignor {request.server_assignor} is not supported. Supported "
            f"assignors: {', '.join(assignors)}."
        )


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == NOT_SAID:
        raise InvalidRequest("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise InvalidRequest("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and (
        request.subscribed_topic_regex is None
    ):
        raise InvalidRequest(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null"
            " when (re-)joining."
        )


def _check_sizes(request: ConsumerGroupHeartbeatRequest) -> None:
    """What Apache Kafka takes, and nobody can mean."""
    if request.rebalance_timeout_ms < NOT_SAID:
        raise InvalidRequest("RebalanceTimeoutMs must not be negative.")
    if len(request.subscribed_topic_names or ()) > TOPIC_NAMES_MAX:
        raise InvalidRequest(
            f"SubscribedTopicNames must not be more than {TOPIC_NAMES_MAX}."
        )
    if len(request.subscribed_topic_regex or "") > PATTERN_LENGTH_MAX:
        raise InvalidRequest(
            f"SubscribedTopicRegex must not be longer than {PATTERN_LENGTH_MAX}."
        )


def _check_not_empty(name: str, value: str | None) -> None:
    if value is not None and not value.strip():
        raise InvalidRequest(f"{name} can't be empty.")


def check_epoch(
    holding: Holding, epoch: int, owned: dict[bytes, frozenset[int]] | None
) -> None:
    """See that a member is in the epoch that it is known to be in.

    It may be one behind: then the answer that said so was lost, and it has nothing
    that it was not given.

    Raises:
        FencedMemberEpoch: it is in another one.
    """
    known = holding.epoch
    if epoch == known:
        return
    if epoch > known:
        relation = "greater"
    elif (
        epoch == holding.previous_epoch
        and owned is not None
        and is_part_of(owned, holding.assigned)
    ):
        return
    else:
        relation = "smaller"
    raise FencedMemberEpoch(
        f"The consumer group member has a {relation} member epoch ({epoch}) than the "
        f"one known by the group coordinator ({known}). The member must abandon all "
        "its partitions and rejoin."
    )
