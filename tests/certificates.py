"""Keys and certificates of tests, made by ``openssl`` when they are first wanted.

They have what Python 3.13 asks for where it makes a context by itself.
"""

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

SERVER = "/O=Example/CN=localhost"
ALICE = "/C=NO/O=Example/OU=Orders/CN=alice"
ALICE_AS_JAVA_HAS_IT = "CN=alice,OU=Orders,O=Example,C=NO"
# Of a CA, and of who has a certificate of it.
SIGNS = "keyUsage=critical,keyCertSign,cRLSign"
KEY_NAMES = "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"


class Holder(NamedTuple):
    """Somebody with a key and a certificate, as files of PEM."""

    certificate: Path
    key: Path


class Authority:
    """A CA, and who has a certificate of it."""

    def __init__(self, directory: Path, name: str = "Test CA") -> None:
        if shutil.which("openssl") is None:
            pytest.skip("needs openssl")
        self._directory = directory
        self.key = directory / "ca.key"
        self.certificate = directory / "ca.pem"
        _make_key(self.key)
        given = ["-x509", "-new", "-key", self.key, "-days", "900"]
        given += ["-addext", SIGNS]
        _openssl("req", *given, "-subj", f"/CN={name}", "-out", self.certificate)
        self._count = 0

    def issue(
        self,
        subject: str,
        *,
        names: Iterable[str] = (),
        days: int = 800,
        more: Iterable[str] = (),
    ) -> Holder:
        """A new key with a certificate; ``names`` are like DNS:localhost."""
        self._count += 1
        stem = self._directory / f"holder{self._count}"
        key, request = stem.with_suffix(".key"), stem.with_suffix(".csr")
        certificate, extensions = stem.with_suffix(".pem"), stem.with_suffix(".ext")
        _make_key(key)
        _openssl(
            *("req", "-new", "-utf8", "-key", key, "-subj", subject, "-out", request),
            *more,
        )
        named = list(names)
        text = f"subjectAltName={','.join(named)}\n" if named else ""
        extensions.write_text(text + KEY_NAMES)
        given = ["-in", request, "-CA", self.certificate, "-CAkey", self.key]
        given += ["-CAcreateserial", "-extfile", extensions, "-days", str(days)]
        _openssl("x509", "-req", *given, "-out", certificate)
        return Holder(certificate, key)

    def server(self) -> Holder:
        """Who clients of this machine find under every name."""
        return self.issue(SERVER, names=["DNS:localhost", "IP:127.0.0.1"])

    def pkcs12(self, holder: Holder, password: str) -> Path:
        """The key of somebody and all certificates up to the CA in one file."""
        path = holder.certificate.with_suffix(".p12")
        given = ["-in", holder.certificate, "-inkey", holder.key]
        given += ["-certfile", self.certificate, "-passout", f"pass:{password}"]
        _openssl("pkcs12", "-export", *given, "-out", path)
        return path


@cache
def authority() -> Authority:
    """The CA of all tests of this process."""
    return Authority(_kept_directory())


@cache
def server() -> Holder:
    """The broker's certificate in most tests."""
    return authority().server()


@cache
def alice() -> Holder:
    """A client's certificate."""
    return authority().issue(ALICE)


@cache
def stranger() -> Holder:
    """Somebody with a certificate of another CA."""
    return Authority(_kept_directory(), "Foreign CA").issue(ALICE)


def encrypted_key(holder: Holder, password: str) -> Path:
    """The key of somebody behind a password."""
    path = holder.key.with_suffix(".encrypted")
    given = ["-topk8", "-in", holder.key, "-passout", f"pass:{password}"]
    _openssl("pkcs8", *given, "-out", path)
    return path


def _kept_directory() -> Path:
    directory = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return Path(directory)


def _make_key(path: Path) -> None:
    given = ["-name", "prime256v1", "-genkey", "-noout"]
    _openssl("ecparam", *given, "-out", path)


def _openssl(*arguments: str | Path) -> None:
    run = subprocess.run(["openssl", *map(str, arguments)], capture_output=True)
    assert run.returncode == 0, run.stderr.decode()
