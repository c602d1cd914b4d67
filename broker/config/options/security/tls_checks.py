"""Which options of TLS may stand together, as Kafka has it.

Only what the options say themselves is looked at here; their files are read at the
start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from odradek.broker.config.options.error import OptionError

if TYPE_CHECKING:
    from .per_listener import SecurityOptions

_STORE_TYPES = ("JKS", "PKCS12", "PEM")
_VERSIONS = ("TLSv1.2", "TLSv1.3")


def check_tls(options: SecurityOptions) -> None:
    """See that what is set for a listener with TLS makes sense.

    Raises:
        OptionError: two options contradict each other, or one cannot be.
    """
    _check_store_types(options)
    _check_key(options)
    _check_trust(options)
    _check_versions(options)


def _check_store_types(options: SecurityOptions) -> None:
    for name in ("ssl.keystore.type", "ssl.truststore.type"):
        kind = options.get(name).upper()
        if kind not in _STORE_TYPES:
            raise OptionError(
                f"{options.name_of(name)}={kind} is not known here: there are "
                f"{', '.join(_STORE_TYPES)} (a JKS only if it is in truth PKCS12)"
            )


def _check_key(options: SecurityOptions) -> None:
    get = options.get
    is_pem = get("ssl.keystore.type").upper() == "PEM"
    key, chain = get("ssl.keystore.key"), get("ssl.keystore.certificate.chain")
    location, password = get("ssl.keystore.location"), get("ssl.keystore.password")
    if get("ssl.certificate.file") and (key or chain or location):
        _contradict(options, "ssl.certificate.file", "ssl.keystore.*", "one of them")
    if get("ssl.key.file") and not get("ssl.certificate.file"):
        _lack(options, "ssl.key.file", "ssl.certificate.file")
    if key and not is_pem:
        _lack(options, "ssl.keystore.key", "ssl.keystore.type=PEM")
    if key and location:
        _contradict(options, "ssl.keystore.location", "ssl.keystore.key", "one of them")
    if key and not chain:
        _lack(options, "ssl.keystore.key", "ssl.keystore.certificate.chain")
    if chain and not key:
        _lack(options, "ssl.keystore.certificate.chain", "ssl.keystore.key")
    if password and is_pem:
        _contradict(
            options,
            "ssl.keystore.password",
            "ssl.keystore.type=PEM",
            "ssl.key.password, which is that of a key in PEM",
        )
    if password and not location:
        _lack(options, "ssl.keystore.password", "ssl.keystore.location")
    if location and not is_pem and not password:
        _lack(options, "ssl.keystore.location", "ssl.keystore.password")


def _check_trust(options: SecurityOptions) -> None:
    get = options.get
    is_pem = get("ssl.truststore.type").upper() == "PEM"
    inline, location = get("ssl.truststore.certificates"), get(_LOCATION)
    password, file = get("ssl.truststore.password"), get("ssl.ca.file")
    if file and (inline or location):
        _contradict(options, "ssl.ca.file", "ssl.truststore.*", "one of them")
    if inline and not is_pem:
        _lack(options, "ssl.truststore.certificates", "ssl.truststore.type=PEM")
    if inline and location:
        _contradict(options, _LOCATION, "ssl.truststore.certificates", "one of them")
    if password and is_pem:
        _contradict(
            options, "ssl.truststore.password", "ssl.truststore.type=PEM", "no password"
        )
    if password and not location:
        _lack(options, "ssl.truststore.password", _LOCATION)
    if options.client_auth != "none" and not (file or inline or location):
        raise OptionError(
            f"{options.name_of('ssl.client.auth')}={options.client_auth}, and no CA is "
            "named whose clients are trusted: set ssl.ca.file, or Kafka's "
            "ssl.truststore.location"
        )


def _check_versions(options: SecurityOptions) -> None:
    enabled = options.get("ssl.enabled.protocols")
    unknown = [each for each in enabled if each not in _VERSIONS]
    if unknown or not enabled:
        raise OptionError(
            f"{options.name_of('ssl.enabled.protocols')} has "
            f"{', '.join(unknown) or 'nothing'}: there are TLSv1.2 and TLSv1.3, what "
            "is older is not safe"
        )
    protocol = options.get("ssl.protocol")
    if protocol not in ("TLS", *_VERSIONS):
        raise OptionError(
            f"{options.name_of('ssl.protocol')}={protocol} is not spoken: there are "
            "TLSv1.2 and TLSv1.3"
        )


_LOCATION = "ssl.truststore.location"


def _contradict(
    options: SecurityOptions, name: str, other: str, instead: str
) -> NoReturn:
    raise OptionError(
        f"{options.name_of(name)} and {other} are both set: use {instead}"
    )


def _lack(options: SecurityOptions, name: str, needed: str) -> NoReturn:
    raise OptionError(f"{options.name_of(name)} is set, and needs {needed} too")
