"""Access control lists: to show, to create and to delete entries."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    string,
)

LITERAL = 3


class DescribeAclsRequest(
    Request, api_key=ApiKey.DESCRIBE_ACLS, versions=(1, 3), flexible=2
):
    """Show the entries that match."""

    resource_type_filter: int = int8()
    resource_name_filter: str | None = string(nullable=True)
    pattern_type_filter: int = int8(default=LITERAL)
    principal_filter: str | None = string(nullable=True)
    host_filter: str | None = string(nullable=True)
    operation: int = int8()
    permission_type: int = int8()


class AclDescription(Struct):
    """Who may do what from where, or may not."""

    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class DescribeAclsResource(Struct):
    """The entries of one resource, or of those whose names begin so."""

    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8(default=LITERAL)
    acls: list[AclDescription] = array()


class DescribeAclsResponse(
    Response, api_key=ApiKey.DESCRIBE_ACLS, versions=(1, 3), flexible=2
):
    """The entries."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    resources: list[DescribeAclsResource] = array()


class AclCreation(Struct):
    """An entry to create."""

    resource_type: int = int8()
    resource_name: str = string()
    resource_pattern_type: int = int8(default=LITERAL)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class CreateAclsRequest(
    Request, api_key=ApiKey.CREATE_ACLS, versions=(1, 3), flexible=2
):
    """Create entries."""

    creations: list[AclCreation] = array()


class AclCreationResult(Struct):
    """Whether one was created."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class CreateAclsResponse(
    Response, api_key=ApiKey.CREATE_ACLS, versions=(1, 3), flexible=2
):
    """One answer for each entry."""

    throttle_time_ms: int = int32()
    results: list[AclCreationResult] = array()


class DeleteAclsFilter(Struct):
    """What entries to delete must match."""

    resource_type_filter: int = int8()
    resource_name_filter: str | None = string(nullable=True)
    pattern_type_filter: int = int8(default=LITERAL)
    principal_filter: str | None = string(nullable=True)
    host_filter: str | None = string(nullable=True)
    operation: int = int8()
    permission_type: int = int8()


class DeleteAclsRequest(
    Request, api_key=ApiKey.DELETE_ACLS, versions=(1, 3), flexible=2
):
    """Delete entries."""

    filters: list[DeleteAclsFilter] = array()


class DeleteAclsMatchingAcl(Struct):
    """An entry that matched, and whether it was deleted."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8(default=LITERAL)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


class DeleteAclsFilterResult(Struct):
    """What matched one filter."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    matching_acls: list[DeleteAclsMatchingAcl] = array()


class DeleteAclsResponse(
    Response, api_key=ApiKey.DELETE_ACLS, versions=(1, 3), flexible=2
):
    """One answer for each filter."""

    throttle_time_ms: int = int32()
    filter_results: list[DeleteAclsFilterResult] = array()
