"""Keys and certificates out of PKCS12, by the package ``cryptography``."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from .stores import KeyPair, StoreError, Trusted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cryptography.x509 import Certificate


def key_pair_of(
    data: bytes, password: str, key_password: str | None, where: str
) -> KeyPair:
    """The key in a PKCS12 and its certificates.

    Raises:
        StoreError: the password is wrong, or there is no key in it.
    """
    store = _loaded(data, (password, key_password or ""), where)
    if store.key is None or store.cert is None:
        raise StoreError(f"{where}: there is no key with a certificate in it")
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = store.key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    ).decode()
    others = [each.certificate for each in store.additional_certs]
    chain = _pem(_in_order(store.cert.certificate, others))
    return KeyPair(chain, key, None, where)


def certificates_of(data: bytes, password: str, where: str) -> Trusted:
    """All certificates in a PKCS12.

    Raises:
        StoreError: the password is wrong, or there are none.
    """
    store = _loaded(data, (password,), where)
    found = [store.cert, *store.additional_certs]
    certificates = [each.certificate for each in found if each is not None]
    if not certificates:
        raise StoreError(f"{where}: there is no certificate in it")
    return Trusted(_pem(certificates), where)


def _loaded(data: bytes, passwords: Iterable[str], where: str) -> Any:
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise StoreError(
            f"{where} is PKCS12, which needs a package that is not there: "
            'pip install "odradek[security]", or use PEM (ssl.certificate.file)'
        ) from None
    for password in passwords:
        with contextlib.suppress(ValueError):
            return load_pkcs12(data, password.encode())
    raise StoreError(f"{where}: the password is wrong, or the file is damaged")


def _in_order(own: Certificate, others: list[Certificate]) -> list[Certificate]:
    """The certificate, who signed it, who signed that; as TLS wants them."""
    chain = [own]
    while chain[-1].issuer != chain[-1].subject:
        issuer = chain[-1].issuer
        signers = [x for x in others if x.subject == issuer and x not in chain]
        if not signers:
            break
        chain.append(signers[0])
    return chain


def _pem(certificates: Iterable[Certificate]) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return "".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)
