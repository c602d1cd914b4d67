import json
from typing import Any

import pytest

from odradek.broker.security.oauth.jwks import (
    ALGORITHMS,
    KEYS_MAX,
    BadKeys,
    read_keys,
)
from tests.fakes.issuer import KINDS, jwk, jwks, private_key, token

RSA_ALGORITHMS = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}


@pytest.mark.parametrize("algorithm", KINDS)
def test_a_key_knows_what_it_has_signed(algorithm: str) -> None:
    key = read_keys(jwks(jwk(algorithm))).key_for(algorithm, algorithm)
    assert key is not None
    signed, _, signature = token(algorithm).rpartition(".")
    from jwt.utils import base64url_decode

    raw = base64url_decode(signature)
    assert key.has_signed(algorithm, signed.encode(), raw)
    assert not key.has_signed(algorithm, signed.encode() + b"x", raw)
    assert not key.has_signed(algorithm, signed.encode(), b"")


@pytest.mark.parametrize(
    ("kind", "changed", "algorithms"),
    [
        ("RS256", {}, RSA_ALGORITHMS),
        ("RS256", {"alg": "PS256"}, {"PS256"}),
        ("RS256", {"alg": None}, set()),
        ("ES256", {"alg": "ES256"}, {"ES256"}),
        ("ES384", {"alg": "ES256"}, set()),
        ("ES384", {}, {"ES384"}),
        ("ES512", {}, {"ES512"}),
        ("EdDSA", {}, {"EdDSA"}),
        ("ES256", {"use": "enc"}, set()),
        ("ES256", {"key_ops": ["sign"]}, set()),
        ("ES256", {"key_ops": "verify"}, set()),
        ("ES256", {"kty": "OKP"}, set()),
        ("ES256", {"kty": "oct", "k": "c2VjcmV0"}, set()),
        ("ES256", {"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}, set()),
    ],
)
def test_a_key_is_for_what_fits_it(
    kind: str, changed: dict[str, Any], algorithms: set[str]
) -> None:
    found = read_keys(jwks({**jwk(kind), **changed}, jwk("RS256", "other")))
    assert {each for each in ALGORITHMS if found.key_for(kind, each)} == algorithms


def test_neither_none_nor_a_shared_secret_is_an_algorithm() -> None:
    assert RSA_ALGORITHMS < ALGORITHMS
    assert not {each for each in ALGORITHMS if each[:2] in ("HS", "no")}


def test_a_token_without_a_key_id_means_the_only_key_that_fits() -> None:
    found = read_keys(jwks(jwk("RS256"), jwk("ES256")))
    assert found.key_for("", "RS256") is found.key_for("RS256", "RS256")
    assert found.key_for("ES256", "RS256") is None
    several = read_keys(jwks(jwk("ES256"), jwk("ES256", "other")))
    assert several.key_for("", "ES256") is None


@pytest.mark.parametrize("bits", [1024, 9000])
def test_keys_that_are_too_short_or_too_long_are_passed_over(bits: int) -> None:
    short = {**jwk("RS256"), "kid": "x", "n": "A" + "_" * (bits // 6)}
    with pytest.raises(BadKeys, match="no key"):
        read_keys(jwks(short))


def test_private_parts_are_not_read() -> None:
    from jwt.algorithms import RSAAlgorithm

    private: Any = RSAAlgorithm.to_jwk(private_key("RS256"), as_dict=True)
    key = read_keys(jwks({**private, "kid": "x", "key_ops": ["verify"]}))
    found = key.key_for("x", "RS256")
    assert found is not None
    assert not hasattr(found.key, "sign")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"7",
        b"{}",
        b"\xff",
        b'{"keys": {}}',
        b'{"keys": [7, null, {"kty": "RSA"}, {"kty": "EC", "crv": "P-256"}]}',
        b'{"keys": [{"kty": "RSA", "n": 7, "e": []}]}',
        b'{"keys": [{"kty": ["RSA"]}]}',
        b'{"keys": [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}]}',
        b"[" * 100_000,
        b'{"keys": [%b]}' % b", ".join([b"{}"] * (KEYS_MAX + 1)),
    ],
    ids=range(12),
)
def test_what_has_no_keys_is_refused(data: bytes) -> None:
    with pytest.raises(BadKeys):
        read_keys(data)


def test_other_keys_are_passed_over() -> None:
    found = read_keys(jwks({"kty": "new"}, jwk("ES256"), {"kid": "x"}))
    assert len(found) == 1


def test_a_point_that_is_not_on_the_curve_is_no_key() -> None:
    wrong = jwk("ES256")
    wrong["y"] = wrong["x"]
    with pytest.raises(BadKeys):
        read_keys(json.dumps({"keys": [wrong]}).encode())
