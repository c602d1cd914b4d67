"""Where the keys for tokens of OAUTHBEARER may be, and what goes without them."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from odradek.broker.config.options.error import OptionError

from .sasl import OAUTHBEARER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .per_listener import SecurityOptions

_URL = "sasl.oauthbearer.jwks.endpoint.url"
_EXPECTED = (
    ("sasl.oauthbearer.expected.audience", "aud"),
    ("sasl.oauthbearer.expected.issuer", "iss"),
)
_UNSECURED = "allow.unsecured.tokens"
_ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed."


def check_bearer(options: SecurityOptions) -> None:
    """See that tokens can be checked, or need not be.

    Raises:
        OptionError: there is no place for keys, or one where they must not be.
    """
    url, name = options.get(_URL, OAUTHBEARER), options.name_of(_URL, OAUTHBEARER)
    is_unsecured = options.get(_UNSECURED)
    if not url:
        _check_unsecured(options, is_unsecured)
        return
    if is_unsecured:
        raise OptionError(
            f"{name} is set, and {options.name_of(_UNSECURED)}=true: leave one of them"
            " out, or anybody could come with a token that nobody has signed"
        )
    reason = _why_not(url)
    if reason:
        raise OptionError(f"{name}={url}: {reason}")
    _check_allowed(options, name, url)


def bearer_warnings(options: SecurityOptions) -> Iterator[str]:
    """What somebody should know who takes tokens so."""
    if not options.get(_URL, OAUTHBEARER):
        yield (
            f"{options.listener}: {_UNSECURED}=true: who comes by OAUTHBEARER is"
            " whoever it says it is"
        )
        return
    for name, claim in _EXPECTED:
        if not options.get(name, OAUTHBEARER):
            yield (
                f"{options.listener}: {name} is not set: tokens are good here"
                f" whatever their {claim} says, also those for other services"
            )


def _check_unsecured(options: SecurityOptions, is_unsecured: bool) -> None:
    listener = options.listener
    if not is_unsecured:
        raise OptionError(
            f"listener {listener}: for OAUTHBEARER set {options.prefix}oauthbearer."
            f"{_URL}, where the keys are that tokens are signed with (https:// or"
            f" file://); for tests on this machine, {options.prefix}{_UNSECURED}=true"
            " takes tokens that nobody has signed"
        )
    if not listener.is_loopback:
        raise OptionError(
            f"listener {listener}: with {options.name_of(_UNSECURED)}=true whoever"
            " reaches it is whoever it says it is: let only this machine in"
            f" (127.0.0.1), or set {_URL}"
        )


def _why_not(url: str) -> str:
    """Why keys must not come from there; empty, if they may."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "that is no address"
    if parts.username is not None or parts.fragment:
        return "there is a name, a password or a # in it: leave it out"
    if parts.scheme == "file":
        return "" if parts.path and not host else "write file:///FOLDER/FILE"
    if parts.scheme not in ("https", "http") or not host:
        return "write https://HOST/PATH, or file:///FOLDER/FILE"
    if parts.scheme == "http" and not _is_here(host):
        return "over http anybody on the way could put in other keys: use https"
    return ""


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_allowed(options: SecurityOptions, name: str, url: str) -> None:
    """As Apache Kafka has it, where either list is set."""
    urls = options.config.org_apache_kafka_sasl_oauthbearer_allowed_urls
    if urls and url not in urls:
        raise OptionError(f"{name}={url} is not in {_ALLOWED}urls")
    files = options.config.org_apache_kafka_sasl_oauthbearer_allowed_files
    if files and urlsplit(url).scheme == "file":
        path = Path(url2pathname(urlsplit(url).path)).absolute()
        if path not in {Path(each).absolute() for each in files}:
            raise OptionError(f"{name}={url} is not in {_ALLOWED}files")
