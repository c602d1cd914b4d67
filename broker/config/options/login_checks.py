"""What a listener needs to let clients log in, and what must not be asked of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .error import OptionError
from .sasl import GSSAPI, MECHANISMS, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .security import SecurityOptions

_ENABLED = "sasl.enabled.mechanisms"
_CLEARTEXT = "allow.cleartext.secrets"
# Of these whoever listens has the secret.
_BARE = frozenset({PLAIN})


def check_login(options: SecurityOptions) -> None:
    """See that clients of a listener with SASL can log in, and should.

    Raises:
        OptionError: no mechanism is there, or one would give secrets away.
    """
    listener = options.listener
    name, mechanisms = options.name_of(_ENABLED), options.get(_ENABLED)
    others = ", ".join(MECHANISMS)
    alternatives = f"{options.prefix}{_ENABLED}=SCRAM-SHA-512 (of {others})"
    if not mechanisms:
        raise OptionError(
            f"{name} is empty, and {listener} wants logins: {alternatives}"
        )
    for mechanism in mechanisms:
        if mechanism == GSSAPI:
            raise OptionError(
                f"listener {listener}: {name} has GSSAPI (Kerberos), which Apache"
                " Kafka takes where nothing is set, and which is not there: set"
                f" {alternatives}"
            )
        if mechanism not in MECHANISMS:
            raise OptionError(
                f"listener {listener}: {name} has {mechanism}, which is not there: set"
                f" {alternatives}"
            )
        if mechanism in _BARE and _is_bare(options) and not options.get(_CLEARTEXT):
            raise OptionError(
                f"listener {listener}: with {mechanism} on SASL_PLAINTEXT passwords"
                " come over the network for everybody to read: use SASL_SSL, or"
                " SCRAM-SHA-512, or let only this machine in, or set"
                f" {options.prefix}{_CLEARTEXT}=true"
            )


def login_warnings(options: SecurityOptions) -> Iterator[str]:
    """What somebody should know who lets clients log in so."""
    if _is_bare(options):
        yield (
            f"{options.listener}: logins are safe there, what follows is not: records"
            " come over the network for everybody to read; SASL_SSL encrypts them"
        )


def _is_bare(options: SecurityOptions) -> bool:
    """Whether others may hear what clients send."""
    return not (options.listener.is_loopback or options.listener.has_tls)
