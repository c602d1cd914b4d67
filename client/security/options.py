"""From options by name to what a client does: see `names` for those there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.terminal.spelling import did_you_mean

from . import names
from .names import SecurityOptionError, check_names
from .sasl_options import read_sasl
from .settings import PLAINTEXT, PROTOCOLS, Security
from .tls_options import read_tls

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_security(given: Mapping[str, str], origin: str = "") -> Security:
    """What these options say; whatever is not about TLS or SASL is left out.

    Files that they name are read.

    Raises:
        SecurityOptionError: one of them is unknown, or they do not fit each other.
    """
    check_names(given)
    options = {
        names.ALIASES.get(name, name): value.strip()
        for name, value in given.items()
        if value.strip() or name == names.HOST_NAME
    }
    protocol = _protocol(options)
    tls = read_tls(options) if protocol.endswith("SSL") else None
    sasl = read_sasl(options) if protocol.startswith("SASL") else None
    if tls is not None:
        from .tls import context_of  # Python's ssl takes 10 ms to load

        context_of(tls)
    else:
        _check_unused(options, protocol, names.TLS, "SSL or SASL_SSL")
    if sasl is None:
        _check_unused(options, protocol, names.SASL, "SASL_SSL or SASL_PLAINTEXT")
    return Security(tls, sasl, origin)


def _protocol(options: Mapping[str, str]) -> str:
    text = options.get(names.PROTOCOL, PLAINTEXT)
    if text.upper() not in PROTOCOLS:
        meant = did_you_mean(text.upper(), PROTOCOLS)
        hint = f"; did you mean {meant}?" if meant else ""
        known = ", ".join(PROTOCOLS)
        raise SecurityOptionError(
            names.PROTOCOL, f"is one of {known}, and not {text!r}{hint}"
        )
    return text.upper()


# What says nothing of a wish to be protected, like a default that is written down.
_HARMLESS = (names.HOST_NAME, names.VERSIONS, names.CHECKED, names.MECHANISM)


def _check_unused(
    options: Mapping[str, str], protocol: str, of: tuple[str, ...], wanted: str
) -> None:
    """Java's clients take no notice, and send in clear what was to be protected."""
    for name in of:
        if name in options and name not in (*_HARMLESS, *names.STORE_TYPES):
            raise SecurityOptionError(
                name,
                f"is of no use with {names.PROTOCOL}={protocol}; set"
                f" {names.PROTOCOL}={wanted}, or leave it out",
            )
