"""Who issues tokens for OAUTHBEARER: keys of every kind, and what they have signed."""

import hmac
import json
from base64 import urlsafe_b64encode
from functools import cache
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

NOW_S = 1_700_000_000  # as the fake clock begins
KINDS = ("RS256", "PS384", "ES256", "ES384", "ES512", "EdDSA")


def private_key(algorithm: str, name: str = "") -> Any:
    """The same for the same name: to make one takes a while."""
    return _private_key(algorithm, name)


@cache
def _private_key(algorithm: str, _: str) -> Any:
    if algorithm[:2] in ("RS", "PS"):
        return rsa.generate_private_key(65537, 2048)
    curves = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
    if algorithm in curves:
        return ec.generate_private_key(curves[algorithm]())
    return ed25519.Ed25519PrivateKey.generate()


def jwk(algorithm: str, name: str = "", **more: Any) -> dict[str, Any]:
    """The public key, as JSON."""
    public = private_key(algorithm, name).public_key()
    found: Any = get_default_algorithms()[algorithm]
    return {**found.to_jwk(public, as_dict=True), "kid": name or algorithm, **more}


def jwks(*keys: dict[str, Any]) -> bytes:
    return json.dumps({"keys": list(keys)}).encode()


def claims(**more: Any) -> dict[str, Any]:
    """Those of a good token of alice; None takes one away."""
    usual = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 600, "aud": "kafka"}
    found = {**usual, "iss": "https://issuer.test", **more}
    return {name: value for name, value in found.items() if value is not None}


def token(
    algorithm: str = "ES256",
    name: str = "",
    headers: dict[str, Any] | None = None,
    **more: Any,
) -> str:
    headers = {"kid": name or algorithm} if headers is None else headers
    key = private_key(algorithm, name)
    return jwt.encode(claims(**more), key, algorithm, headers=headers)


def unsecured(**more: Any) -> str:
    return jwt.encode(claims(**more), None, "none")


def encoded(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def by_secret(secret: bytes, **header: Any) -> str:
    """A token signed with a secret that both sides would know."""
    head = {"alg": "HS256", "typ": "JWT", **header}
    signed = f"{encoded(head)}.{encoded(claims())}"
    return f"{signed}.{encoded(hmac.digest(secret, signed.encode(), 'sha256'))}"
