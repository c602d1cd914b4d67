"""DescribeAcls, CreateAcls, DeleteAcls 1-3: there is no authorizer that has any."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests.registry import handles
from odradek.protocol.errors import SecurityDisabled
from odradek.protocol.messages.acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext

_REASON = "No Authorizer is configured."


@handles(DescribeAclsRequest, versions=(1, 3))
def handle_describe_acls(
    ctx: RequestContext, request: DescribeAclsRequest
) -> DescribeAclsResponse:
    """Say that there are none, as Apache Kafka does without an authorizer.

    Raises:
        SecurityDisabled: always.
    """
    raise SecurityDisabled("No Authorizer is configured on the broker")


@handles(CreateAclsRequest, versions=(1, 3))
def handle_create_acls(
    ctx: RequestContext, request: CreateAclsRequest
) -> CreateAclsResponse:
    """Refuse each: nobody would ask it."""
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_code=SecurityDisabled.code, error_message=_REASON)
            for _ in request.creations
        ]
    )


@handles(DeleteAclsRequest, versions=(1, 3))
def handle_delete_acls(
    ctx: RequestContext, request: DeleteAclsRequest
) -> DeleteAclsResponse:
    """Refuse each: there is nothing to match."""
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(
                error_code=SecurityDisabled.code, error_message=_REASON
            )
            for _ in request.filters
        ]
    )
