"""All that a secure broker and its first client need, in one folder.

Besides the certificates of a `KeyFolder`:

    admin.password         the first user's
    client.properties      the options of a client: of Java, and of our own commands
    librdkafka.properties  the same for confluent-kafka and kcat
    server.properties      the options of the broker

All but the certificate of the CA are for their owner alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.cli.snippets.client import Client
from odradek.broker.cli.snippets.option_files import (
    as_plain_lines,
    as_properties,
    java_options,
    librdkafka_options,
)
from odradek.broker.security.issuing.issuer import IssuingError
from odradek.broker.security.issuing.key_folder import KeyFolder
from odradek.broker.security.issuing.private_files import make_folder, write_new
from odradek.protocol.properties import parse_properties
from odradek.terminal.password import password_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from odradek.protocol.messages.scram import ScramCredentialUpsertion

ADMIN = "admin"


class SecureFolder(NamedTuple):
    """One such folder, which may not be there yet."""

    path: Path

    @property
    def keys(self) -> KeyFolder:
        """The certificates."""
        return KeyFolder(self.path)

    @property
    def password_file(self) -> Path:
        """The first user's password."""
        return self.path / "admin.password"

    @property
    def java_file(self) -> Path:
        """A client's options, as Java reads them."""
        return self.path / "client.properties"

    @property
    def librdkafka_file(self) -> Path:
        """A client's options, as librdkafka has them."""
        return self.path / "librdkafka.properties"

    @property
    def server_file(self) -> Path:
        """The broker's options."""
        return self.path / "server.properties"

    def client(self, bootstrap: str, user: str) -> Client:
        """The first user's client."""
        return Client(
            bootstrap,
            self.keys.ca,
            user=user,
            password_file=self.password_file,
            java_file=self.java_file,
            librdkafka_file=self.librdkafka_file,
        )

    def read_client(self) -> Client:
        """The one whose options were written here.

        Raises:
            IssuingError: there is none.
        """
        try:
            text = self.librdkafka_file.read_text()
        except (OSError, UnicodeDecodeError):
            raise IssuingError(
                f"{self.librdkafka_file} cannot be read: 'odradek secure init --dir"
                f" {self.path}' makes a folder with it, 'odradek serve --secure' one in"
                " its data directory (security)"
            ) from None
        options = {entry.name: entry.value for entry in parse_properties(text)}
        bootstrap = options.get("bootstrap.servers", "")
        return self.client(bootstrap, options.get("sasl.username", ADMIN))

    def keep_password(self, password: str) -> str:
        """Write the password; the one that is there already stays. Returns it.

        Raises:
            NoPassword, OSError: the file cannot be used.
        """
        make_folder(self.path)
        if not self.password_file.exists():
            write_new(self.password_file, f"{password}\n")
        return password_in(self.password_file)

    def write_clients(self, bootstrap: str, user: str, password: str) -> None:
        """Write the two files of client options, where they are not there.

        Raises:
            OSError: they cannot be written.
        """
        client = self.client(bootstrap, user)
        texts = {
            self.java_file: as_properties(java_options(client, password)),
            self.librdkafka_file: as_plain_lines(librdkafka_options(client, password)),
        }
        for path, text in texts.items():
            if not path.exists():
                write_new(path, text)


def credentials(user: str, password: str) -> Sequence[ScramCredentialUpsertion]:
    """What lets the user log in by every mechanism of SCRAM."""
    from odradek.client.scram import Mechanism, upsertion_of

    return [upsertion_of(user, password, mechanism) for mechanism in Mechanism]


def broker_options(folder: SecureFolder, user: str) -> list[tuple[str, str]]:
    """What makes a broker secure, whatever its listeners are."""
    return [
        ("sasl.enabled.mechanisms", "SCRAM-SHA-256,SCRAM-SHA-512"),
        ("ssl.certificate.file", str(folder.keys.server)),
        ("authorizer.class.name", "acl"),
        ("super.users", f"User:{user}"),
    ]


def check_user(user: str) -> str:
    """The name, which has to fit into every file of options.

    Raises:
        ValueError: it does not.
    """
    if not user.strip() or user != user.strip() or not user.isprintable():
        raise ValueError(f"{user!r} is not the name of a user")
    if ";" in user or len(user) > 255:
        raise ValueError(f"{user!r} is not the name of a user: it has ; or is too long")
    return user
