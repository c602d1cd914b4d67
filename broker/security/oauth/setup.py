"""From the options of a listener to its tokens of OAUTHBEARER."""

from __future__ import annotations

import ssl
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from odradek.broker.config.options.security.sasl import OAUTHBEARER
from odradek.broker.runtime.start_error import StartError
from odradek.broker.security.certificates.stores import certificates_in, read_text
from odradek.terminal.installation import install_command

from .bearer import Bearer
from .checks import SignedTokens, UnsecuredTokens
from .claims import ClaimRules
from .fetching import NotFetched, fetch, in_thread
from .jwks import BadKeys
from .key_source import FetchTimes, KeySource

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.broker.config.options.security.per_listener import SecurityOptions
    from odradek.broker.runtime.clock import Clock

_URL = "sasl.oauthbearer.jwks.endpoint.url"
# Of Kafka's login module: what its check of unsecured tokens is told.
_UNSECURED = "unsecuredValidator"
_PACKAGES = ("jwt", "cryptography")


def bearer_of(
    options: SecurityOptions, module: Mapping[str, str], clock: Clock
) -> Bearer:
    """The mechanism, and its keys: those of a file are there, others on their way.

    ``module`` are the options of the login module. To be called on the loop.

    Raises:
        StartError: a package is missing, or the keys of a file cannot be used.
    """
    url = options.get(_URL, OAUTHBEARER)
    if not url:
        return Bearer(UnsecuredTokens(_unsecured_rules(options, module), clock))
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise StartError(
                f"listener {options.listener} lets clients log in by OAUTHBEARER,"
                " which needs packages that are not there:"
                f" {install_command('security')}"
            )
    keys = _keys(options, url, module, clock)
    return Bearer(SignedTokens(keys, _rules(options, module), clock), keys.close)


def _keys(
    options: SecurityOptions, url: str, module: Mapping[str, str], clock: Clock
) -> KeySource:
    scheme = urlsplit(url).scheme
    context = _context(options, module) if scheme == "https" else None
    get = partial(options.get, mechanism=OAUTHBEARER)
    times = FetchTimes(
        get("sasl.oauthbearer.jwks.endpoint.refresh.ms"),
        get("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms"),
        get("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"),
    )
    keys = KeySource(partial(fetch, url, context), times, clock, in_thread)
    if scheme != "file":
        keys.fetch()
        return keys
    try:
        keys.load()
    except NotFetched as error:
        name = options.name_of(_URL, OAUTHBEARER)
        raise StartError(f"{name}: {error}") from None
    except BadKeys as error:
        name = options.name_of(_URL, OAUTHBEARER)
        raise StartError(f"{name}={url}: {error}") from None
    return keys


def _context(options: SecurityOptions, module: Mapping[str, str]) -> ssl.SSLContext:
    """Whom an https server has to be vouched for by: those of the login module."""
    location = module.get("ssl.truststore.location")
    if not location:
        return ssl.create_default_context()
    name = options.name_of("sasl.jaas.config", OAUTHBEARER)
    if module.get("ssl.truststore.type", "").upper() != "PEM":
        raise StartError(
            f"{name}: ssl.truststore.location={location} is read as PEM alone: export"
            ' the certificates, and add ssl.truststore.type="PEM"'
        )
    certificates = certificates_in(read_text(location, "ssl.truststore.location"))
    if not certificates:
        raise StartError(f"{name}: {location} has no certificate in it")
    return ssl.create_default_context(cadata="\n".join(certificates))


def _rules(options: SecurityOptions, module: Mapping[str, str]) -> ClaimRules:
    get = partial(options.get, mechanism=OAUTHBEARER)
    return ClaimRules(
        audiences=frozenset(get("sasl.oauthbearer.expected.audience")),
        issuer=get("sasl.oauthbearer.expected.issuer") or "",
        skew_ms=get("sasl.oauthbearer.clock.skew.seconds") * 1000,
        user_claim=get("sasl.oauthbearer.sub.claim.name"),
        scope_claim=get("sasl.oauthbearer.scope.claim.name"),
        scopes=frozenset(module.get(f"{_UNSECURED}RequiredScope", "").split()),
    )


def _unsecured_rules(options: SecurityOptions, module: Mapping[str, str]) -> ClaimRules:
    """What the login module says of unsecured tokens comes first, as in Kafka."""
    rules = _rules(options, module)
    skew = module.get(f"{_UNSECURED}AllowableClockSkewMs", "")
    if skew and not (skew.isdecimal() and len(skew) < 10):
        name = options.name_of("sasl.jaas.config", OAUTHBEARER)
        raise StartError(f"{name}: {_UNSECURED}AllowableClockSkewMs is no number")
    return rules._replace(
        user_claim=module.get(f"{_UNSECURED}PrincipalClaimName", rules.user_claim),
        scope_claim=module.get(f"{_UNSECURED}ScopeClaimName", rules.scope_claim),
        skew_ms=int(skew) if skew else rules.skew_ms,
    )
