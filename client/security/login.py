"""Logging in by SASL: the exchange of a mechanism, and again before a session ends.

A login that was refused is not tried again: a password that is wrong stays wrong, and
brokers slow down who tries many.
"""

from __future__ import annotations

import secrets
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar

from odradek.client.errors import raise_for
from odradek.protocol import scram
from odradek.protocol.errors import (
    ErrorCode,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
)
from odradek.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

from .settings import OAUTHBEARER, PLAIN
from .tokens import token_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from odradek.protocol.schema import Request, Response

    from .settings import Sasl

    # Yields what is sent, is sent what was answered.
    Exchange = Generator[bytes, bytes, None]

_Response = TypeVar("_Response", bound="Response")
_NONCE_SIZE = 24
# Java's clients log in again somewhere from 85 % to 95 % of a session.
_PART_OF_SESSION = 0.85
# Brokers take no login that follows another one within a second (34, KIP-368).
_APART_S = 1.1


class Asker(Protocol):
    """A connection, as far as a login needs one."""

    def exchange(self, request: Request, response_class: type[_Response]) -> _Response:
        """The answer to a request, whatever else is on its way."""


class Login:
    """The login of one connection, which knows when it has to be done again."""

    def __init__(
        self, sasl: Sasl, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._sasl = sasl
        self._monotonic = monotonic
        self._due_s = float("inf")

    @property
    def is_due(self) -> bool:
        """Whether the session will end soon, or has."""
        return self._monotonic() >= self._due_s

    def run(self, asker: Asker) -> None:
        """Log in.

        Raises:
            SaslAuthenticationFailed: the broker does not let us in, or is not the one
                that knows our password.
            UnsupportedSaslMechanism: it has other mechanisms; says which.
        """
        self._due_s = float("inf")
        begun_s = self._monotonic()
        mechanism = self._sasl.mechanism
        answer = asker.exchange(
            SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse
        )
        if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            offered = ", ".join(sorted(answer.mechanisms)) or "none"
            raise UnsupportedSaslMechanism(
                f"The broker does not offer {mechanism}; it offers {offered}."
            )
        if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise SaslAuthenticationFailed(
                "The broker's listener has no SASL: set security.protocol=PLAINTEXT,"
                " or SSL, or use the port of another listener."
            )
        raise_for(answer.error_code)
        lifetime_ms = self._authenticate(asker)
        if lifetime_ms > 0:
            session_s = lifetime_ms / 1000 * _PART_OF_SESSION
            self._due_s = begun_s + max(session_s, _APART_S)

    def _authenticate(self, asker: Asker) -> int:
        exchange = exchange_of(self._sasl)
        message = next(exchange)
        while True:
            answer = asker.exchange(
                SaslAuthenticateRequest(auth_bytes=message), SaslAuthenticateResponse
            )
            raise_for(answer.error_code, answer.error_message)
            try:
                message = exchange.send(bytes(answer.auth_bytes))
            except StopIteration:
                return answer.session_lifetime_ms
            except scram.ScramError as error:
                raise SaslAuthenticationFailed(f"{error}.") from None


def exchange_of(sasl: Sasl) -> Exchange:
    """What the mechanism sends and expects."""
    if sasl.mechanism == PLAIN:
        return _plain(sasl)
    if sasl.mechanism == OAUTHBEARER:
        return _oauthbearer(sasl)
    return _scram(sasl)


def _plain(sasl: Sasl) -> Exchange:
    yield f"\0{sasl.user}\0{sasl.password.value}".encode()


def _scram(sasl: Sasl) -> Exchange:
    mechanism = scram.Mechanism[sasl.mechanism.replace("-", "_")]
    algorithm, nonce = mechanism.algorithm, secrets.token_urlsafe(_NONCE_SIZE)
    extensions = {scram.TOKEN_AUTH: "true"} if sasl.is_token else None
    first = scram.client_first(sasl.user, nonce, extensions)
    answered = yield first
    wanted = scram.read_server_first(answered, nonce)
    password = sasl.password.value.encode()
    salted = _salted(password, wanted.salt, wanted.iterations, algorithm)
    final = scram.client_final(first, answered, salted, algorithm)
    answered = yield final.message
    scram.check_server_final(answered, final.server_signature)


# Of several connections with one password only the first hashes it, for milliseconds.
_salted = lru_cache(maxsize=16)(scram.salted)


def _oauthbearer(sasl: Sasl) -> Exchange:
    extensions = "".join(f"{key}={value}\1" for key, value in sasl.oauth.extensions)
    token = token_of(sasl.oauth)
    answered = yield f"n,,\1auth=Bearer {token.value}\1{extensions}\1".encode()
    if answered:  # why it was refused; what follows is the error itself
        yield b"\1"
        said = answered.decode(errors="replace")
        raise SaslAuthenticationFailed(f"The broker refuses the token: {said}")
