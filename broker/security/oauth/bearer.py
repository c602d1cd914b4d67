"""OAUTHBEARER (RFC 7628): a client shows a token that somebody else has issued.

    n,[a=AUTHZID],^Aauth=Bearer TOKEN^A[KEY=VALUE^A]...^A

A token that is not good is answered with a status in JSON, which the client
acknowledges with ^A; only then the login has failed. Extensions are read and mean
nothing.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Protocol

from odradek.broker.security.login.mechanism import Identity, LoginRefused

from .token import TokenRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

NAME = "OAUTHBEARER"
STATUS = '{"status":"invalid_token"}'  # as Apache Kafka says it
_MESSAGE = re.compile(
    rb"n,(?:a=(?P<authzid>(?:[^=,\0]|=2C|=3D)+))?,\x01"
    rb"(?P<pairs>(?:[A-Za-z]+=[\x20-\x7E\t\r\n]*\x01)+)\x01"
)
_BEARER = re.compile(rb"bearer +(?P<token>[-._~+/A-Za-z0-9]+=*)", re.IGNORECASE)


class Checked(Protocol):
    """What checks tokens."""

    def claimed(self, token: str) -> str:
        """Whose token it says it is; empty where it says nothing."""

    def check(self, token: str) -> Identity | Coroutine[None, None, Identity]:
        """Whose it is; of a coroutine, what it returns.

        Raises:
            TokenRefused: it is not good.
        """


class Bearer:
    """The mechanism; ``tokens`` knows which are good."""

    name = NAME

    def __init__(
        self, tokens: Checked, close: Callable[[], object] | None = None
    ) -> None:
        self.tokens = tokens
        self._close = close

    def close(self) -> None:
        """Nobody logs in by it any more: no keys are fetched."""
        if self._close is not None:
            self._close()

    def begin(self) -> BearerNegotiation:
        """A login begins."""
        return BearerNegotiation(self.tokens)


class BearerNegotiation:
    """One token, and an empty answer; or a status, and a client that has seen it."""

    def __init__(self, tokens: Checked) -> None:
        self._tokens = tokens
        self.claimed = ""
        self.identity: Identity | None = None
        self._refused = ""

    def step(self, token: bytes) -> bytes | Coroutine[None, None, bytes]:
        """The answer to the client's next message.

        Raises:
            LoginRefused: it is no such message, or its token is not good.
        """
        if self._refused:
            raise LoginRefused(self._refused, STATUS)
        authzid, shown = _read(token)
        self.claimed = self._tokens.claimed(shown)
        try:
            checked = self._tokens.check(shown)
        except TokenRefused as refusal:
            return self._refuse(refusal)
        if inspect.iscoroutine(checked):
            return self._wait(authzid, checked)
        assert isinstance(checked, Identity)
        return self._end(authzid, checked)

    async def _wait(
        self, authzid: str, checking: Coroutine[None, None, Identity]
    ) -> bytes:
        try:
            return self._end(authzid, await checking)
        except TokenRefused as refusal:
            return self._refuse(refusal)

    def _end(self, authzid: str, identity: Identity) -> bytes:
        name = identity.principal.partition(":")[2]
        if authzid not in ("", name):
            raise LoginRefused(
                "it wants to act for somebody else",
                "Authentication failed: Client requested an authorization id"
                f" ({authzid}) that is different from the token's principal name"
                f" ({name})",
            )
        self.identity = identity
        return b""

    def _refuse(self, refusal: TokenRefused) -> bytes:
        self._refused = str(refusal)
        return STATUS.encode()


def _read(message: bytes) -> tuple[str, str]:
    """The name that a client wants to act under, if it says one, and its token.

    Raises:
        LoginRefused: it is no message of OAUTHBEARER.
    """
    found = _MESSAGE.fullmatch(message)
    if found is None:
        raise LoginRefused("what it sent is no message of OAUTHBEARER")
    pairs = [each.partition(b"=") for each in found["pairs"].split(b"\1")[:-1]]
    shown = [value for key, _, value in pairs if key == b"auth"]
    bearer = _BEARER.fullmatch(shown[0]) if len(shown) == 1 else None
    if bearer is None:
        raise LoginRefused("it shows no bearer token, or several")
    try:
        escaped = (found["authzid"] or b"").decode()
    except UnicodeDecodeError:
        raise LoginRefused("what it sent is no UTF-8") from None
    authzid = escaped.replace("=2C", ",").replace("=3D", "=")
    return authzid, bearer["token"].decode()
