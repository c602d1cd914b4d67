"""A CA of our own, which issues certificates to brokers and clients.

The keys are of P-256: every client has it, and handshakes are the cheapest. It is made
by the package ``cryptography``, which nobody needs who brings his own certificates.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, CertificateBuilder

CA_DAYS = 3650
# What some clients believe at most, those of Apple.
DAYS = 825
_CLOCKS_DIFFER = timedelta(hours=1)
_COMMON_NAME_MAX = 64
_LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
_HOST = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*", re.ASCII)


class IssuingError(Exception):
    """A certificate cannot be made; the message says why, and what helps."""


class Identity(NamedTuple):
    """A key with its certificate, as PEM."""

    key: str
    certificate: str


class Issuer:
    """A CA: its key, and its certificate."""

    def __init__(self, key: EllipticCurvePrivateKey, certificate: Certificate) -> None:
        self._key = key
        self._certificate = certificate

    @classmethod
    def make(cls, name: str, now: datetime, key_text: str | None = None) -> Issuer:
        """A new one; it may have a key already, as PEM.

        Raises:
            IssuingError: the package is missing, or that is no key.
        """
        see_that_it_is_there()
        from cryptography import x509

        key = _new_key() if key_text is None else _known_key(key_text)
        subject = _name(name)
        builder = _builder(subject, subject, key.public_key(), now, CA_DAYS)
        builder = builder.add_extension(x509.BasicConstraints(True, 0), critical=True)
        builder = builder.add_extension(_usage(signs=True), critical=True)
        return cls(key, _signed(builder, key))

    @classmethod
    def read(cls, identity: Identity, where: str) -> Issuer:
        """The one that was kept as PEM.

        Raises:
            IssuingError: it cannot be used, or the package is missing.
        """
        see_that_it_is_there()
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key: Any = load_pem_private_key(identity.key.encode(), None)
            certificate = x509.load_pem_x509_certificate(identity.certificate.encode())
        except (ValueError, TypeError):
            raise IssuingError(
                f"{where}: no CA can be read from it; it, or its key, is damaged"
            ) from None
        if key.public_key() != certificate.public_key():
            raise IssuingError(f"{where}: the key is not that of the certificate")
        return cls(key, certificate)

    @property
    def identity(self) -> Identity:
        """To be kept."""
        return Identity(_key_text(self._key), _certificate_text(self._certificate))

    def issue_server(self, hosts: Sequence[str], now: datetime) -> Identity:
        """For a broker that clients reach under these names and addresses.

        Raises:
            IssuingError: one of them is none.
        """
        names = [_general_name(host) for host in hosts]
        common = hosts[0]
        if len(common) > _COMMON_NAME_MAX:  # no client looks at it beside the others
            common = common.partition(".")[0]
        return self._issue(_name(common), now, names)

    def issue_client(self, name: str, now: datetime) -> Identity:
        """For a client that is called ``name``.

        Raises:
            IssuingError: the name cannot be in a certificate.
        """
        return self._issue(_name(name), now)

    def _issue(
        self, subject: Any, now: datetime, names: Iterable[Any] = ()
    ) -> Identity:
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = _new_key()
        issuer = self._certificate.subject
        named = list(names)
        builder = _builder(subject, issuer, key.public_key(), now, DAYS)
        builder = builder.add_extension(
            x509.BasicConstraints(False, None), critical=True
        )
        builder = builder.add_extension(_usage(signs=False), critical=True)
        purpose = ExtendedKeyUsageOID.CLIENT_AUTH
        if named:
            purpose = ExtendedKeyUsageOID.SERVER_AUTH
            alternative = x509.SubjectAlternativeName(named)
            builder = builder.add_extension(alternative, critical=False)
        builder = builder.add_extension(
            x509.ExtendedKeyUsage([purpose]), critical=False
        )
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(
            self._key.public_key()
        )
        builder = builder.add_extension(signer, critical=False)
        signed = _signed(builder, self._key)
        return Identity(_key_text(key), _certificate_text(signed))


def pkcs12(identity: Identity, ca: str, name: str, password: str) -> bytes:
    """The identity and the certificate of its CA in one file, as Java likes it."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        load_pem_private_key,
    )
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        serialize_key_and_certificates,
    )

    key: Any = load_pem_private_key(identity.key.encode(), None)
    certificate = x509.load_pem_x509_certificate(identity.certificate.encode())
    above = [x509.load_pem_x509_certificate(ca.encode())]
    encryption = BestAvailableEncryption(password.encode())
    return serialize_key_and_certificates(
        name.encode(), key, certificate, above, encryption
    )


def see_that_it_is_there() -> None:
    """Whether certificates can be made here.

    Raises:
        IssuingError: the package is missing; says what to type.
    """
    try:
        import cryptography  # noqa: F401
    except ImportError:
        from odradek.terminal.installation import install_command

        raise IssuingError(
            "to make certificates a package is needed that is not there:"
            f" {install_command('security')}"
        ) from None


def _general_name(host: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        pass
    if len(host) > 253 or not _HOST.fullmatch(host):
        raise IssuingError(
            f"{host!r} is not the name of a host, nor an address; write it like"
            " kafka.example.com or 192.0.2.1"
        )
    return x509.DNSName(host.lower())


def _name(text: str) -> Any:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    if not text.strip() or not text.isprintable():
        raise IssuingError(f"{text!r} is not a name that a certificate can have")
    if len(text) > _COMMON_NAME_MAX:
        raise IssuingError(
            f"{text} has more than {_COMMON_NAME_MAX} characters, the most that the"
            " name in a certificate has"
        )
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _known_key(text: str) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key: Any = load_pem_private_key(text.encode(), None)
    except (ValueError, TypeError):
        raise IssuingError("the CA's key is damaged: remove its file") from None
    return key  # type: ignore[no-any-return]


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _builder(
    subject: Any, issuer: Any, public_key: Any, now: datetime, days: int
) -> CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False
        )
    )


def _usage(*, signs: bool) -> Any:
    """What the key is for: to sign certificates, or handshakes."""
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(builder: CertificateBuilder, key: EllipticCurvePrivateKey) -> Certificate:
    from cryptography.hazmat.primitives.hashes import SHA256

    return builder.sign(key, SHA256())


def _key_text(key: EllipticCurvePrivateKey) -> str:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _certificate_text(certificate: Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()
