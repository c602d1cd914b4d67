"""Delegation tokens (KIP-48): made, renewed, ended and shown.

What a token logs in with, its hmac, is a `Secret` here: nobody prints it by mistake.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    TokenPrincipal,
)

from .errors import raise_for
from .security.settings import Secret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cluster import Cluster

    # A type and a name, like ("User", "alice").
    Principal = tuple[str, str]

AS_LONG_AS_POSSIBLE = -1
AT_ONCE = -1


class Token(NamedTuple):
    """A token; principals are written ``User:alice``, the hmac is in base64."""

    token_id: str
    owner: str
    requester: str
    renewers: list[str]
    issue_ms: int
    expiry_ms: int
    max_ms: int
    hmac: Secret


def create_token(
    cluster: Cluster,
    owner: Principal | None = None,
    renewers: Sequence[Principal] = (),
    max_lifetime_ms: int = AS_LONG_AS_POSSIBLE,
) -> Token:
    """A new token of who asks, or of an owner.

    Raises:
        KafkaError: the broker makes none.
    """
    request = CreateDelegationTokenRequest(
        owner_principal_type=owner and owner[0],
        owner_principal_name=owner and owner[1],
        renewers=[_principal(each) for each in renewers],
        max_lifetime_ms=max_lifetime_ms,
    )
    made = cluster.request(request, CreateDelegationTokenResponse)
    raise_for(made.error_code)
    return Token(
        made.token_id,
        f"{made.principal_type}:{made.principal_name}",
        f"{made.token_requester_principal_type}:{made.token_requester_principal_name}",
        [f"{kind}:{name}" for kind, name in renewers],
        made.issue_timestamp_ms,
        made.expiry_timestamp_ms,
        made.max_timestamp_ms,
        _secret(made.hmac),
    )


def describe_tokens(
    cluster: Cluster, owners: Sequence[Principal] | None = None
) -> list[Token]:
    """The tokens that we may see, of these owners or of all.

    Raises:
        KafkaError: the broker does not say.
    """
    wanted = None if owners is None else [_principal(each) for each in owners]
    request = DescribeDelegationTokenRequest(owners=wanted)
    answer = cluster.request(request, DescribeDelegationTokenResponse)
    raise_for(answer.error_code)
    return [
        Token(
            each.token_id,
            f"{each.principal_type}:{each.principal_name}",
            f"{each.token_requester_principal_type}"
            f":{each.token_requester_principal_name}",
            [f"{x.principal_type}:{x.principal_name}" for x in each.renewers],
            each.issue_timestamp,
            each.expiry_timestamp,
            each.max_timestamp,
            _secret(each.hmac),
        )
        for each in answer.tokens
    ]


def renew_token(cluster: Cluster, hmac: Secret, period_ms: int) -> int:
    """Let a token hold for longer; until when it does.

    Raises:
        KafkaError: the broker does not let it.
    """
    request = RenewDelegationTokenRequest(
        hmac=b64decode(hmac.value), renew_period_ms=period_ms
    )
    answer = cluster.request(request, RenewDelegationTokenResponse)
    raise_for(answer.error_code)
    return answer.expiry_timestamp_ms


def expire_token(cluster: Cluster, hmac: Secret, period_ms: int = AT_ONCE) -> int:
    """Let a token hold for so long and no longer; until when it does.

    Raises:
        KafkaError: the broker does not let it.
    """
    request = ExpireDelegationTokenRequest(
        hmac=b64decode(hmac.value), expiry_time_period_ms=period_ms
    )
    answer = cluster.request(request, ExpireDelegationTokenResponse)
    raise_for(answer.error_code)
    return answer.expiry_timestamp_ms


def _principal(principal: Principal) -> TokenPrincipal:
    kind, name = principal
    return TokenPrincipal(principal_type=kind, principal_name=name)


def _secret(hmac: bytes) -> Secret:
    return Secret(b64encode(bytes(hmac)).decode())
