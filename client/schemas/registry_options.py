"""How to get in at a registry of schemas, by the options of Confluent's clients.

They stand in a file of client options, with ``schema.registry.`` before their names
or, those of logins, without:

    schema.registry.url=https://registry:8081
    basic.auth.user.info=alice:...
    schema.registry.ssl.truststore.location=/etc/kafka/ca.pem
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from odradek.client.security.client_file import ClientFileError, read_client_options
from odradek.client.security.names import PROTOCOL, SecurityOptionError
from odradek.client.security.references import names_providers, resolved
from odradek.client.security.sasl_options import read_sasl
from odradek.client.security.settings import Secret, Tls
from odradek.client.security.tls_options import read_tls
from odradek.terminal.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PREFIX = "schema.registry."
_URL = "url"
_USER_SOURCE, _USER = "basic.auth.credentials.source", "basic.auth.user.info"
_TOKEN_SOURCE, _TOKEN = "bearer.auth.credentials.source", "bearer.auth.token"
_LOGINS = (_USER_SOURCE, _USER, _TOKEN_SOURCE, _TOKEN)
_USER_INFO, _OF_URL, _INHERIT, _STATIC = "USER_INFO", "URL", "SASL_INHERIT", "STATIC"


@dataclass(frozen=True)
class RegistryLogin:
    """Who a client is to a registry (``name:password``, or a token), whom it trusts."""

    user: Secret = field(default_factory=Secret)
    token: Secret = field(default_factory=Secret)
    tls: Tls | None = None


NOBODY = RegistryLogin()


def login_of_file(
    path: str, url: str, place: Callable[[str], str] = os.path.expanduser
) -> RegistryLogin:
    """What the file says of the registry at ``url``; `NOBODY` if that is of another.

    ``place`` says where a file is on this machine.

    Raises:
        ClientFileError: it cannot be read, or says what cannot be.
    """
    options = read_client_options(place(path))
    named = options.get(_PREFIX + _URL, "")
    if named and not any(_is_same(each, url) for each in named.split(",")):
        return NOBODY
    try:
        wanted = {name: text for name, text in options.items() if _is_read(name)}
        return read_registry_login(options | resolved(wanted, place), place)
    except SecurityOptionError as error:
        raise ClientFileError(f"{path}: {error}") from None


def read_registry_login(
    options: Mapping[str, str], place: Callable[[str], str] = os.path.expanduser
) -> RegistryLogin:
    """What the options say, of which most may be about other things.

    Raises:
        SecurityOptionError: one is unknown, or they do not fit each other.
    """
    given = {
        name.removeprefix(_PREFIX): text.strip()
        for name, text in options.items()
        if name.startswith(_PREFIX) or name in _LOGINS
    }
    tls = {name: text for name, text in given.items() if name.startswith("ssl.")}
    for name in given:
        if name not in (_URL, *_LOGINS, *tls):
            meant = did_you_mean(name, (_URL, *_LOGINS))
            hint = f"; did you mean {_PREFIX}{meant}?" if meant else ""
            raise SecurityOptionError(_PREFIX + name, f"there is no such option{hint}")
    user, token = _user(given, options), _token(given)
    if user and token:
        raise SecurityOptionError(_TOKEN, f"is set, and {_USER_SOURCE} too; leave one")
    for name in tls:
        if name.endswith(".location"):
            tls[name] = place(tls[name])
    return RegistryLogin(Secret(user), Secret(token), read_tls(tls) if tls else None)


def _user(given: Mapping[str, str], options: Mapping[str, str]) -> str:
    source = given.get(_USER_SOURCE, _USER_INFO if _USER in given else _OF_URL).upper()
    if source == _OF_URL:
        return ""
    if source == _USER_INFO:
        user = given.get(_USER, "")
        if ":" not in user:
            raise SecurityOptionError(_USER, "is like name:password")
        return user
    if source == _INHERIT:
        sasl = read_sasl({"sasl.mechanism": "PLAIN", **options})
        if not sasl.user:
            raise SecurityOptionError(_USER_SOURCE, "there is no user of SASL")
        return f"{sasl.user}:{sasl.password.value}"
    known = f"{_USER_INFO}, {_OF_URL} or {_INHERIT}"
    raise SecurityOptionError(_USER_SOURCE, f"is {known}, and not {source!r}")


def _token(given: Mapping[str, str]) -> str:
    source = given.get(_TOKEN_SOURCE, "STATIC_TOKEN").upper()
    if not source.startswith(_STATIC):
        raise SecurityOptionError(
            _TOKEN_SOURCE, f"only STATIC_TOKEN is known here, and not {source!r}"
        )
    token = given.get(_TOKEN, "")
    if token and not (token.isascii() and token.isprintable()):
        raise SecurityOptionError(_TOKEN, "is no token in one line")
    return token


def _is_read(name: str) -> bool:
    is_ours = name.startswith((_PREFIX, "sasl.")) or name in (*_LOGINS, PROTOCOL)
    return is_ours or names_providers(name)


def _is_same(one: str, other: str) -> bool:
    """Whether two URLs are of one server: a login for one goes to no other."""
    parts, others = urlsplit(one.strip()), urlsplit(other.strip())
    return (parts.scheme, parts.hostname, parts.port) == (
        others.scheme,
        others.hostname,
        others.port,
    )
