"""Public keys by which tokens are checked, as JSON (RFC 7517), by PyJWT.

A key is for the algorithms of its type and of its curve, and for fewer where it says
so: a token cannot have it used for another. There is neither ``none`` nor anything with
a secret that both sides know (HS256).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KEYS_MAX = 200
RSA_BITS_MIN, RSA_BITS_MAX = 2048, 8192
_RSA = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"})
_CURVES: Final = {
    "P-256": frozenset({"ES256"}),
    "P-384": frozenset({"ES384"}),
    "P-521": frozenset({"ES512"}),
    "Ed25519": frozenset({"EdDSA"}),
    "Ed448": frozenset({"EdDSA"}),
}
ALGORITHMS: Final = frozenset(_RSA.union(*_CURVES.values()))
# Of a key nothing else is read: no private part, no certificate, no address.
_PUBLIC = ("kty", "crv", "n", "e", "x", "y")


class BadKeys(Exception):
    """There are no keys in it; says why."""


class PublicKey(NamedTuple):
    """One key, and what it may be used for. ``key_id`` is empty if it has none."""

    key_id: str
    algorithms: frozenset[str]
    key: Any

    def has_signed(self, algorithm: str, message: bytes, signature: bytes) -> bool:
        """Whether the signature is that of the message by this key."""
        from jwt.algorithms import get_default_algorithms

        return get_default_algorithms()[algorithm].verify(message, self.key, signature)


class KeySet:
    """Keys, by their ids."""

    def __init__(self, keys: tuple[PublicKey, ...] = ()) -> None:
        self._keys = keys

    def __len__(self) -> int:
        """How many there are."""
        return len(self._keys)

    def key_for(self, key_id: str, algorithm: str) -> PublicKey | None:
        """The key that a token names. One that names none may mean the only one."""
        fitting = [
            key
            for key in self._keys
            if algorithm in key.algorithms and key_id in ("", key.key_id)
        ]
        return fitting[0] if len(fitting) == 1 or (fitting and key_id) else None


def read_keys(data: bytes) -> KeySet:
    """The keys that can be used; others are passed over.

    Raises:
        BadKeys: there are none, or it is no such document.
    """
    try:
        found = json.loads(data)
        keys = found["keys"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise BadKeys('it is no JSON like {"keys": [...]}') from None
    if not isinstance(keys, list) or len(keys) > KEYS_MAX:
        raise BadKeys(f"its keys are no list, or more than {KEYS_MAX}")
    usable = tuple(_usable(keys))
    if not usable:
        raise BadKeys("it has no key that tokens can be checked with")
    return KeySet(usable)


def _usable(keys: list[Any]) -> Iterator[PublicKey]:
    for each in keys:
        if not isinstance(each, dict):
            continue
        algorithms = _algorithms(each)
        key = _loaded(each) if algorithms else None
        if key is not None:
            key_id = each.get("kid", "")
            yield PublicKey(str(key_id), algorithms, key)


def _algorithms(key: Mapping[str, Any]) -> frozenset[str]:
    """What a key is for; nothing, if it is not for signatures."""
    operations = key.get("key_ops", ["verify"])
    is_for_checks = isinstance(operations, list) and "verify" in operations
    if key.get("use", "sig") != "sig" or not is_for_checks:
        return frozenset()
    kind, curve = key.get("kty"), str(key.get("crv"))
    algorithms: frozenset[str] = frozenset()
    if kind == "RSA":
        algorithms = _RSA
    elif kind == ("OKP" if curve.startswith("Ed") else "EC"):
        algorithms = _CURVES.get(curve, algorithms)
    if "alg" in key:
        return algorithms & {str(key["alg"])}
    return algorithms


def _loaded(key: Mapping[str, Any]) -> Any:
    """The key as PyJWT has it; None where it is none, or too short."""
    from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
    from jwt.exceptions import InvalidKeyError

    classes: dict[str, Any] = {
        "RSA": RSAAlgorithm,
        "EC": ECAlgorithm,
        "OKP": OKPAlgorithm,
    }
    public = {name: key[name] for name in _PUBLIC if name in key}
    try:
        loaded: Any = classes[key["kty"]].from_jwk(public)
    except (InvalidKeyError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if key["kty"] == "RSA" and not RSA_BITS_MIN <= loaded.key_size <= RSA_BITS_MAX:
        return None
    return loaded
