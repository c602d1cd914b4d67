"""DescribeGroups, ListGroups, DeleteGroups, OffsetDelete: groups for administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.coordinator.group.administration import GroupFilter
from odradek.broker.handlers.authorized_operations import ALL_ON_GROUP
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.broker.runtime.parked import gathered
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import ErrorCode, GroupAuthorizationFailed, KafkaError
from odradek.protocol.messages.group_admin import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.registry import Answer
    from odradek.broker.runtime.parked import Parked


@handles(
    DescribeGroupsRequest,
    versions=(0, 6),
    needs=needs.inside(needs.group(Operation.DESCRIBE)),
)
def handle_describe_groups(
    ctx: RequestContext, request: DescribeGroupsRequest
) -> Answer:
    """Each group is described, or says why not."""
    groups = ctx.services.groups

    def describe(group_id: str) -> DescribedGroup | Parked[DescribedGroup]:
        def refuse(error: KafkaError) -> DescribedGroup:
            return DescribedGroup(error_code=error.code, group_id=group_id, members=[])

        if not ctx.may(Operation.DESCRIBE, ResourceType.GROUP, group_id):
            return refuse(GroupAuthorizationFailed())
        return groups.describe(group_id, ctx.api_version, refuse)

    def finish(found: list[DescribedGroup]) -> DescribeGroupsResponse:
        if request.include_authorized_operations:
            for each in found:
                if not each.error_code:
                    each.authorized_operations = ctx.operations(
                        ResourceType.GROUP, each.group_id, ALL_ON_GROUP
                    )
        return DescribeGroupsResponse(groups=found)

    return gathered([describe(each) for each in request.groups], finish)


@handles(
    ListGroupsRequest,
    versions=(0, 5),
    needs=needs.inside(
        needs.cluster(Operation.DESCRIBE), needs.group(Operation.DESCRIBE)
    ),
)
def handle_list_groups(ctx: RequestContext, request: ListGroupsRequest) -> Answer:
    """All groups that pass the filters; while some are loaded, that is an error."""
    groups = ctx.services.groups
    if groups.has_topic and not groups.is_loaded:
        code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ListGroupsResponse(error_code=code, groups=[])

    def finish(found: list[Any]) -> ListGroupsResponse:
        listed: list[ListedGroup] = []
        for each in found:
            if isinstance(each, KafkaError):
                return ListGroupsResponse(error_code=each.code, groups=[])
            listed += (one for one in each if _is_seen(ctx, one))
        return ListGroupsResponse(error_code=ErrorCode.NONE, groups=listed)

    wanted = GroupFilter.of(request.states_filter, request.types_filter)
    return groups.list_groups(wanted, finish)


def _is_seen(ctx: RequestContext, group: ListedGroup) -> bool:
    """Whether the client may know of the group: as of all of them, or of this one."""
    return ctx.sees(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME) or ctx.sees(
        Operation.DESCRIBE, ResourceType.GROUP, group.group_id
    )


@handles(
    DeleteGroupsRequest,
    versions=(0, 2),
    needs=needs.inside(needs.group(Operation.DELETE)),
)
def handle_delete_groups(ctx: RequestContext, request: DeleteGroupsRequest) -> Answer:
    """Each group is gone for good, or says why not."""
    groups = ctx.services.groups
    names = list(dict.fromkeys(request.groups_names))
    answers = [
        groups.delete(each, lambda error: error.code)
        if ctx.may(Operation.DELETE, ResourceType.GROUP, each)
        else ErrorCode.GROUP_AUTHORIZATION_FAILED
        for each in names
    ]

    def finish(codes: list[int]) -> DeleteGroupsResponse:
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group_id=name, error_code=code)
                for name, code in zip(names, codes, strict=True)
            ]
        )

    return gathered(answers, finish)


@handles(
    OffsetDeleteRequest,
    versions=(0, 0),
    needs=needs.inside(needs.group(Operation.DELETE), needs.topic(Operation.READ)),
)
def handle_offset_delete(ctx: RequestContext, request: OffsetDeleteRequest) -> Answer:
    """Each partition's offset is forgotten, or says why not."""
    ctx.require(Operation.DELETE, ResourceType.GROUP, request.group_id)
    topics = ctx.services.metadata
    response = OffsetDeleteResponse(topics=[])
    places: list[OffsetDeleteResponsePartition] = []
    wanted: list[tuple[str, int]] = []
    for asked in request.topics:
        topic = topics.get(asked.name)
        is_allowed = ctx.may(Operation.READ, ResourceType.TOPIC, asked.name)
        answered = OffsetDeleteResponseTopic(name=asked.name, partitions=[])
        response.topics.append(answered)
        for each in asked.partitions:
            number = each.partition_index
            place = OffsetDeleteResponsePartition(partition_index=number)
            answered.partitions.append(place)
            if not is_allowed:
                place.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif topic is None or not 0 <= number < len(topic.partitions):
                place.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                places.append(place)
                wanted.append((topic.name, number))

    def answer(codes: list[int]) -> OffsetDeleteResponse:
        for place, code in zip(places, codes, strict=True):
            place.error_code = code
        return response

    def refuse(error: KafkaError) -> OffsetDeleteResponse:
        return OffsetDeleteResponse(error_code=error.code, topics=[])

    return ctx.services.groups.delete_offsets(request.group_id, wanted, answer, refuse)
