"""A client, as far as its options say how it connects and who it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

MECHANISM = "SCRAM-SHA-512"
TOPIC = "hello"


class Client(NamedTuple):
    """Where it connects to, whom it trusts, and how it shows who it is.

    It has a certificate (with its key in the same file of PEM), or a user with a file
    that holds the password. The two files of options have all of that in them, for
    Java's clients and for those of librdkafka.
    """

    bootstrap: str
    ca: Path
    certificate: Path | None = None
    user: str = ""
    password_file: Path | None = None
    java_file: Path | None = None
    librdkafka_file: Path | None = None

    @property
    def protocol(self) -> str:
        """As ``security.protocol`` calls it."""
        return "SASL_SSL" if self.user else "SSL"
