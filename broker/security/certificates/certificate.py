"""What a certificate says: who has it, until when, and under which names (RFC 5280)."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime
from typing import NamedTuple

from .der import DerError, Value, only_value, values
from .distinguished_name import distinguished_name

_CONTEXT_0, _CONTEXT_3 = 0xA0, 0xA3
_UTC_TIME = 0x17
_MOMENT_SIZE = len("20261231235959Z")
_OCTET_STRING = 0x04
_ALTERNATIVE_NAMES = bytes.fromhex("551d11")  # 2.5.29.17
_DNS_NAME, _IP_ADDRESS = 0x82, 0x87


class Certificate(NamedTuple):
    """A certificate; times are in seconds since 1970, names in lower case."""

    subject: str
    not_before: float
    not_after: float
    names: frozenset[str]

    def is_for(self, host: str) -> bool:
        """Whether a client that checks host names accepts it for ``host``."""
        host = host.lower().rstrip(".")
        _, _, parent = host.partition(".")
        return host in self.names or (bool(parent) and f"*.{parent}" in self.names)


def parse_certificate(encoded: bytes) -> Certificate:
    """What the certificate in DER says.

    Raises:
        DerError: it is none.
    """
    fields = _fields(encoded)
    validity, subject = fields[3].inside(), fields[4]
    if len(validity) != 2:
        raise DerError("a validity is two times")
    return Certificate(
        distinguished_name(subject),
        _moment(validity[0]),
        _moment(validity[1]),
        frozenset(_names(fields[6:])),
    )


def subject_of(encoded: bytes) -> str:
    """The distinguished name of who has the certificate in DER.

    Raises:
        DerError: it is no certificate, or the name is too long.
    """
    return distinguished_name(_fields(encoded)[4])


def issuer_of(encoded: bytes) -> str:
    """The distinguished name of who issued the certificate in DER.

    Raises:
        DerError: it is no certificate, or the name is too long.
    """
    return distinguished_name(_fields(encoded)[2])


def _fields(encoded: bytes) -> list[Value]:
    """Serial number, algorithm, issuer, validity, subject, key, and what follows."""
    whole = only_value(encoded).inside()
    fields = whole[0].inside() if whole else []
    if fields and fields[0].tag == _CONTEXT_0:  # the version
        del fields[0]
    if len(fields) < 6:
        raise DerError("this is no certificate")
    return fields


def _moment(value: Value) -> float:
    text = value.content.decode("ascii", "replace")
    if value.tag == _UTC_TIME:
        text = ("20" if text[:2] < "50" else "19") + text
    digits = text[:-1]
    try:
        # As the RFC has it, to the second: `strptime` costs a start two milliseconds.
        if len(text) != _MOMENT_SIZE or text[-1] != "Z" or not digits.isdecimal():
            raise ValueError
        parts = [int(digits[:4]), *(int(digits[at : at + 2]) for at in range(4, 14, 2))]
        return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[arg-type,misc]
    except ValueError:
        raise DerError(f"{text!r} is no time") from None


def _names(fields: list[Value]) -> list[str]:
    for field in fields:
        if field.tag != _CONTEXT_3:
            continue
        for extension in only_value(field.content).inside():
            parts = extension.inside()
            if parts and parts[0].content == _ALTERNATIVE_NAMES:
                return _alternative_names(parts[-1])
    return []


def _alternative_names(extension: Value) -> list[str]:
    if extension.tag != _OCTET_STRING:
        raise DerError("an extension without a value")
    found = []
    for each in values(only_value(extension.content).content):
        if each.tag == _DNS_NAME:
            found.append(each.content.decode("ascii", "replace").lower())
        elif each.tag == _IP_ADDRESS and len(each.content) in (4, 16):
            found.append(str(ipaddress.ip_address(each.content)))
    return found
