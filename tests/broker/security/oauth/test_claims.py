from typing import Any

import pytest

from odradek.broker.security.oauth.claims import (
    USER_LENGTH_MAX,
    ClaimRules,
    identity_of,
    user_of,
)
from odradek.broker.security.oauth.token import TokenRefused
from tests.fakes.issuer import NOW_S, claims

NOW_MS = NOW_S * 1000
RULES = ClaimRules(frozenset({"kafka", "other"}), "https://issuer.test")


def test_a_good_token_names_its_user_and_its_end() -> None:
    identity = identity_of(claims(), RULES, NOW_MS)
    assert identity.principal == "User:alice"
    # As long as it is taken: its own time, and how much clocks may differ.
    assert identity.expires_ms == NOW_MS + 600_000 + 30_000
    assert not identity.is_by_token


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"exp": None}, "exp is no time"),
        ({"exp": "9999999999"}, "exp is no time"),
        ({"exp": True}, "exp is no time"),
        ({"exp": 1e300}, "exp is no time"),
        ({"exp": float("inf")}, "exp is no time"),
        ({"exp": NOW_S - 30}, "expired"),
        ({"iat": None}, "iat is no time"),
        ({"iat": NOW_S + 31}, "future"),
        ({"nbf": NOW_S + 31}, "not good yet"),
        ({"nbf": "x"}, "nbf is no time"),
        ({"sub": None}, "names no user"),
        ({"sub": ""}, "names no user"),
        ({"sub": 7}, "names no user"),
        ({"sub": ["alice"]}, "names no user"),
        ({"sub": "\ud800"}, "names no user"),
        ({"sub": "x" * (USER_LENGTH_MAX + 1)}, "names no user"),
        ({"aud": None}, "somebody else"),
        ({"aud": "kafka2"}, "somebody else"),
        ({"aud": ["x", "y"]}, "somebody else"),
        ({"aud": {"kafka": 1}}, "neither a name nor"),
        ({"iss": None}, "issued"),
        ({"iss": ["https://issuer.test"]}, "issued"),
        ({"iss": "https://issuer.test/"}, "issued"),
        ({"scope": 7}, "neither a name nor"),
        ({"scope": [7]}, "neither a name nor"),
    ],
    ids=range(25),
)
def test_what_is_not_as_expected_is_refused(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(TokenRefused, match=why):
        identity_of(claims(**changed), RULES, NOW_MS)


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": NOW_S - 29},
        {"iat": NOW_S + 30},
        {"nbf": NOW_S + 30},
        {"exp": NOW_S + 0.5},
        {"aud": ["x", "other"]},
        {"scope": "read write"},
        {"scope": ["read"]},
        {"scope": ""},
    ],
)
def test_what_is_just_so_is_good(changed: dict[str, Any]) -> None:
    identity_of(claims(**changed), RULES, NOW_MS)


def test_without_expectations_anybody_may_have_issued_it_for_anybody() -> None:
    identity_of(claims(aud=None, iss=None), ClaimRules(), NOW_MS)
    identity_of(claims(aud={"what": "ever"}), ClaimRules(), NOW_MS)


def test_the_claim_of_the_user_and_of_the_scopes_have_other_names() -> None:
    rules = ClaimRules(
        user_claim="upn", scope_claim="scp", scopes=frozenset({"a", "b"})
    )
    wanted = claims(upn="bob", scp="a b c", scope=7)
    assert identity_of(wanted, rules, NOW_MS).principal == "User:bob"
    for scp in ("a", ["a"], None):
        with pytest.raises(TokenRefused, match="lacks a scope"):
            identity_of(claims(upn="bob", scp=scp), rules, NOW_MS)
    assert user_of({"sub": "alice"}, rules) == ""
