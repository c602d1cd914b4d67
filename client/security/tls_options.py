"""What the options ``ssl.*`` mean: whom to trust, what to show, which versions."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from . import names
from .names import SecurityOptionError
from .settings import Pem, Secret, Tls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VERSIONS = ("TLSv1.2", "TLSv1.3")
_JKS = b"\xfe\xed\xfe\xed"
_DER_SEQUENCE = b"\x30"
_CERTIFICATE = "-----BEGIN CERTIFICATE-----"
_KEY = re.compile(r"-----BEGIN ([A-Z]+ )?PRIVATE KEY-----")
_ENCRYPTED = ("BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED")
_BOOLEANS = {"true": True, "false": False}
# Of what Java's names have and OpenSSL's have not.
_IANA = (
    ("_WITH_", "-"),
    ("AES_", "AES"),
    ("_CBC", ""),
    ("POLY1305_SHA256", "POLY1305"),
    ("_", "-"),
)


def read_tls(options: Mapping[str, str]) -> Tls:
    """TLS as the options say.

    Raises:
        SecurityOptionError: a file cannot be read, or is no PEM, or they contradict.
    """
    trusted = _pem(options, names.TRUSTED_FILES, names.TRUSTED_TEXTS)
    certificate = _pem(options, names.CERTIFICATE_FILES, names.CERTIFICATE_TEXTS)
    key = _pem(options, names.KEY_FILES, names.KEY_TEXTS) or certificate
    name = _first(options, (*names.TRUSTED_FILES, *names.TRUSTED_TEXTS))
    _check_has_certificate(name, trusted)
    _check_identity(options, certificate, key)
    for name in names.STORE_PASSWORDS:
        if name in options:
            raise SecurityOptionError(
                name,
                "files of PEM have none; the key in one may be encrypted, and"
                f" {names.KEY_PASSWORD} opens that",
            )
    versions, ciphers = _versions(options), ""
    if names.CIPHERS in options:
        versions, ciphers = _ciphers(options[names.CIPHERS], versions)
    return Tls(
        trusted,
        certificate,
        key if certificate else Pem(),
        Secret(options.get(names.KEY_PASSWORD, "")),
        checks_certificate=_flag(options, names.CHECKED),
        checks_host_name=_checks_host_name(options),
        versions=versions,
        ciphers=ciphers,
    )


def read_pem(option: str, path: str) -> Pem:
    """The file that the option names.

    Raises:
        SecurityOptionError: it cannot be read, or is no text of PEM.
    """
    path = os.path.expanduser(path)
    try:
        found = Pem.of_file(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SecurityOptionError(option, f"{path}: {reason}") from None
    except UnicodeDecodeError:
        raise SecurityOptionError(option, _store(path)) from None
    if "-----BEGIN " not in found.text.value:
        raise SecurityOptionError(option, _store(path))
    return found


def _store(path: str) -> str:
    """What to do about a file that is no PEM."""
    with open(path, "rb") as file:
        head = file.read(4)
    base, _ = os.path.splitext(path)
    if head == _JKS:
        return (
            f"{path} is a JKS store, which only Java reads: keytool -importkeystore"
            f" -srckeystore {path} -destkeystore {base}.p12 -deststoretype PKCS12,"
            f" then openssl pkcs12 -in {base}.p12 -out {base}.pem -nodes"
        )
    if head[:1] == _DER_SEQUENCE:
        return (
            f"{path} is no PEM: openssl pkcs12 -in {path} -out {base}.pem -nodes makes"
            f" one of a PKCS12 store, openssl x509 -inform der -in {path} -out"
            f" {base}.pem of a certificate"
        )
    return f"{path} has no PEM in it (-----BEGIN ...)"


def _first(options: Mapping[str, str], wanted: Sequence[str]) -> str:
    """The one of these that is set.

    Raises:
        SecurityOptionError: there are several.
    """
    found = [name for name in wanted if name in options]
    if len(found) > 1:
        raise SecurityOptionError(found[1], f"is set, and {found[0]} too; leave one")
    return found[0] if found else ""


def _pem(options: Mapping[str, str], files: Sequence[str], texts: Sequence[str]) -> Pem:
    name = _first(options, (*files, *texts))
    if not name or options[name] == "probe":  # librdkafka's word for the system's
        return Pem()
    if name in files:
        return read_pem(name, options[name])
    text = options[name].replace("\\n", "\n")
    if "-----BEGIN " not in text:
        raise SecurityOptionError(name, "has no PEM in it (-----BEGIN ...)")
    return Pem(Secret(_in_lines(text)))


def _in_lines(text: str) -> str:
    """PEM with its lines: in one line of a properties file blanks stand for them."""
    if "\n" in text:
        return text if text.endswith("\n") else text + "\n"
    parts = re.findall(r"(-----BEGIN [A-Z ]+-----)(.*?)(-----END [A-Z ]+-----)", text)
    return "".join(
        "\n".join([begin, *body.split(), end]) + "\n" for begin, body, end in parts
    )


def _check_has_certificate(name: str, found: Pem) -> None:
    if found and _CERTIFICATE not in found.text.value:
        where = found.path or "it"
        raise SecurityOptionError(name, f"{where} has no certificate in it")


def _check_identity(options: Mapping[str, str], certificate: Pem, key: Pem) -> None:
    of_certificate = (*names.CERTIFICATE_FILES, *names.CERTIFICATE_TEXTS)
    name = _first(options, of_certificate)
    _check_has_certificate(name, certificate)
    has_key = _first(options, (*names.KEY_FILES, *names.KEY_TEXTS))
    if has_key and not certificate:
        raise SecurityOptionError(
            has_key, f"is a key without a certificate; set {of_certificate[1]} too"
        )
    if not certificate:
        return
    if not _KEY.search(key.text.value):
        raise SecurityOptionError(
            has_key or name,
            f"{key.path or 'it'} has no private key in it; set {names.KEY_FILES[0]}",
        )
    is_encrypted = any(mark in key.text.value for mark in _ENCRYPTED)
    if is_encrypted and names.KEY_PASSWORD not in options:
        raise SecurityOptionError(
            names.KEY_PASSWORD, "is not set, and the key is encrypted"
        )


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "true").lower()
    if text not in _BOOLEANS:
        raise SecurityOptionError(name, f"is true or false, and not {text!r}")
    return _BOOLEANS[text]


def _checks_host_name(options: Mapping[str, str]) -> bool:
    text = options.get(names.HOST_NAME, "https").lower()
    if text not in ("https", "", "none"):
        raise SecurityOptionError(
            names.HOST_NAME, f"is https, or empty for no check, and not {text!r}"
        )
    return text == "https"


def _versions(options: Mapping[str, str]) -> tuple[str, ...]:
    text = options.get(names.VERSIONS, ",".join(VERSIONS))
    found = [part.strip() for part in text.split(",") if part.strip()]
    for version in found:
        if version not in VERSIONS:
            raise SecurityOptionError(
                names.VERSIONS, f"knows {' and '.join(VERSIONS)}, not {version!r}"
            )
    return tuple(version for version in VERSIONS if version in found)


def _ciphers(text: str, versions: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The versions that are left, and the list as OpenSSL has it.

    Suites of TLS 1.3 cannot be chosen here; without one of them it is not spoken.
    """
    listed = [part.strip() for part in re.split("[,:]", text) if part.strip()]
    # Those of TLS 1.3 have no WITH in their names.
    later = [
        each for each in listed if each.startswith("TLS_") and "_WITH_" not in each
    ]
    earlier = [_openssl_name(each) for each in listed if each not in later]
    if not later:
        versions = tuple(each for each in versions if each != VERSIONS[1])
    if not earlier:
        versions = tuple(each for each in versions if each != VERSIONS[0])
    if not versions:
        raise SecurityOptionError(
            names.CIPHERS, f"has none for what {names.VERSIONS} allows"
        )
    return versions, ":".join(earlier)


def _openssl_name(name: str) -> str:
    if not name.startswith("TLS_"):
        return name
    name = name.removeprefix("TLS_").removeprefix("RSA_WITH_")
    for said, instead in _IANA:
        name = name.replace(said, instead)
    return name
