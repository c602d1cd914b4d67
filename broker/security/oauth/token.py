"""A token in three parts (RFC 7519): read strictly, and not yet believed.

    HEADER.CLAIMS.SIGNATURE, each in base64url; the first two are JSON objects

No name comes twice in an object: what reads the first and what reads the last of two
must not be told different things.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from typing import Any, NamedTuple

TOKEN_SIZE_MAX = 16 << 10
_PART = re.compile(r"[-_A-Za-z0-9]*")


class TokenRefused(Exception):
    """A token lets nobody in; says why, for the log, and shows nothing of it."""


class Token(NamedTuple):
    """``signed`` are the bytes that the signature is of."""

    header: dict[str, Any]
    claims: dict[str, Any]
    signed: bytes
    signature: bytes


def read_token(text: str) -> Token:
    """The parts of a token.

    Raises:
        TokenRefused: it is none.
    """
    if len(text) > TOKEN_SIZE_MAX:
        raise TokenRefused(f"it has {len(text)} bytes, and {TOKEN_SIZE_MAX} are read")
    parts = text.split(".")
    if len(parts) != 3:
        raise TokenRefused(f"{len(parts)} parts in place of three")
    header, claims = (_object(_decoded(part)) for part in parts[:2])
    signed = f"{parts[0]}.{parts[1]}".encode()
    return Token(header, claims, signed, _decoded(parts[2]))


def _decoded(part: str) -> bytes:
    if not _PART.fullmatch(part) or len(part) % 4 == 1:
        raise TokenRefused("a part is not base64url")
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(
            data.decode(), object_pairs_hook=_pairs, parse_constant=_no_number
        )
    except (ValueError, RecursionError):
        raise TokenRefused("a part is not JSON, or says something twice") from None
    if not isinstance(found, dict):
        raise TokenRefused("a part is no object of JSON")
    return found


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(name)
