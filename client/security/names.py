"""The options of TLS and SASL by name: those of Java's clients and of librdkafka.

A name that looks like one of them and is none is refused, with the one that was meant:
a misspelt option would otherwise leave something unprotected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.terminal.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

PROTOCOL = "security.protocol"
MECHANISM = "sasl.mechanism"
JAAS = "sasl.jaas.config"
HOST_NAME = "ssl.endpoint.identification.algorithm"
CHECKED = "enable.ssl.certificate.verification"

# A file, or the text itself, under the names that each kind of client has for it.
TRUSTED_FILES = ("ssl.truststore.location", "ssl.ca.location")
TRUSTED_TEXTS = ("ssl.truststore.certificates", "ssl.ca.pem")
CERTIFICATE_FILES = ("ssl.keystore.location", "ssl.certificate.location")
CERTIFICATE_TEXTS = ("ssl.keystore.certificate.chain", "ssl.certificate.pem")
KEY_FILES = ("ssl.key.location",)
KEY_TEXTS = ("ssl.keystore.key", "ssl.key.pem")
KEY_PASSWORD = "ssl.key.password"
STORE_PASSWORDS = ("ssl.keystore.password", "ssl.truststore.password")
STORE_TYPES = ("ssl.keystore.type", "ssl.truststore.type")
VERSIONS = "ssl.enabled.protocols"
CIPHERS = "ssl.cipher.suites"
TLS = (
    *(*TRUSTED_FILES, *TRUSTED_TEXTS, *CERTIFICATE_FILES, *CERTIFICATE_TEXTS),
    *(*KEY_FILES, *KEY_TEXTS, KEY_PASSWORD, *STORE_PASSWORDS, *STORE_TYPES),
    *(VERSIONS, CIPHERS, HOST_NAME, CHECKED),
)

USER, PASSWORD = "sasl.username", "sasl.password"
TOKEN_FILE = "sasl.oauthbearer.token.file"
TOKEN_COMMAND = "sasl.oauthbearer.token.command"
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
CLIENT_IDS = (
    "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.id",
)
CLIENT_SECRETS = (
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.client.secret",
)
SCOPE = "sasl.oauthbearer.scope"
EXTENSIONS = "sasl.oauthbearer.extensions"
METHOD = "sasl.oauthbearer.method"
HTTPS_FILE, HTTPS_TEXT = "https.ca.location", "https.ca.pem"
LOGIN_HANDLER = "sasl.login.callback.handler.class"
RETRIEVER = "sasl.oauthbearer.jwt.retriever.class"
SASL = (
    *(MECHANISM, JAAS, USER, PASSWORD, TOKEN_FILE, TOKEN_COMMAND, ENDPOINT),
    *(*CLIENT_IDS, *CLIENT_SECRETS, SCOPE, EXTENSIONS, METHOD),
    *(HTTPS_FILE, HTTPS_TEXT, LOGIN_HANDLER, RETRIEVER),
)
ALIASES = {"sasl.mechanisms": MECHANISM}
# Whose values nobody may see; `JAAS` has one inside.
SECRETS = (PASSWORD, KEY_PASSWORD, *STORE_PASSWORDS, *KEY_TEXTS, *CLIENT_SECRETS)
USED = (PROTOCOL, *TLS, *SASL, *ALIASES)

# What makes no difference here: of Kerberos, of other threads, of Java's own parts.
IGNORED = (
    *("ssl.protocol", "ssl.keymanager.algorithm", "ssl.trustmanager.algorithm"),
    *("ssl.secure.random.implementation", "sasl.login.connect.timeout.ms"),
    *("sasl.login.read.timeout.ms", "sasl.login.retry.backoff.ms"),
    *("sasl.login.retry.backoff.max.ms", "sasl.login.refresh.window.factor"),
    *("sasl.login.refresh.window.jitter", "sasl.login.refresh.min.period.seconds"),
    *("sasl.login.refresh.buffer.seconds", "sasl.oauthbearer.sub.claim.name"),
    *("sasl.oauthbearer.scope.claim.name", "sasl.oauthbearer.clock.skew.seconds"),
    *("sasl.oauthbearer.jwt.validator.class", "sasl.oauthbearer.header.urlencode"),
    *("sasl.oauthbearer.expected.audience", "sasl.oauthbearer.expected.issuer"),
    *("sasl.kerberos.service.name", "sasl.kerberos.kinit.cmd"),
    *("sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.min.time.before.relogin"),
    *("sasl.kerberos.ticket.renew.window.factor", "sasl.kerberos.keytab"),
    *("sasl.kerberos.principal", "ssl.ca.certificate.stores"),
)
_JAVA = "names a class of Java, which cannot be loaded here"
_UNSIGNED = "makes tokens that nobody has signed"
_OPENSSL = "an OpenSSL engine or provider is not loaded here"
REFUSED = {
    "security.providers": _JAVA,
    "ssl.engine.factory.class": _JAVA,
    "ssl.provider": _JAVA,
    "sasl.client.callback.handler.class": _JAVA,
    "sasl.login.class": _JAVA,
    "enable.sasl.oauthbearer.unsecure.jwt": _UNSIGNED,
    "sasl.oauthbearer.config": _UNSIGNED,
    "ssl.crl.location": "lists of revoked certificates are not read here",
    "ssl.curves.list": "curves cannot be chosen here",
    "ssl.sigalgs.list": "signature algorithms cannot be chosen here",
    "ssl.engine.location": _OPENSSL,
    "ssl.engine.id": _OPENSSL,
    "ssl.providers": _OPENSSL,
}
_FAMILIES = ("ssl.", "sasl.", "security.", "https.ca.", "enable.ssl.", "enable.sasl.")
# Others share words with ours: near names of these alone are taken for mistakes.
_NEAR = 0.85
_NEAR_OF = (PROTOCOL, MECHANISM, "sasl.mechanisms", JAAS, USER, PASSWORD)


class SecurityOptionError(ValueError):
    """An option of TLS or SASL is unknown, or cannot be so; no secret is in it."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.option = option
        self.reason = reason

    def __reduce__(self) -> tuple[type[SecurityOptionError], tuple[str, str]]:
        return type(self), (self.option, self.reason)


def is_of_security(name: str) -> bool:
    """Whether an option is about TLS or SASL, so far as its name says."""
    return name in USED or name.startswith(_FAMILIES)


def check_names(names: Iterable[str]) -> None:
    """Whether all that are about TLS and SASL are known; others are not looked at.

    Raises:
        SecurityOptionError: one is not, or is refused.
    """
    for name in names:
        if name in REFUSED:
            raise SecurityOptionError(name, f"{REFUSED[name]}; leave it out")
        if name in USED or name in IGNORED:
            continue
        known = (*USED, *IGNORED)
        if is_of_security(name):
            meant = did_you_mean(name, known)
            hint = f"; did you mean {meant}?" if meant else ""
            raise SecurityOptionError(name, f"there is no such option{hint}")
        meant = did_you_mean(name, _NEAR_OF, _NEAR)
        if meant:
            raise SecurityOptionError(
                name, f"there is no such option; did you mean {meant}?"
            )
