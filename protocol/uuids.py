"""Topic ids and other UUIDs: 16 bytes on the wire, 22 characters in text.

The text is URL-safe base64 without padding, as Kafka's tools print it.
"""

import binascii
import os

ZERO_UUID = bytes(16)

_TO_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def random_uuid() -> bytes:
    """A new random id (version 4).

    Its text never begins with ``-``, so a shell command does not take it for an
    option (``Uuid.randomUuid`` of Apache Kafka does the same).
    """
    while True:
        raw = bytearray(os.urandom(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if raw[0] >> 2 != 0b111110:  # the base64 digit that reads as "-"
            return bytes(raw)


def to_text(uuid: bytes) -> str:
    """The 22 characters of ``uuid``."""
    encoded = binascii.b2a_base64(uuid, newline=False)
    return encoded.translate(_TO_URL_SAFE).rstrip(b"=").decode()


def hyphened(uuid: bytes) -> str:
    """Its 32 hexadecimal digits, as everybody but Kafka writes them."""
    digits = uuid.hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(parts)


def from_text(text: str) -> bytes:
    """The 16 bytes that ``text`` stands for.

    Raises:
        ValueError: ``text`` is not 22 characters of URL-safe base64.
    """
    encoded = text.encode("ascii")
    if len(encoded) != 22 or b"+" in encoded or b"/" in encoded:
        raise ValueError(f"not a UUID: {text!r}")
    decoded = binascii.a2b_base64(
        encoded.translate(_FROM_URL_SAFE) + b"==", strict_mode=True
    )
    if len(decoded) != 16:
        raise ValueError(f"not a UUID: {text!r}")
    return decoded
