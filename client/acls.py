"""Access control lists of a cluster: entries described, created and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.protocol.acl_entries import AclEntry, AclFilter
from odradek.protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)

from .errors import raise_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cluster import Cluster

_ALL = AclFilter()


def describe_acls(cluster: Cluster, wanted: AclFilter = _ALL) -> list[AclEntry]:
    """The entries that are meant, in order.

    Raises:
        SecurityDisabled: the cluster has no authorizer.
        ClusterAuthorizationFailed: it does not say.
    """
    request = DescribeAclsRequest(
        resource_type_filter=wanted.resource_type,
        resource_name_filter=wanted.resource_name,
        pattern_type_filter=wanted.pattern_type,
        principal_filter=wanted.principal,
        host_filter=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission,
    )
    answer = cluster.request(request, DescribeAclsResponse)
    raise_for(answer.error_code, answer.error_message)
    return sorted(
        AclEntry(
            each.resource_type,
            each.resource_name,
            each.pattern_type,
            entry.principal,
            entry.host,
            entry.operation,
            entry.permission_type,
        )
        for each in answer.resources
        for entry in each.acls
    )


def create_acls(cluster: Cluster, entries: Sequence[AclEntry]) -> None:
    """Create entries; those that are there already stay.

    Raises:
        InvalidRequest, SecurityDisabled, ClusterAuthorizationFailed: one of them is
            refused; the others are created all the same.
    """
    creations = [
        AclCreation(
            resource_type=each.resource_type,
            resource_name=each.resource_name,
            resource_pattern_type=each.pattern_type,
            principal=each.principal,
            host=each.host,
            operation=each.operation,
            permission_type=each.permission,
        )
        for each in entries
    ]
    request = CreateAclsRequest(creations=creations)
    for result in cluster.request(request, CreateAclsResponse).results:
        raise_for(result.error_code, result.error_message)


def delete_acls(cluster: Cluster, filters: Sequence[AclFilter]) -> list[AclEntry]:
    """Delete what is meant; returns what that was, each entry once.

    Raises:
        InvalidRequest, SecurityDisabled, ClusterAuthorizationFailed: a filter is
            refused; the others have done their work all the same.
    """
    request = DeleteAclsRequest(
        filters=[
            DeleteAclsFilter(
                resource_type_filter=each.resource_type,
                resource_name_filter=each.resource_name,
                pattern_type_filter=each.pattern_type,
                principal_filter=each.principal,
                host_filter=each.host,
                operation=each.operation,
                permission_type=each.permission,
            )
            for each in filters
        ]
    )
    gone: dict[AclEntry, None] = {}
    for result in cluster.request(request, DeleteAclsResponse).filter_results:
        raise_for(result.error_code, result.error_message)
        for each in result.matching_acls:
            raise_for(each.error_code, each.error_message)
            entry = AclEntry(
                each.resource_type,
                each.resource_name,
                each.pattern_type,
                each.principal,
                each.host,
                each.operation,
                each.permission_type,
            )
            gone[entry] = None
    return list(gone)
