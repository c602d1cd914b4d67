"""Tokens that are good, and what strangers make up (the attacks on OAUTHBEARER)."""

from collections.abc import Coroutine
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import get_default_algorithms

from odradek.broker.security.login.mechanism import Identity
from odradek.broker.security.oauth.checks import SignedTokens, UnsecuredTokens
from odradek.broker.security.oauth.claims import ClaimRules
from odradek.broker.security.oauth.key_source import FetchTimes, KeySource
from odradek.broker.security.oauth.token import TokenRefused
from tests.fakes.clock import FakeClock
from tests.fakes.issuer import (
    KINDS,
    NOW_S,
    by_secret,
    claims,
    encoded,
    jwk,
    jwks,
    private_key,
    token,
    unsecured,
)

RULES = ClaimRules(frozenset({"kafka"}), "https://issuer.test")


class Checker:
    """Knows a key of each kind; ``fetch_count`` is how often they were fetched."""

    def __init__(self, *more: dict[str, Any]) -> None:
        self.keys = [*map(jwk, KINDS), *more]
        self.fetch_count = 0
        clock = FakeClock()

        def fetch() -> bytes:
            self.fetch_count += 1
            return jwks(*self.keys)

        source = KeySource(
            fetch,
            FetchTimes(60_000, 100, 1_000),
            clock,
            lambda job, on_done: on_done(job(), None),
        )
        source.load()
        self.tokens = SignedTokens(source, RULES, clock)

    async def check(self, text: str) -> Identity:
        found = self.tokens.check(text)
        return await found if isinstance(found, Coroutine) else found


@pytest.mark.parametrize("algorithm", KINDS)
async def test_what_a_known_key_has_signed_is_good(algorithm: str) -> None:
    checker = Checker()
    text = token(algorithm)
    assert checker.tokens.claimed(text) == "alice"
    assert (await checker.check(text)).principal == "User:alice"
    assert checker.fetch_count == 1


async def test_a_new_key_is_fetched_when_a_token_names_it() -> None:
    """S017"""
    checker = Checker()
    checker.keys.append(jwk("ES256", "new"))
    assert (await checker.check(token("ES256", "new"))).principal == "User:alice"
    assert checker.fetch_count == 2


def signed(**header: Any) -> str:
    """A token with a good signature, and more in its header than PyJWT would write."""
    algorithm: Any = get_default_algorithms()["RS256"]
    text = ".".join(
        map(encoded, ({"alg": "RS256", "kid": "RS256", **header}, claims()))
    )
    return f"{text}.{encoded(algorithm.sign(text.encode(), private_key('RS256')))}"


def public_forms() -> list[bytes]:
    """What everybody knows of a key, as somebody may have written it down."""
    public = private_key("RS256").public_key()
    return [
        public.public_bytes(encoding, form)
        for encoding in (Encoding.PEM, Encoding.DER)
        for form in (PublicFormat.SubjectPublicKeyInfo, PublicFormat.PKCS1)
    ] + [b"", jwks(jwk("RS256"))]


def attacks() -> dict[str, str]:
    good = token("RS256")
    head, body, signature = good.split(".")
    mine = jwk("ES256", "mine")
    deep = encoded(b'{"a":' * 2500)
    twice = encoded(b'{"sub":"alice","sub":"root"}')
    root = encoded(claims(sub="root"))
    found = {
        "none": unsecured(),
        "None": f"{encoded({'alg': 'None'})}.{root}.",
        "no algorithm": f"{encoded({'kid': 'RS256'})}.{root}.{signature}",
        "algorithms": f"{encoded({'alg': ['RS256'], 'kid': 'RS256'})}.{root}.",
        "no signature": f"{head}.{body}.",
        "other claims": f"{head}.{root}.{signature}",
        "other key": token("RS256", "mine", {"kid": "RS256"}),
        "other kind": token("ES256", headers={"kid": "RS256"}),
        "another's id": token("ES256", "mine", {"kid": "ES256"}),
        "no key id": token("ES256", "mine", {}),
        "kid as path": token("ES256", "mine", {"kid": "../../etc/passwd"}),
        "kid as query": token("ES256", "mine", {"kid": "' OR 1=1 --"}),
        "kid no text": token("ES256", "mine", {}).replace(
            token("ES256", "mine", {}).split(".")[0],
            encoded({"alg": "ES256", "kid": ["ES256"]}),
        ),
        "jwk": token("ES256", "mine", {"jwk": mine, "kid": "mine"}),
        "jku": token("ES256", "mine", {"jku": "https://evil.test", "kid": "mine"}),
        "x5u": token("ES256", "mine", {"x5u": "https://evil.test", "kid": "mine"}),
        "x5c": token("ES256", "mine", {"x5c": ["MIIB"], "kid": "mine"}),
        "crit": signed(crit=["exp"]),
        "b64": signed(b64=True),
        "expired": token("RS256", exp=NOW_S - 60),
        "later": token("RS256", nbf=NOW_S + 60),
        "for others": token("RS256", aud="mail"),
        "of others": token("RS256", iss="https://evil.test"),
        "60 KB": token("RS256", more="x" * 60_000),
        "deep": f"{head}.{deep}.{signature}",
        "twice": f"{head}.{twice}.{signature}",
    }
    for number, secret in enumerate(public_forms()):
        found[f"HS256 {number}"] = by_secret(secret, kid="RS256")
        found[f"as RS256 {number}"] = by_secret(secret, kid="RS256", alg="RS256")
    return found


async def test_attacks_are_refused_and_nothing_is_fetched_for_them_but_once() -> None:
    """A08"""
    checker = Checker()
    made = attacks()
    for name, text in made.items():
        refusal = ""
        try:
            await checker.check(text)
        except TokenRefused as error:
            refusal = str(error)
        assert 0 < len(refusal) < 100, name
    # For keys that are not there; not again for ten seconds.
    assert checker.fetch_count == 2
    for good in (token("RS256"), signed(), signed(jku="https://evil.test")):
        assert (await checker.check(good)).principal == "User:alice"


async def test_what_has_expired_has_no_keys_fetched() -> None:
    checker = Checker()
    with pytest.raises(TokenRefused, match="expired"):
        await checker.check(token("ES256", "unknown", exp=NOW_S - 60))
    assert checker.fetch_count == 1


def test_unsecured_tokens_are_good_where_no_keys_are_known() -> None:
    checker = UnsecuredTokens(RULES, FakeClock())
    text = unsecured(sub="bob")
    assert checker.claimed(text) == "bob"
    assert checker.check(text).principal == "User:bob"
    for wrong in (token("ES256"), f"{text}AAAA", unsecured(aud="x"), "nonsense"):
        with pytest.raises(TokenRefused):
            checker.check(wrong)
    assert checker.claimed("nonsense") == ""
