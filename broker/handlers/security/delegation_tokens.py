"""Delegation tokens (KIP-48): Create 1-3, Renew 1-2, Expire 1-2, Describe 1-3.

A token stands for a login: over a connection without one, or that was made with a token
itself, none is given. What changes is durable before it is answered; the secret of a
token, its hmac, is in the answers and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from odradek.broker.metadata.client_quotas import ANONYMOUS
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    DelegationTokenAuthDisabled,
    DelegationTokenRequestNotAllowed,
    ErrorCode,
    KafkaError,
)
from odradek.protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribedDelegationToken,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    TokenPrincipal,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from odradek.broker.metadata.delegation_token import DelegationToken
    from odradek.broker.metadata.delegation_tokens import DelegationTokens
    from odradek.broker.requests.context import RequestContext
    from odradek.protocol.schema import Response

    SendOn = Callable[[Any, Any], Awaitable[bytes]]
    _Request = (
        CreateDelegationTokenRequest
        | RenewDelegationTokenRequest
        | ExpireDelegationTokenRequest
    )

NO_TIME = -1
_USER = "User"


@handles(
    CreateDelegationTokenRequest,
    versions=(1, 3),
    needs=needs.inside(needs.user(Operation.CREATE_TOKENS)),
)
async def handle_create_delegation_token(
    ctx: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    """Make a token of who asks, or of an owner for whom it may (KIP-373)."""
    requester = ctx.connection.principal
    owner = _owner(ctx, request)
    response = _no_token(ctx, request)
    response.error_code = _why_no_token(ctx, request, owner)
    if response.error_code:
        return response
    try:
        tokens = _tokens(ctx)
        token = await tokens.create(
            owner,
            requester,
            tuple(map(_text, request.renewers)),
            request.max_lifetime_ms,
        )
    except KafkaError as error:
        response.error_code = error.code
        return response
    response.issue_timestamp_ms = token.issue_ms
    response.expiry_timestamp_ms = token.expiry_ms
    response.max_timestamp_ms = token.max_ms
    response.token_id = token.token_id
    response.hmac = tokens.hmac_of(token.token_id)
    return response


@handles(RenewDelegationTokenRequest, versions=(1, 2), needs=needs.NOTHING)
async def handle_renew_delegation_token(
    ctx: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    """Let a token hold for longer, if it is one's own or one is to renew it."""
    response = RenewDelegationTokenResponse(expiry_timestamp_ms=NO_TIME)
    try:
        _check_login(ctx)
        response.expiry_timestamp_ms = await _tokens(ctx).renew(
            request.hmac, ctx.connection.principal, request.renew_period_ms
        )
    except KafkaError as error:
        response.error_code = error.code
    return response


@handles(ExpireDelegationTokenRequest, versions=(1, 2), needs=needs.NOTHING)
async def handle_expire_delegation_token(
    ctx: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    """Let a token end sooner, or at once."""
    response = ExpireDelegationTokenResponse(expiry_timestamp_ms=NO_TIME)
    try:
        _check_login(ctx)
        response.expiry_timestamp_ms = await _tokens(ctx).expire(
            request.hmac, ctx.connection.principal, request.expiry_time_period_ms
        )
    except KafkaError as error:
        response.error_code = error.code
    return response


@handles(
    DescribeDelegationTokenRequest,
    versions=(1, 3),
    needs=needs.inside(
        needs.delegation_token(Operation.DESCRIBE),
        needs.user(Operation.DESCRIBE_TOKENS),
    ),
)
def handle_describe_delegation_token(
    ctx: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    """The tokens of some owners, or all, that who asks has to do with or may see.

    Raises:
        DelegationTokenRequestNotAllowed, DelegationTokenAuthDisabled
    """
    _check_login(ctx)
    tokens = _tokens(ctx)
    owners = None if request.owners is None else set(map(_text, request.owners))
    return DescribeDelegationTokenResponse(
        tokens=[
            _described(token, tokens.hmac_of(token.token_id))
            for token in tokens
            if (owners is None or any(map(token.concerns, owners)))
            and _sees(ctx, token)
        ]
    )


async def ask_for_tokens_in_cluster(
    ctx: RequestContext, request: _Request, send_on: SendOn
) -> Response | bytes:
    """Have the controllers answer. How the client has logged in they cannot see.

    They take it that the broker has looked, as Apache Kafka's brokers do.
    """
    try:
        _check_login(ctx)
    except DelegationTokenRequestNotAllowed as error:
        refused: Any = _no_answer(ctx, request)
        refused.error_code = error.code
        return cast("Response", refused)
    return await send_on(ctx, request)


def _no_answer(ctx: RequestContext, request: _Request) -> Response:
    if isinstance(request, CreateDelegationTokenRequest):
        return _no_token(ctx, request)
    if isinstance(request, RenewDelegationTokenRequest):
        return RenewDelegationTokenResponse(expiry_timestamp_ms=NO_TIME)
    return ExpireDelegationTokenResponse(expiry_timestamp_ms=NO_TIME)


def _no_token(
    ctx: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    owner_type, _, owner_name = _owner(ctx, request).partition(":")
    requester_type, _, requester_name = ctx.connection.principal.partition(":")
    return CreateDelegationTokenResponse(
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=requester_type,
        token_requester_principal_name=requester_name,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
    )


def _owner(ctx: RequestContext, request: CreateDelegationTokenRequest) -> str:
    if not request.owner_principal_name:
        return ctx.connection.principal
    return f"{request.owner_principal_type or ''}:{request.owner_principal_name}"


def _why_no_token(
    ctx: RequestContext, request: CreateDelegationTokenRequest, owner: str
) -> int:
    """The error of who may not have the token that it wants."""
    try:
        _check_login(ctx)
        if owner != ctx.connection.principal:
            ctx.require(Operation.CREATE_TOKENS, ResourceType.USER, owner)
    except KafkaError as error:
        return error.code
    types = [renewer.principal_type for renewer in request.renewers]
    if request.owner_principal_name and not request.owner_principal_type:
        types.append("")
    if any(each != _USER for each in types):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return ErrorCode.NONE


def _check_login(ctx: RequestContext) -> None:
    """See that a client has said who it is, and not by a token.

    Raises:
        DelegationTokenRequestNotAllowed: it has not.
    """
    connection = ctx.connection
    listeners = {each.name: each for each in ctx.services.config.client_listeners}
    listener = listeners.get(connection.listener_name)
    is_known = listener is not None and (
        listener.has_login or (listener.has_tls and connection.user != ANONYMOUS)
    )
    if connection.is_by_token or not is_known:
        raise DelegationTokenRequestNotAllowed


def _tokens(ctx: RequestContext) -> DelegationTokens:
    tokens = ctx.services.tokens
    if tokens is None:
        raise DelegationTokenAuthDisabled
    return tokens


def _sees(ctx: RequestContext, token: DelegationToken) -> bool:
    return (
        token.concerns(ctx.connection.principal)
        or ctx.sees(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id)
        or ctx.sees(Operation.DESCRIBE_TOKENS, ResourceType.USER, token.owner)
    )


def _described(token: DelegationToken, secret: bytes) -> DescribedDelegationToken:
    owner, requester = _principal(token.owner), _principal(token.requester)
    return DescribedDelegationToken(
        principal_type=owner.principal_type,
        principal_name=owner.principal_name,
        token_requester_principal_type=requester.principal_type,
        token_requester_principal_name=requester.principal_name,
        issue_timestamp=token.issue_ms,
        expiry_timestamp=token.expiry_ms,
        max_timestamp=token.max_ms,
        token_id=token.token_id,
        hmac=secret,
        renewers=list(map(_principal, token.renewers)),
    )


def _principal(text: str) -> TokenPrincipal:
    principal_type, _, name = text.partition(":")
    return TokenPrincipal(principal_type=principal_type, principal_name=name)


def _text(principal: TokenPrincipal) -> str:
    return f"{principal.principal_type}:{principal.principal_name}"
