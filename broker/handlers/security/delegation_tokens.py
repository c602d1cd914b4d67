"""Delegation tokens: Create 1-3, Renew 1-2, Expire 1-2, Describe 1-3, all refused.

A token stands for a login, and over a connection without one there is nothing that
it could stand for: Apache Kafka answers the same on its listeners without SASL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext

NO_TIME = -1
_REFUSED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
_USER, _NOBODY = "User", "ANONYMOUS"


@handles(CreateDelegationTokenRequest, versions=(1, 3), needs=needs.NOTHING)
def handle_create_delegation_token(
    ctx: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    """Make none."""
    return CreateDelegationTokenResponse(
        error_code=_REFUSED,
        principal_type=_USER,
        principal_name=_NOBODY,
        token_requester_principal_type=_USER,
        token_requester_principal_name=_NOBODY,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )


@handles(RenewDelegationTokenRequest, versions=(1, 2), needs=needs.NOTHING)
def handle_renew_delegation_token(
    ctx: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    """There is none."""
    return RenewDelegationTokenResponse(
        error_code=_REFUSED, expiry_timestamp_ms=NO_TIME
    )


@handles(ExpireDelegationTokenRequest, versions=(1, 2), needs=needs.NOTHING)
def handle_expire_delegation_token(
    ctx: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    """There is none."""
    return ExpireDelegationTokenResponse(
        error_code=_REFUSED, expiry_timestamp_ms=NO_TIME
    )


@handles(DescribeDelegationTokenRequest, versions=(1, 3), needs=needs.NOTHING)
def handle_describe_delegation_token(
    ctx: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    """There is none."""
    return DescribeDelegationTokenResponse(error_code=_REFUSED)
