"""A folder with a CA, the certificate of a broker, and those of clients.

    ca.pem      the CA's certificate, which clients are given
    ca.key      its key, which nobody is given
    server.pem  the broker's key and certificate, and the CA's
    NAME.pem    the same of a client; NAME.p12 for Java, NAME.p12.password opens it

A broker's key and certificate are one file, so that a new one takes its place in one
step. A CA is never replaced: who wants another one takes another folder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .issuer import Identity, Issuer, IssuingError, pkcs12
from .private_files import PUBLIC, make_folder, replace, write_new

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

LOOPBACK = ("localhost", "127.0.0.1", "::1")
CA_NAME = "odradek CA"
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@-]*", re.ASCII)
_OURS = ("ca", "server", "client")


class ClientFiles(NamedTuple):
    """What a client was issued."""

    pem: Path
    pkcs12: Path
    password: Path


class KeyFolder:
    """One such folder, which may not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ca = path / "ca.pem"
        self.ca_key = path / "ca.key"
        self.server = path / "server.pem"

    def make_ca(self, now: datetime) -> bool:
        """See that there is a CA. Returns whether it is a new one.

        Raises:
            IssuingError: half of one is there, or the package is missing.
            OSError: it cannot be written.
        """
        there = [path for path in (self.ca, self.ca_key) if path.exists()]
        if len(there) == 2:
            return False
        if there == [self.ca_key] and not any(self.path.glob("*.pem")):
            # A run was interrupted here: the key has signed nothing yet.
            made = Issuer.make(CA_NAME, now, self._read(self.ca_key)).identity
            write_new(self.ca, made.certificate, PUBLIC)
            return True
        if there:
            missing = self.ca if there[0] == self.ca_key else self.ca_key
            raise IssuingError(
                f"{there[0]} is there, and {missing.name} is not: put it back, or take"
                " another folder for another CA"
            )
        made = Issuer.make(CA_NAME, now).identity
        make_folder(self.path)
        write_new(self.ca_key, made.key)
        write_new(self.ca, made.certificate, PUBLIC)
        return True

    def make_server(
        self, hosts: Sequence[str], now: datetime, *, renews: bool = False
    ) -> list[str]:
        """Issue the broker's certificate; the names in it, those of this machine too.

        Raises:
            IssuingError: it is there already and nobody ``renews`` it, or a name is
                none.
            OSError: it cannot be written.
        """
        names = list(dict.fromkeys([*hosts, *LOOPBACK]))
        if self.server.exists() and not renews:
            raise IssuingError(
                f"{self.server} is there, and stays as it is; to issue a new one by"
                " the same CA say --renew"
            )
        content = self._with_ca(self._issuer().issue_server(names, now))
        (replace if renews else write_new)(self.server, content)
        return names

    def make_client(
        self, name: str, password: str, now: datetime, *, renews: bool = False
    ) -> ClientFiles:
        """Issue a client's certificate, as PEM and as PKCS12 behind the password.

        Raises:
            IssuingError: it is there already and nobody ``renews`` it, or the name is
                none.
            OSError: it cannot be written.
        """
        if not _FILE_NAME.fullmatch(name) or name.lower() in _OURS:
            raise IssuingError(
                f"{name!r} cannot be the name of its files; use letters, digits, . _"
                " @ and -, and none of " + ", ".join(_OURS)
            )
        files = ClientFiles(
            self.path / f"{name}.pem",
            self.path / f"{name}.p12",
            self.path / f"{name}.p12.password",
        )
        for path in files:
            if path.exists() and not renews:
                raise IssuingError(
                    f"{path} is there, and stays as it is; to issue a new one by the"
                    " same CA say --renew"
                )
        identity = self._issuer().issue_client(name, now)
        store = pkcs12(identity, self.ca.read_text(), name, password)
        write = replace if renews else write_new
        write(files.pem, self._with_ca(identity))
        write(files.pkcs12, store)
        write(files.password, f"{password}\n")
        return files

    def _issuer(self) -> Issuer:
        for path in (self.ca, self.ca_key):
            if not path.exists():
                raise IssuingError(
                    f"{path} is not there: 'odradek cert init --dir {self.path}' makes"
                    " a CA"
                )
        identity = Identity(self._read(self.ca_key), self._read(self.ca))
        return Issuer.read(identity, str(self.path))

    def _read(self, path: Path) -> str:
        try:
            return path.read_text()
        except UnicodeDecodeError:
            raise IssuingError(f"{self.path}: the CA's files are damaged") from None

    def _with_ca(self, identity: Identity) -> str:
        return identity.key + identity.certificate + self.ca.read_text()
