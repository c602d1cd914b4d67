"""DescribeAcls, CreateAcls, DeleteAcls 1-3 (KIP-140, KIP-290).

Each entry and each filter is taken or refused for itself; all that are taken are one
commit, in force for every request that comes after the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acl_entries import AclEntry, AclFilter, PatternType, Permission
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.protocol.errors import InvalidRequest, KafkaError, SecurityDisabled
from odradek.protocol.messages.acls import (
    AclCreation,
    AclCreationResult,
    AclDescription,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.metadata.acls import Acls
    from odradek.broker.requests.context import RequestContext

CHANGES_MAX = 10_000  # of one request, as Apache Kafka has it


@handles(
    DescribeAclsRequest,
    versions=(1, 3),
    needs=needs.before(needs.cluster(Operation.DESCRIBE)),
)
def handle_describe_acls(
    ctx: RequestContext, request: DescribeAclsRequest
) -> DescribeAclsResponse:
    """The entries that match, by resource.

    Raises:
        SecurityDisabled: there is no authorizer.
        InvalidRequest: the filter has a number that nobody knows.
    """
    found = _acls(ctx, " on the broker").matching(_filter(request))
    return DescribeAclsResponse(error_message=None, resources=_by_resource(found))


@handles(
    CreateAclsRequest,
    versions=(1, 3),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
async def handle_create_acls(
    ctx: RequestContext, request: CreateAclsRequest
) -> CreateAclsResponse:
    """Store entries; one that is there already is stored, too.

    Raises:
        SecurityDisabled: there is no authorizer.
        InvalidRequest: there are too many.
    """
    acls = _acls(ctx)
    if len(request.creations) > CHANGES_MAX:
        raise InvalidRequest(f"At most {CHANGES_MAX} entries at a time")
    results = []
    entries = []
    for creation in request.creations:
        result = AclCreationResult(error_message=None)
        try:
            entries.append(_entry(creation))
        except KafkaError as error:
            result.error_code, result.error_message = error.code, str(error)
        results.append(result)
    if entries:
        await acls.add(entries)
    return CreateAclsResponse(results=results)


@answers_errors(CreateAclsRequest)
def refuse_create_acls(
    request: CreateAclsRequest, error: KafkaError
) -> CreateAclsResponse:
    """The error at every entry."""
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_code=error.code, error_message=str(error))
            for _ in request.creations
        ]
    )


@handles(
    DeleteAclsRequest,
    versions=(1, 3),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
async def handle_delete_acls(
    ctx: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse:
    """Remove what matches, and say what that was.

    Raises:
        SecurityDisabled: there is no authorizer.
        InvalidRequest: too many entries match.
    """
    acls = _acls(ctx)
    results = []
    filters: list[AclFilter] = []
    found_by: list[DeleteAclsFilterResult] = []
    for wanted in request.filters:
        result = DeleteAclsFilterResult(error_message=None)
        try:
            filters.append(_filter(wanted))
            found_by.append(result)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, str(error)
        results.append(result)
    found = await acls.remove(filters, at_most=CHANGES_MAX)
    if found is None:
        raise InvalidRequest(f"More than {CHANGES_MAX} entries match: none is removed")
    for result, entries in zip(found_by, found, strict=True):
        result.matching_acls = [_matching(entry) for entry in entries]
    return DeleteAclsResponse(filter_results=results)


@answers_errors(DeleteAclsRequest)
def refuse_delete_acls(
    request: DeleteAclsRequest, error: KafkaError
) -> DeleteAclsResponse:
    """The error at every filter."""
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(error_code=error.code, error_message=str(error))
            for _ in request.filters
        ]
    )


def _acls(ctx: RequestContext, where: str = ".") -> Acls:
    """The entries. Without an authorizer Kafka's two servers say it in their words."""
    authorizer = ctx.services.authorizer
    if authorizer is None:
        raise SecurityDisabled(f"No Authorizer is configured{where}")
    return authorizer.acls


def _filter(wanted: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    found = AclFilter(
        wanted.resource_type_filter,
        wanted.resource_name_filter,
        wanted.pattern_type_filter,
        wanted.principal_filter,
        wanted.host_filter,
        wanted.operation,
        wanted.permission_type,
    )
    if found.is_unknown:
        raise InvalidRequest("The filter has elements that are unknown here")
    return found


def _entry(creation: AclCreation) -> AclEntry:
    """The entry to store.

    Raises:
        InvalidRequest: it makes no sense.
    """
    kind, name = creation.resource_type, creation.resource_name
    for number, enumeration, what in (
        (kind, ResourceType, "resource type"),
        (creation.operation, Operation, "operation"),
        (creation.permission_type, Permission, "permission"),
        (creation.resource_pattern_type, PatternType, "pattern type"),
    ):
        first = PatternType.LITERAL if enumeration is PatternType else 2
        if not first <= number < len(enumeration):
            raise InvalidRequest(f"Invalid {what} {number}")
    if not name:
        raise InvalidRequest("Invalid empty resource name")
    if kind == ResourceType.CLUSTER and name != CLUSTER_NAME:
        raise InvalidRequest(
            f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
        )
    if ":" not in creation.principal:
        raise InvalidRequest(
            f"Could not parse principal from `{creation.principal}`: no colon parts "
            "its type from its name"
        )
    return AclEntry(
        kind,
        name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _by_resource(entries: Iterable[AclEntry]) -> list[DescribeAclsResource]:
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for entry in entries:
        key = entry[:3]
        resource = resources.get(key)
        if resource is None:
            resource = DescribeAclsResource(
                resource_type=entry.resource_type,
                resource_name=entry.resource_name,
                pattern_type=entry.pattern_type,
                acls=[],
            )
            resources[key] = resource
        resource.acls.append(
            AclDescription(
                principal=entry.principal,
                host=entry.host,
                operation=entry.operation,
                permission_type=entry.permission,
            )
        )
    return list(resources.values())


def _matching(entry: AclEntry) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=entry.resource_type,
        resource_name=entry.resource_name,
        pattern_type=entry.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission,
    )
