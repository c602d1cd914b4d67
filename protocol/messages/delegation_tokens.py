"""Delegation tokens: to create, renew, expire and describe them (KIP-48)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    bytes_,
    int16,
    int32,
    int64,
    since,
    string,
)


class TokenPrincipal(Struct):
    """Somebody who owns a token, or may renew it."""

    principal_type: str = string()
    principal_name: str = string()


class CreateDelegationTokenRequest(
    Request, api_key=ApiKey.CREATE_DELEGATION_TOKEN, versions=(1, 3), flexible=2
):
    """Make a token; from version 3 on for somebody else."""

    owner_principal_type: str | None = string(versions=since(3), nullable=since(3))
    owner_principal_name: str | None = string(versions=since(3), nullable=since(3))
    renewers: list[TokenPrincipal] = array()
    max_lifetime_ms: int = int64()


class CreateDelegationTokenResponse(
    Response, api_key=ApiKey.CREATE_DELEGATION_TOKEN, versions=(1, 3), flexible=2
):
    """The token."""

    error_code: int = int16()
    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string(versions=since(3))
    token_requester_principal_name: str = string(versions=since(3))
    issue_timestamp_ms: int = int64()
    expiry_timestamp_ms: int = int64()
    max_timestamp_ms: int = int64()
    token_id: str = string()
    hmac: bytes = bytes_()
    throttle_time_ms: int = int32()


class RenewDelegationTokenRequest(
    Request, api_key=ApiKey.RENEW_DELEGATION_TOKEN, versions=(1, 2), flexible=2
):
    """Let a token hold for longer."""

    hmac: bytes = bytes_()
    renew_period_ms: int = int64()


class RenewDelegationTokenResponse(
    Response, api_key=ApiKey.RENEW_DELEGATION_TOKEN, versions=(1, 2), flexible=2
):
    """Until when."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()


class ExpireDelegationTokenRequest(
    Request, api_key=ApiKey.EXPIRE_DELEGATION_TOKEN, versions=(1, 2), flexible=2
):
    """Let a token hold for less long."""

    hmac: bytes = bytes_()
    expiry_time_period_ms: int = int64()


class ExpireDelegationTokenResponse(
    Response, api_key=ApiKey.EXPIRE_DELEGATION_TOKEN, versions=(1, 2), flexible=2
):
    """Until when."""

    error_code: int = int16()
    expiry_timestamp_ms: int = int64()
    throttle_time_ms: int = int32()


class DescribeDelegationTokenRequest(
    Request, api_key=ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(1, 3), flexible=2
):
    """Show the tokens of these owners; null means all."""

    owners: list[TokenPrincipal] | None = array(nullable=True)


class DescribedDelegationToken(Struct):
    """A token."""

    principal_type: str = string()
    principal_name: str = string()
    token_requester_principal_type: str = string(versions=since(3))
    token_requester_principal_name: str = string(versions=since(3))
    issue_timestamp: int = int64()
    expiry_timestamp: int = int64()
    max_timestamp: int = int64()
    token_id: str = string()
    hmac: bytes = bytes_()
    renewers: list[TokenPrincipal] = array()


class DescribeDelegationTokenResponse(
    Response, api_key=ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(1, 3), flexible=2
):
    """The tokens."""

    error_code: int = int16()
    tokens: list[DescribedDelegationToken] = array()
    throttle_time_ms: int = int32()
