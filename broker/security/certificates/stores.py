"""Where the broker's key and the CAs that it trusts are kept, whatever the format.

PEM is what TLS here is given; PKCS12 is unpacked into it. A file that is called JKS is
looked into: since Java 9 most of them are PKCS12. Kafka's rules for what may stand
together are in `odradek.broker.config.options.security.tls_checks`.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.runtime.start_error import StartError

if TYPE_CHECKING:
    from odradek.broker.config.options.security.per_listener import SecurityOptions

_JKS, _JCEKS = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL
)
_KEY = re.compile(
    r"-----BEGIN (?P<kind>(?:[A-Z0-9]+ )*PRIVATE KEY)-----.+?-----END (?P=kind)-----",
    re.DOTALL,
)
_SIZE_MAX = 16 << 20  # the CAs of all the world are 0.2 MiB


_logger = logging.getLogger(__name__)


class StoreError(StartError):
    """A key or a certificate cannot be used; the message says which and why."""


class KeyPair(NamedTuple):
    """The broker's certificates up to its CA, its key, and what decrypts that."""

    chain: str
    key: str
    password: str | None
    where: str


class Trusted(NamedTuple):
    """Certificates whose holders, and whom they vouch for, are trusted."""

    certificates: str
    where: str


def read_key_pair(options: SecurityOptions) -> KeyPair:
    """The broker's key and certificates.

    Raises:
        StoreError: there are none, or they cannot be read.
    """
    get, password = options.get, options.get("ssl.key.password")
    if get("ssl.certificate.file"):
        certificates = read_text(get("ssl.certificate.file"), "ssl.certificate.file")
        key_name = "ssl.key.file" if get("ssl.key.file") else "ssl.certificate.file"
        key = read_text(get(key_name), key_name)
        warn_of_readers(get(key_name), key_name)
        where = f"{options.name_of(key_name)}={get(key_name)}"
        return _of_pem(certificates, key, password, where)
    if get("ssl.keystore.key"):
        where = options.name_of("ssl.keystore.key")
        chain = get("ssl.keystore.certificate.chain")
        return _of_pem(
            _with_lines(chain), _with_lines(get("ssl.keystore.key")), password, where
        )
    location = get("ssl.keystore.location")
    if not location:
        raise StoreError(_no_key(options))
    where = f"{options.name_of('ssl.keystore.location')}={location}"
    warn_of_readers(location, "ssl.keystore.location")
    if get("ssl.keystore.type").upper() == "PEM":
        text = read_text(location, "ssl.keystore.location")
        return _of_pem(text, text, password, where)
    data = _read(location, "ssl.keystore.location")
    _see_that_it_is_pkcs12(data, location, where)
    from .pkcs12 import key_pair_of

    return key_pair_of(data, get("ssl.keystore.password") or "", password, where)


def read_trusted(options: SecurityOptions) -> Trusted | None:
    """The CAs whose clients are trusted; None where nothing names any.

    Raises:
        StoreError: they cannot be read.
    """
    get = options.get
    if get("ssl.ca.file"):
        where = f"{options.name_of('ssl.ca.file')}={get('ssl.ca.file')}"
        return _certificates(read_text(get("ssl.ca.file"), "ssl.ca.file"), where)
    inline = get("ssl.truststore.certificates")
    if inline:
        where = options.name_of("ssl.truststore.certificates")
        return _certificates(_with_lines(inline), where)
    location = get("ssl.truststore.location")
    if not location:
        return None
    where = f"{options.name_of('ssl.truststore.location')}={location}"
    if get("ssl.truststore.type").upper() == "PEM":
        return _certificates(read_text(location, "ssl.truststore.location"), where)
    data = _read(location, "ssl.truststore.location")
    _see_that_it_is_pkcs12(data, location, where)
    from .pkcs12 import certificates_of

    return certificates_of(data, get("ssl.truststore.password") or "", where)


def certificates_in(text: str) -> list[str]:
    """The certificates of a text of PEM, each as PEM."""
    return _CERTIFICATE.findall(text)


def _of_pem(chain: str, key: str, password: str | None, where: str) -> KeyPair:
    certificates, found = certificates_in(chain), _KEY.search(key)
    if not certificates:
        raise StoreError(f"{where}: there is no certificate (-----BEGIN CERTIFICATE)")
    if found is None:
        raise StoreError(f"{where}: there is no key (-----BEGIN PRIVATE KEY-----)")
    return KeyPair("\n".join(certificates) + "\n", found[0] + "\n", password, where)


def _certificates(text: str, where: str) -> Trusted:
    certificates = certificates_in(text)
    if not certificates:
        raise StoreError(f"{where}: there is no certificate (-----BEGIN CERTIFICATE)")
    return Trusted("\n".join(certificates) + "\n", where)


def _with_lines(text: str) -> str:
    """PEM that was written into one line, with blanks or \\n in the place of ends."""
    text = text.replace("\\n", "\n").strip()
    if "\n" in text:
        return text
    return re.sub(
        r"(-----BEGIN [A-Z0-9 ]+-----)(.+?)(-----END [A-Z0-9 ]+-----)",
        lambda found: "\n".join((found[1], *found[2].split(), found[3], "")),
        text,
    )


def read_text(path: str, name: str) -> str:
    """The text of a file that the option ``name`` says.

    Raises:
        StoreError: it cannot be read, or is none.
    """
    try:
        return _read(path, name).decode()
    except UnicodeDecodeError:
        raise StoreError(
            f"{name}={path} is not PEM: it holds no text; a keystore of Java is "
            "named by ssl.keystore.location with ssl.keystore.type=PKCS12"
        ) from None


def warn_of_readers(path: str, name: str) -> None:
    """Say that a key is open to all, behind links, too; refuse what all can write.

    Raises:
        StoreError: anybody on this machine could put another key there.
    """
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return  # who reads it has said so
    if not mode & (stat.S_IWOTH | stat.S_IROTH):
        return
    from shlex import quote

    if mode & stat.S_IWOTH:
        raise StoreError(
            f"{name}={path} can be written by everybody on this machine (mode "
            f"{mode:o}): chmod 600 {quote(path)}"
        )
    _logger.warning(
        "%s=%s has a key in it, and everybody on this machine can read it (mode "
        "%o): chmod 600 %s",
        name,
        path,
        mode,
        quote(path),
    )


def _read(path: str, name: str) -> bytes:
    try:
        # A pipe would be waited for, until somebody writes into it.
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise StoreError(f"{name}={path} is no file")
            data = file.read(_SIZE_MAX + 1)
    except OSError as error:
        raise StoreError(f"cannot read {name}={path}: {error.strerror}") from None
    if len(data) > _SIZE_MAX:
        raise StoreError(f"{name}={path} has more than {_SIZE_MAX >> 20} MiB")
    return data


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _see_that_it_is_pkcs12(data: bytes, path: str, where: str) -> None:
    kind = "truststore" if "truststore" in where else "keystore"
    if data[:4] in (_JKS, _JCEKS):
        from shlex import quote

        java, made = "JKS" if data[:4] == _JKS else "JCEKS", _beside(path)
        raise StoreError(
            f"{where} is a {java}, which only Java reads; make a PKCS12 of it: keytool "
            f"-importkeystore -srckeystore {quote(path)} -srcstoretype {java} "
            f"-destkeystore {quote(made)} -deststoretype PKCS12; then set "
            f"ssl.{kind}.location={made} and ssl.{kind}.type=PKCS12"
        )
    if data.lstrip()[:11] == b"-----BEGIN ":
        raise StoreError(f"{where} is PEM: add ssl.{kind}.type=PEM")
    if data[:1] != b"\x30":
        raise StoreError(f"{where} is neither PEM nor PKCS12")


def _beside(path: str) -> str:
    """A name for the PKCS12 that will be made of a keystore."""
    made = Path(path).with_suffix(".p12")
    return str(made if str(made) != path else made.with_suffix(".pkcs12"))


def _no_key(options: SecurityOptions) -> str:
    prefix, listener = options.prefix, options.listener
    return (
        f"listener {listener} wants {listener.security_protocol}, and has no "
        f"certificate: set ssl.certificate.file and ssl.key.file, or Kafka's "
        f"ssl.keystore.location (for this listener alone with {prefix} in front)"
    )
