"""SCRAM-SHA-256 and SCRAM-SHA-512: the password itself is never sent.

A delegation token logs in by it too: its id is the name, its hmac the password.
"""

from __future__ import annotations

import os
from binascii import b2a_base64
from typing import TYPE_CHECKING, Protocol

from odradek.protocol.scram import (
    ScramError,
    read_client_first,
    server_final,
    server_first,
)

from .mechanism import USER, Identity, LoginRefused

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from odradek.broker.metadata.scram_credentials import (
        ScramCredential,
        ScramCredentials,
    )
    from odradek.protocol.scram import ClientFirst
    from odradek.protocol.scram import Mechanism as ScramMechanism

    from .decoy import Decoy

_NONCE_SIZE = 24  # without a remainder: 32 characters, none of them a "="


class TokenLogins(Protocol):
    """The delegation tokens, as far as they let somebody in."""

    def is_known(self, token_id: str) -> bool:
        """Whether there is such a token, and it holds."""

    def credential(
        self, token_id: str, mechanism: ScramMechanism
    ) -> Coroutine[None, None, ScramCredential]:
        """What its hmac is checked with."""

    def identity(self, token_id: str) -> Identity | None:
        """Whom the token stands for, while it holds."""


class Scram:
    """One of both, with the credentials of all users."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        credentials: ScramCredentials,
        decoy: Decoy,
        tokens: TokenLogins | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.credentials = credentials
        self.decoy = decoy
        self.tokens = tokens

    @property
    def name(self) -> str:
        """As clients know it."""
        return self.mechanism.title

    def close(self) -> None:
        """Nobody logs in by it any more: there is nothing to end."""

    def begin(self) -> ScramNegotiation:
        """A login begins."""
        return ScramNegotiation(self)


class ScramNegotiation:
    """Two tokens of the client, two answers."""

    def __init__(self, scram: Scram) -> None:
        self._scram = scram
        self.claimed = ""
        self.identity: Identity | None = None
        self._first: ClientFirst | None = None
        self._answered = b""
        self._credential: ScramCredential | None = None

    def step(self, token: bytes) -> bytes | Coroutine[None, None, bytes]:
        """The server's side of the exchange.

        Raises:
            LoginRefused: the client does not know the password, or not the rules.
        """
        try:
            if self._first is None:
                return self._begin(token)
            return self._end(self._first, token)
        except ScramError as error:
            raise LoginRefused(str(error)) from None

    def _begin(self, token: bytes) -> bytes | Coroutine[None, None, bytes]:
        first = read_client_first(token)
        self.claimed = first.user
        if first.authzid not in ("", first.user):
            raise LoginRefused("it wants to act for somebody else")
        self._first = first
        scram, tokens = self._scram, self._scram.tokens
        if first.is_by_token:
            if tokens is not None and tokens.is_known(first.user):
                return self._begin_by_token(first, tokens)
            credential = None
        else:
            credential = scram.credentials.of(first.user).get(scram.mechanism)
        if credential is None:
            credential = scram.decoy.credential(first.user, scram.mechanism)
        return self._ask(first, credential)

    async def _begin_by_token(self, first: ClientFirst, tokens: TokenLogins) -> bytes:
        credential = await tokens.credential(first.user, self._scram.mechanism)
        return self._ask(first, credential)

    def _ask(self, first: ClientFirst, credential: ScramCredential) -> bytes:
        self._credential = credential
        nonce = b2a_base64(os.urandom(_NONCE_SIZE), newline=False).decode()
        self._answered = server_first(
            first, nonce, credential.salt, credential.iterations
        )
        return self._answered

    def _end(self, first: ClientFirst, token: bytes) -> bytes:
        assert self._credential is not None
        algorithm = self._scram.mechanism.algorithm
        answer = server_final(first, self._answered, token, self._credential, algorithm)
        self.identity = self._identity(first)
        return answer

    def _identity(self, first: ClientFirst) -> Identity:
        if not first.is_by_token:
            return Identity(USER + first.user)
        tokens = self._scram.tokens
        identity = None if tokens is None else tokens.identity(first.user)
        if identity is None:
            raise LoginRefused("the token has expired meanwhile")
        return identity
