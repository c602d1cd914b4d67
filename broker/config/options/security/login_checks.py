"""What a listener needs to let clients log in, and what must not be asked of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.options.error import OptionError

from .sasl import GSSAPI, MECHANISMS, OAUTHBEARER, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .per_listener import SecurityOptions

_ENABLED = "sasl.enabled.mechanisms"
_HANDLER = "sasl.server.callback.handler.class"
_CLEARTEXT = "allow.cleartext.secrets"
# Of these whoever listens has the secret.
_BARE = {PLAIN: "passwords", OAUTHBEARER: "tokens"}


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
                f"listener {listener}: with {mechanism} on SASL_PLAINTEXT"
                f" {_BARE[mechanism]} come over the network for everybody to read: use"
                " SASL_SSL, or SCRAM-SHA-512, or let only this machine in, or set"
                f" {options.prefix}{_CLEARTEXT}=true"
            )
        _check_handler(options, mechanism)
        if mechanism == OAUTHBEARER:
            # Only who wants it waits for it to be loaded.
            from .token_checks import check_bearer

            check_bearer(options)


def _check_handler(options: SecurityOptions, mechanism: str) -> None:
    """See that what checks tokens in Apache Kafka is named for tokens."""
    handler = options.get(_HANDLER, mechanism)
    name = options.name_of(_HANDLER, mechanism)
    if handler and mechanism != OAUTHBEARER and mechanism.lower() in name:
        raise OptionError(f"{name}={handler} is for OAUTHBEARER: leave it out")


def login_warnings(options: SecurityOptions) -> Iterator[str]:
    """What somebody should know who lets clients log in so."""
    if _is_bare(options):
        yield (
            f"{options.listener}: logins are safe there, what follows is not: records"
            " come over the network for everybody to read; SASL_SSL encrypts them"
        )
    if OAUTHBEARER in options.get(_ENABLED):
        from .token_checks import bearer_warnings

        yield from bearer_warnings(options)


def _is_bare(options: SecurityOptions) -> bool:
    """Whether others may hear what clients send."""
    return not (options.listener.is_loopback or options.listener.has_tls)
