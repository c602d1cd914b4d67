"""What to say when a broker does not let us in, or not do what we want."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.client.errors import TlsCause, TlsFailed
from odradek.protocol.errors import (
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    SaslAuthenticationFailed,
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
    UnsupportedSaslMechanism,
)

if TYPE_CHECKING:
    from odradek.client.security.settings import Security

TOPIC, GROUP = "topic", "group"
TRANSACTIONAL_ID, CLUSTER = "transactional id", "cluster"
_KINDS: dict[type[Exception], str] = {
    TopicAuthorizationFailed: TOPIC,
    GroupAuthorizationFailed: GROUP,
    TransactionalIdAuthorizationFailed: TRANSACTIONAL_ID,
    ClusterAuthorizationFailed: CLUSTER,
}
# To try again is of no use: the answer would be the same, and brokers slow down who
# tries many passwords.
FINAL = (*_KINDS, SaslAuthenticationFailed, UnsupportedSaslMechanism)
# What nobody here can mend, or only by another name of the broker.
_REMEDIES = {
    TlsCause.EXPIRED: "the broker needs a new one (ssl.certificate.file, or its"
    " keystore)",
    TlsCause.INVALID: "the broker needs another one (ssl.certificate.file, or its"
    " keystore)",
    TlsCause.OTHER_NAME: "name the broker as its certificate does"
    " (bootstrap.servers, and what it advertises), or have one made for this name, too",
}


class Need(NamedTuple):
    """A right, as Kafka's access control lists have it: Read on a topic."""

    operation: str
    kind: str
    name: str

    def __str__(self) -> str:
        named = "cluster" if self.kind == CLUSTER else f"{self.kind} {self.name}"
        return f"{self.operation} on {named}"


def is_final(error: BaseException) -> bool:
    """Whether a broker would give the same answer again."""
    if isinstance(error, TlsFailed):
        return not error.may_pass
    return isinstance(error, FINAL)


def told(error: Exception, security: Security | None, *needs: Need) -> str:
    """What an error means; ``needs`` are the rights that we asked for."""
    if isinstance(error, SaslAuthenticationFailed):
        text = str(error).rstrip(".")
        return f"The broker does not let {_login(security)} in: {text}."
    if isinstance(error, TlsFailed):
        remedy = _REMEDIES.get(error.cause)
        said = f"{error}: {remedy}" if remedy else str(error)
        return f"The broker cannot be spoken to: {said}."
    kind = next((of for each, of in _KINDS.items() if isinstance(error, each)), None)
    if kind is None:
        return str(error)
    lacking = [need for need in needs if need.kind == kind]
    if not lacking:
        return f"{principal(security)} may not: {error}"
    who, words = principal(security), " and ".join(map(str, lacking))
    return (
        f"{who} has no right to {words}: an entry of the broker's access control"
        f" lists has to give it{_command(who, lacking)}"
    )


def principal(security: Security | None) -> str:
    """Who we are to the broker, so far as we know."""
    if security is not None and security.sasl is not None:
        user = security.sasl.user
        return f"User:{user}" if user else "The owner of our token"
    if security is not None and security.tls is not None and security.tls.certificate:
        return "The holder of our certificate"
    return "User:ANONYMOUS"


def _login(security: Security | None) -> str:
    if security is None or security.sasl is None:
        return principal(security)
    who = principal(security)
    return f"{who[:1].lower() + who[1:] if ' ' in who else who} (by {_of(security)})"


def _of(security: Security) -> str:
    assert security.sasl is not None
    return security.sasl.mechanism


def _command(who: str, needs: list[Need]) -> str:
    """How Kafka's own tool writes it; not where the principal's name is not known."""
    if " " in who:
        return ""
    options = dict.fromkeys(f"--operation {need.operation}" for need in needs)
    kind, name = needs[0].kind, needs[0].name
    resource = f"--{kind.replace(' ', '-')}{'' if kind == CLUSTER else f' {name}'}"
    return (
        f" (kafka-acls.sh --add --allow-principal {who} {' '.join(options)} {resource})"
    )
