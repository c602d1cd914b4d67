"""PLAIN (RFC 4616): a name and a password, for whoever carries them to read.

    [authzid] NUL user NUL password

Passwords are in the broker's own options, or they are those of the users of SCRAM, of
which only keys are kept: to check one costs milliseconds in a thread, and a password
that was right is known again by a hash that only this process can make. Neither takes
longer for a user that there is than for one that there is not.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, Protocol

from odradek.protocol.scram import Mechanism as ScramMechanism
from odradek.protocol.scram import stored_and_server_key

from .mechanism import USER, Identity, LoginRefused

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from odradek.broker.metadata.scram_credentials import (
        ScramCredential,
        ScramCredentials,
    )

    from .decoy import Decoy
    from .hashing import PasswordHashing

NAME = "PLAIN"
# As Apache Kafka says it.
WRONG = "Authentication failed: Invalid username or password"
_KNOWN_MAX = 10_000


class Passwords(Protocol):
    """Knows whether a password is right."""

    def is_right(self, user: str, password: str) -> bool | Coroutine[None, None, bool]:
        """Whether this is the password of that user."""


class Plain:
    """The mechanism, with the passwords that hold."""

    name = NAME

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords

    def close(self) -> None:
        """Nobody logs in by it any more: there is nothing to end."""

    def begin(self) -> PlainNegotiation:
        """A login begins."""
        return PlainNegotiation(self._passwords)


class PlainNegotiation:
    """One token, and its answer is empty."""

    def __init__(self, passwords: Passwords) -> None:
        self._passwords = passwords
        self.claimed = ""
        self.identity: Identity | None = None

    def step(self, token: bytes) -> bytes | Coroutine[None, None, bytes]:
        """Check the password.

        Raises:
            LoginRefused: it is wrong, or nothing that can be one.
            LoginBusy: too many are being checked.
        """
        try:
            parts = token.decode().split("\0")
        except UnicodeDecodeError:
            raise LoginRefused("what it sent is no UTF-8", WRONG) from None
        if len(parts) != 3:
            raise LoginRefused(f"{len(parts)} parts in place of three", WRONG)
        authzid, self.claimed, password = parts
        if not self.claimed or not password:
            raise LoginRefused("the name or the password is empty", WRONG)
        if authzid not in ("", self.claimed):
            raise LoginRefused("it wants to act for somebody else", WRONG)
        is_right = self._passwords.is_right(self.claimed, password)
        if isinstance(is_right, bool):
            return self._end(is_right)
        return self._wait(is_right)

    async def _wait(self, checking: Coroutine[None, None, bool]) -> bytes:
        return self._end(await checking)

    def _end(self, is_right: bool) -> bytes:
        if not is_right:
            raise LoginRefused("wrong name or password", WRONG)
        self.identity = Identity(USER + self.claimed)
        return b""


class FixedPasswords:
    """The passwords of users that options name."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._key = secrets.token_bytes(32)
        self._digests = {
            user: self._digest(password) for user, password in passwords.items()
        }
        self._nobodys = secrets.token_bytes(32)

    def is_right(self, user: str, password: str) -> bool:
        """Compared as hashes of one size, whether there is such a user or not."""
        expected = self._digests.get(user, self._nobodys)
        return hmac.compare_digest(self._digest(password), expected)

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode(), "sha256")


class ScramPasswords:
    """The passwords of the users of SCRAM."""

    def __init__(
        self, credentials: ScramCredentials, hashing: PasswordHashing, decoy: Decoy
    ) -> None:
        self._credentials = credentials
        self._hashing = hashing
        self._decoy = decoy
        self._key = secrets.token_bytes(32)
        # Of passwords that were right: by user, the hash of both and the stored key.
        self._known: dict[str, bytes] = {}

    def is_right(self, user: str, password: str) -> bool | Coroutine[None, None, bool]:
        """At once for a password that has been right before and still is."""
        found = self._credentials.of(user)
        for mechanism in ScramMechanism:
            if mechanism in found:
                credential = found[mechanism]
                break
        else:
            mechanism = ScramMechanism.SCRAM_SHA_256
            credential = self._decoy.credential(user, mechanism)
        digest = self._digest(user, password, credential)
        if hmac.compare_digest(self._known.get(user, b""), digest):
            return True
        return self._check(user, password, mechanism, credential)

    async def _check(
        self,
        user: str,
        password: str,
        mechanism: ScramMechanism,
        credential: ScramCredential,
    ) -> bool:
        hashed = await self._hashing.salted(
            password, credential.salt, credential.iterations, mechanism.algorithm
        )
        stored_key, _ = stored_and_server_key(hashed, mechanism.algorithm)
        is_right = hmac.compare_digest(stored_key, credential.stored_key)
        if is_right:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[user] = self._digest(user, password, credential)
        return is_right

    def _digest(self, user: str, password: str, credential: ScramCredential) -> bytes:
        """Of user, password and credential: it fits no other."""
        key = hmac.digest(self._key, user.encode(), "sha256")
        key = hmac.digest(key, credential.stored_key, "sha256")
        return hmac.digest(key, password.encode(), "sha256")
