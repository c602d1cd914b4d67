"""The groups that the broker assigns, described: what is alike for all their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from odradek.broker.handlers.authorized_operations import ALL_ON_GROUP
from odradek.broker.runtime.parked import gathered
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    GroupAuthorizationFailed,
    InvalidGroupId,
    KafkaError,
    TopicAuthorizationFailed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer

    Refuse = Callable[[KafkaError], "DescribedGroup"]

HIDDEN = (
    "The group has described topic(s) that the client is not authorized to describe."
)


class DescribeRequest(Protocol):
    """Which groups are asked for, and whether what may be done to them is, too."""

    group_ids: list[str]
    include_authorized_operations: bool


class DescribedGroup(Protocol):
    """What every description of a group has."""

    error_code: int
    group_id: str
    authorized_operations: int


class Describing(NamedTuple):
    """How groups of one type are described.

    ``refused`` is a description that says why there is none; ``topics_of`` are the
    names of topics in one; ``ask`` describes a group.
    """

    refused: Callable[..., Any]
    topics_of: Callable[[Any], Iterable[str]]
    ask: Callable[[str, Refuse], Any]
    hidden: str = HIDDEN


def described_groups(
    ctx: RequestContext,
    request: DescribeRequest,
    how: Describing,
    reason: KafkaError | None,
    finish: Callable[[list[Any]], Any],
) -> Answer:
    """What ``finish`` makes of the groups: each is described, or says why not.

    ``reason``: why none of them is.
    """

    def describe(group_id: str) -> Any:
        def refuse(error: KafkaError) -> Any:
            return how.refused(
                error_code=error.code, error_message=str(error), group_id=group_id
            )

        if reason is not None:
            return refuse(reason)
        if not ctx.may(Operation.DESCRIBE, ResourceType.GROUP, group_id):
            return refuse(GroupAuthorizationFailed())
        if not group_id:
            return refuse(InvalidGroupId())
        return how.ask(group_id, refuse)

    def see(found: list[Any]) -> Any:
        groups = [_seen(ctx, how, each) for each in found]
        if request.include_authorized_operations:
            for each in groups:
                if not each.error_code:
                    each.authorized_operations = ctx.operations(
                        ResourceType.GROUP, each.group_id, ALL_ON_GROUP
                    )
        return finish(groups)

    # Those that cannot be come first, as in Apache Kafka.
    group_ids = sorted(request.group_ids, key=bool)
    return gathered([describe(each) for each in group_ids], see)


def _seen(
    ctx: RequestContext, how: Describing, group: DescribedGroup
) -> DescribedGroup:
    """The group; or that it reads topics of which the client may not know."""
    if ctx.services.authorizer is None:
        return group
    names = set(how.topics_of(group))
    if all(ctx.sees(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in names):
        return group
    refused: DescribedGroup = how.refused(
        error_code=TopicAuthorizationFailed().code,
        error_message=how.hidden,
        group_id=group.group_id,
    )
    return refused
