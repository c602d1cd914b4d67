"""Which tokens are good: signed by a key that we know, and saying what they have to.

The header of a token says which key and which algorithm; it is asked for nothing else.
An address or a key that it brings along is never used, and one that wants something
understood (``crit``) is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .claims import identity_of, user_of
from .jwks import ALGORITHMS
from .token import TokenRefused, read_token

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from odradek.broker.runtime.clock import Clock
    from odradek.broker.security.login.mechanism import Identity

    from .claims import ClaimRules
    from .jwks import PublicKey
    from .key_source import KeySource
    from .token import Token

_NOT_UNDERSTOOD = ("crit", "b64")


class SignedTokens:
    """Those with a signature by one of the keys."""

    def __init__(self, keys: KeySource, rules: ClaimRules, clock: Clock) -> None:
        self._keys = keys
        self._rules = rules
        self._clock = clock

    def claimed(self, token: str) -> str:
        """Whose token it says it is."""
        return _claimed(token, self._rules)

    def check(self, token: str) -> Identity | Coroutine[None, None, Identity]:
        """Whose it is; at once, unless its key has to be fetched.

        Raises:
            TokenRefused: it is not good.
        """
        read = read_token(token)
        algorithm, key_id = _read_header(read)
        key = self._keys.key_for(key_id, algorithm)
        if key is None:
            # What it claims is looked at first: it may have nothing to fetch keys for.
            self._identity(read)
            return self._look_again(read, key_id, algorithm)
        return self._checked(read, key, algorithm)

    async def _look_again(self, token: Token, key_id: str, algorithm: str) -> Identity:
        await self._keys.look_again()
        key = self._keys.key_for(key_id, algorithm)
        if key is None:
            raise TokenRefused("no key that is known has signed it (kid)")
        return self._checked(token, key, algorithm)

    def _checked(self, token: Token, key: PublicKey, algorithm: str) -> Identity:
        if not key.has_signed(algorithm, token.signed, token.signature):
            raise TokenRefused("the signature is wrong")
        return self._identity(token)

    def _identity(self, token: Token) -> Identity:
        return identity_of(token.claims, self._rules, self._clock.now_ms())


class UnsecuredTokens:
    """Those that nobody has signed: whoever comes is whoever it says (for tests)."""

    def __init__(self, rules: ClaimRules, clock: Clock) -> None:
        self._rules = rules
        self._clock = clock

    def claimed(self, token: str) -> str:
        """Whose token it says it is."""
        return _claimed(token, self._rules)

    def check(self, token: str) -> Identity:
        """Whose it is.

        Raises:
            TokenRefused: it is not good.
        """
        read = read_token(token)
        if read.header.get("alg") != "none" or read.signature:
            raise TokenRefused("it is signed, and no keys are known here")
        return identity_of(read.claims, self._rules, self._clock.now_ms())


def _read_header(token: Token) -> tuple[str, str]:
    """The algorithm, and the id of the key."""
    header = token.header
    algorithm, key_id = header.get("alg"), header.get("kid", "")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise TokenRefused("by its algorithm no token is signed here (alg)")
    if not isinstance(key_id, str):
        raise TokenRefused("it names no key (kid)")
    for name in _NOT_UNDERSTOOD:
        if name in header:
            raise TokenRefused(f"it wants something that is not done here ({name})")
    return algorithm, key_id


def _claimed(token: str, rules: ClaimRules) -> str:
    try:
        return user_of(read_token(token).claims, rules)
    except TokenRefused:
        return ""
