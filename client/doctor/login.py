"""Logins: why one is refused, and which mechanisms a listener has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.client.connection import Connection
from odradek.client.security.settings import SASL_PLAINTEXT, SASL_SSL, Security
from odradek.protocol.errors import (
    KafkaError,
    MalformedRequest,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanism,
)
from odradek.protocol.messages.sasl import SaslHandshakeRequest, SaslHandshakeResponse

from .finding import Finding

if TYPE_CHECKING:
    from odradek.client.address import Address

_NO_MECHANISM = "?"  # is none anywhere, so the answer lists those there are
_OAUTHBEARER = "OAUTHBEARER"


def login_failure(address: Address, error: KafkaError, security: Security) -> Finding:
    """Why the login was refused, and the line to change."""
    return Finding("login", str(address), False, str(error), _advice(error, security))


def _advice(error: KafkaError, security: Security) -> str:
    if isinstance(error, UnsupportedSaslMechanism):
        return (
            "Set sasl.mechanism to one of these in the client, or add this one to"
            " sasl.enabled.mechanisms in the broker."
        )
    if not isinstance(error, SaslAuthenticationFailed) or security.sasl is None:
        return "The broker's log says more."
    if "has no SASL" in str(error):
        protocol = "PLAINTEXT" if security.tls is None else "SSL"
        return f"Set security.protocol={protocol} in the client, without sasl.*."
    if security.sasl.mechanism == _OAUTHBEARER:
        return (
            "Look at the token: has it not expired, is it of the issuer and for the"
            " audience that the broker wants (sasl.oauthbearer.expected.*)?"
        )
    user = security.sasl.user
    return (
        f"Look at sasl.username and sasl.password (Java: sasl.jaas.config) in the"
        " client. Whether there is such a user the answer does not say: on the machine"
        f" of the broker 'odradek user describe {user} --data-dir DIR' does, and"
        f" 'odradek user set {user} --data-dir DIR' gives a new password."
    )


def wants_login(
    address: Address, timeout_s: float, security: Security | None, detail: str
) -> Finding:
    """The listener wants a login, and the client has none."""
    has_tls = security is not None and security.tls is not None
    protocol = SASL_SSL if has_tls else SASL_PLAINTEXT
    found = mechanisms(address, timeout_s, security)
    offered = f" (it offers {', '.join(found)})" if found else ""
    return Finding(
        "metadata",
        str(address),
        False,
        f"{detail} (SASL expected){offered}",
        "The listener wants a user and a password: in the client set"
        f" security.protocol={protocol}, sasl.mechanism={_best(found)}, sasl.username"
        " and sasl.password, or use another listener.",
    )


def mechanisms(
    address: Address, timeout_s: float, security: Security | None
) -> list[str]:
    """How one can log in there; empty where it does not say."""
    bare = Security(tls=security.tls if security else None)
    try:
        with Connection(*address, timeout_s=timeout_s, security=bare) as connection:
            request = SaslHandshakeRequest(mechanism=_NO_MECHANISM)
            answer = connection.exchange(request, SaslHandshakeResponse)
            return sorted(answer.mechanisms)
    except (OSError, KafkaError, MalformedRequest):
        return []


def _best(found: list[str]) -> str:
    """The strongest with a password."""
    scram = [each for each in found if each.startswith("SCRAM-")]
    return scram[-1] if scram else (found or ["SCRAM-SHA-512"])[0]
