"""Cipher suites: by the names of IANA, as Kafka's options have them, or of OpenSSL."""

from __future__ import annotations

import re
import ssl
from typing import Final

# Authenticated encryption, forward secrecy; any client of the last ten years has one.
SAFE: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
_OF_TLS_1_3 = frozenset(
    {
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
    }
)
_IANA = (
    r"TLS_(?P<exchange>[A-Z_]+?)_WITH_(?:(?P<chacha>CHACHA20_POLY1305)_SHA256"
    r"|AES_(?P<bits>128|256)_(?P<mode>GCM|CBC)_(?P<hash>SHA\d*))"
)


def choose_suites(context: ssl.SSLContext, names: tuple[str, ...]) -> None:
    """Have ``context`` speak these suites, those of TLS 1.3 among them; none: the safe.

    Raises:
        ValueError: one is not known, or not to be chosen here.
    """
    newer = [name for name in names if name in _OF_TLS_1_3]
    older = [openssl_name(name) for name in names if name not in _OF_TLS_1_3]
    for name in older:
        _see_that_it_is_known(name)
    speaks_newer = context.maximum_version == ssl.TLSVersion.TLSv1_3
    if names and speaks_newer:
        _choose_newer(context, newer)
    if names and not older and context.minimum_version < ssl.TLSVersion.TLSv1_3:
        raise ValueError(
            "it has no suite of TLSv1.2, which is on: name one, or set "
            "ssl.enabled.protocols=TLSv1.3"
        )
    context.set_ciphers(":".join(older) or SAFE)


def openssl_name(name: str) -> str:
    """The name that OpenSSL has for a suite of TLS 1.2 with that name."""
    found = re.fullmatch(_IANA, name)
    if found is None:
        return name
    exchange = found["exchange"].replace("_", "-")
    cipher = "CHACHA20-POLY1305" if found["chacha"] else f"AES{found['bits']}"
    if found["mode"] == "GCM":
        cipher += "-GCM"
    parts = [cipher] if found["chacha"] else [cipher, found["hash"]]
    return "-".join(parts if exchange == "RSA" else [exchange, *parts])


def _see_that_it_is_known(name: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.set_ciphers(name)
    except ssl.SSLError:
        raise ValueError(f"there is no cipher suite {name}") from None


def _choose_newer(context: ssl.SSLContext, names: list[str]) -> None:
    if set(names) == _OF_TLS_1_3:
        return
    if names and hasattr(context, "set_ciphersuites"):  # since Python 3.15
        context.set_ciphersuites(":".join(names))
        return
    raise ValueError(
        "this Python cannot choose among the suites of TLSv1.3, which is on: name all "
        f"three ({', '.join(sorted(_OF_TLS_1_3))}), or set "
        "ssl.enabled.protocols=TLSv1.2"
    )
