"""What a token has to say before it is believed whose it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.security.login.mechanism import USER, Identity

from .token import TokenRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    Claims = Mapping[str, Any]

USER_LENGTH_MAX = 1024
_MS_MAX = 1 << 53


class ClaimRules(NamedTuple):
    """What is expected. Empty audiences or issuer: anybody's; scopes: all of them."""

    audiences: frozenset[str] = frozenset()
    issuer: str = ""
    skew_ms: int = 30_000
    user_claim: str = "sub"
    scope_claim: str = "scope"
    scopes: frozenset[str] = frozenset()


def identity_of(claims: Claims, rules: ClaimRules, now_ms: int) -> Identity:
    """Whose token it is, and until when it is good: its own time, and the skew.

    Raises:
        TokenRefused: something is missing, not as expected, or not now.
    """
    expires_ms = _time_ms(claims, "exp")
    issued_ms = _time_ms(claims, "iat")
    if now_ms >= expires_ms + rules.skew_ms:
        raise TokenRefused("it has expired")
    if issued_ms - rules.skew_ms > now_ms:
        raise TokenRefused("it is from the future (iat)")
    if "nbf" in claims and _time_ms(claims, "nbf") - rules.skew_ms > now_ms:
        raise TokenRefused("it is not good yet (nbf)")
    _check_issuer(claims, rules)
    _check_scopes(claims, rules)
    user = user_of(claims, rules)
    if not user:
        raise TokenRefused(f"its claim {rules.user_claim} names no user")
    return Identity(USER + user, expires_ms + rules.skew_ms)


def user_of(claims: Claims, rules: ClaimRules) -> str:
    """Whom the token names; empty where that is nobody."""
    user = claims.get(rules.user_claim)
    if not isinstance(user, str) or not 0 < len(user) <= USER_LENGTH_MAX:
        return ""
    try:
        user.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return ""
    return user


def _time_ms(claims: Claims, name: str) -> int:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRefused(f"its claim {name} is no time")
    if not math.isfinite(value) or abs(value) > _MS_MAX / 1000:
        raise TokenRefused(f"its claim {name} is no time")
    return int(value * 1000)


def _check_issuer(claims: Claims, rules: ClaimRules) -> None:
    if rules.issuer and claims.get("iss") != rules.issuer:
        raise TokenRefused("somebody else has issued it (iss)")
    if not rules.audiences:
        return
    if rules.audiences.isdisjoint(_names(claims.get("aud"), "aud")):
        raise TokenRefused("it is for somebody else (aud)")


def _check_scopes(claims: Claims, rules: ClaimRules) -> None:
    found = claims.get(rules.scope_claim)
    if isinstance(found, str):
        found = found.split()
    if not rules.scopes <= frozenset(_names(found, rules.scope_claim)):
        raise TokenRefused(f"it lacks a scope ({rules.scope_claim})")


def _names(value: Any, claim: str) -> list[str]:
    """A name, or a list of them."""
    names = [value] if isinstance(value, str) else value
    if names is None:
        return []
    if isinstance(names, list) and all(isinstance(each, str) for each in names):
        return names
    raise TokenRefused(f"its claim {claim} is neither a name nor a list of names")
