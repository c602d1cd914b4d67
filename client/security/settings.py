"""What a client needs to know for TLS and SASL, as values that can be sent to others.

Whoever prints them sees no secret: those are of a type of their own, which only says
what it is when it is asked by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

HIDDEN = "***"
PLAINTEXT, SSL = "PLAINTEXT", "SSL"
SASL_PLAINTEXT, SASL_SSL = "SASL_PLAINTEXT", "SASL_SSL"
PROTOCOLS = (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)

PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = (PLAIN, *SCRAM, OAUTHBEARER)


@dataclass(frozen=True, repr=False)
class Secret:
    """A text that nobody prints by mistake."""

    value: str = ""

    def __repr__(self) -> str:
        return HIDDEN if self.value else "''"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __bool__(self) -> bool:
        return bool(self.value)


@dataclass(frozen=True)
class Pem:
    """Certificates or a key, as text; and the file that it was read from, if any.

    Where the file is, it is read again: it may have been renewed. A task of Spark on
    another machine does not have it, and takes the text.
    """

    text: Secret = field(default_factory=Secret)
    path: str = ""

    def __bool__(self) -> bool:
        return bool(self.text)

    @classmethod
    def of_file(cls, path: str) -> Pem:
        """What stands in the file.

        Raises:
            OSError, UnicodeDecodeError: it cannot be read, or is no text.
        """
        return cls(Secret(Path(path).read_text()), path)

    def read(self) -> str:
        """The text of now."""
        if self.path:
            try:
                return Path(self.path).read_text()
            except (OSError, UnicodeDecodeError):
                pass
        return self.text.value


@dataclass(frozen=True)
class Tls:
    """Whom a client trusts, and how it shows who it is itself.

    Without ``trusted`` it trusts whom this machine does.
    """

    trusted: Pem = field(default_factory=Pem)
    certificate: Pem = field(default_factory=Pem)
    key: Pem = field(default_factory=Pem)
    key_password: Secret = field(default_factory=Secret)
    checks_certificate: bool = True
    checks_host_name: bool = True
    versions: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    ciphers: str = ""


@dataclass(frozen=True)
class OAuth:
    """Where a token comes from: a file, a command, or the login of a client (OIDC)."""

    token_file: str = ""
    token_command: str = ""
    endpoint_url: str = ""
    client_id: str = ""
    client_secret: Secret = field(default_factory=Secret)
    scope: str = ""
    trusted: Pem = field(default_factory=Pem)
    extensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Sasl:
    """By which mechanism a client logs in, and as whom."""

    mechanism: str
    user: str = ""
    password: Secret = field(default_factory=Secret)
    is_token: bool = False
    oauth: OAuth = field(default_factory=OAuth)


@dataclass(frozen=True)
class Security:
    """How brokers are spoken to. ``origin`` names the file that says so, if any."""

    tls: Tls | None = None
    sasl: Sasl | None = None
    origin: str = ""

    @property
    def protocol(self) -> str:
        """As ``security.protocol`` calls it."""
        if self.sasl is None:
            return PLAINTEXT if self.tls is None else SSL
        return SASL_PLAINTEXT if self.tls is None else SASL_SSL


UNPROTECTED = Security()
