"""How this broker gets in at others: controllers, and the brokers of its cluster.

Its options are those of a listener: what the broker shows to clients there it shows as
a client, too. To brokers that is the listener on which they reach this one; to
controllers it is the one that they have, of which nothing is opened here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.runtime.start_error import StartError
from odradek.client.errors import TlsFailed
from odradek.client.security.names import SecurityOptionError
from odradek.client.security.settings import MECHANISMS, Pem, Secret, Security, Tls

if TYPE_CHECKING:
    from odradek.broker.config.options.security.per_listener import SecurityOptions
    from odradek.client.security.settings import Sasl

_JAAS = "sasl.jaas.config"
_MECHANISM = "sasl.mechanism"
_KEYS = ("ssl.certificate.file", "ssl.keystore.key", "ssl.keystore.location")
_TOKENS = "sasl.oauthbearer."


class Outgoing:
    """TLS and the login of connections to others.

    Keys and certificates are read again when their files have changed.
    """

    def __init__(self, options: SecurityOptions, mechanism_option: str) -> None:
        """``mechanism_option`` says by which mechanism to log in.

        Raises:
            StartError: an option, or a file that it names, is of no use.
        """
        self._options = options
        self._has_tls = options.listener.has_tls
        self._sasl = None
        if options.listener.has_login:
            self._sasl = _login(options, mechanism_option)
        self._seen = None if not self._has_tls else _look(options)
        self._tls = None if not self._has_tls else _tls_of(options)
        self._check()

    def security(self) -> Security:
        """What the next connection is made with.

        Raises:
            TlsFailed: files have changed, and are of no use now.
        """
        if self._has_tls and _look(self._options) != self._seen:
            seen = _look(self._options)
            try:
                self._tls = _tls_of(self._options)
            except StartError as error:
                raise TlsFailed(str(error)) from None
            self._seen = seen
        return Security(self._tls, self._sasl)

    def _check(self) -> None:
        if self._tls is None:
            return
        from odradek.client.security.tls import context_of

        try:
            context_of(self._tls)
        except SecurityOptionError as error:
            raise StartError(f"{self._options.prefix}{error}") from None


def _look(options: SecurityOptions) -> object:
    from .certificates.look import look_at

    return look_at(options)


def _tls_of(options: SecurityOptions) -> Tls:
    from .certificates.stores import read_key_pair, read_trusted

    get = options.get
    trusted = read_trusted(options)
    has_key = any(map(get, _KEYS))
    pair = read_key_pair(options) if has_key else None
    return Tls(
        Pem() if trusted is None else Pem(Secret(trusted.certificates)),
        Pem() if pair is None else Pem(Secret(pair.chain)),
        Pem() if pair is None else Pem(Secret(pair.key)),
        Secret("" if pair is None else pair.password or ""),
        checks_host_name=get("ssl.endpoint.identification.algorithm") == "https",
        versions=tuple(sorted(get("ssl.enabled.protocols"))),
    )


def _login(options: SecurityOptions, mechanism_option: str) -> Sasl:
    from odradek.client.security.sasl_options import read_sasl

    mechanism = getattr(options.config, mechanism_option.replace(".", "_"))
    if mechanism.upper() not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        raise StartError(
            f"{mechanism_option}={mechanism}: this broker cannot log in with that;"
            f" set it to one of {known}"
        )
    jaas = options.get(_JAAS, mechanism)
    foreign = options.config.foreign
    given = {name: foreign[name] for name in foreign if name.startswith(_TOKENS)}
    if jaas:
        given[_JAAS] = jaas
    try:
        return read_sasl({_MECHANISM: mechanism, **given})
    except SecurityOptionError as error:
        name = f"{options.prefix}{mechanism.lower()}.{_JAAS}"
        what = "sets no user" if not jaas else str(error)
        raise StartError(
            f"{mechanism_option}={mechanism}, and {name} {what}: as whom this broker"
            ' logs in it says by ...LoginModule required username="..." password="...";'
        ) from None
