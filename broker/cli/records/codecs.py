"""Keys and values that need no schema: text, JSON, numbers, bytes as hex or base64.

Numbers are big-endian, as the serializers of Java's client write them.
"""

from __future__ import annotations

import base64
import json
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.client.schemas.codec import Codec

_SHOWN_MAX = 40


class _Text:
    def decode(self, data: bytes) -> object:
        return data.decode()

    def encode(self, text: bytes) -> bytes:
        text.decode()
        return text


class _Json:
    """One line of JSON, whatever it looked like."""

    def decode(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None

    def encode(self, text: bytes) -> bytes:
        self.decode(text)
        return text


class _Hex:
    def decode(self, data: bytes) -> object:
        return data.hex()

    def encode(self, text: bytes) -> bytes:
        return bytes.fromhex(text.decode())


class _Base64:
    def decode(self, data: bytes) -> object:
        return base64.b64encode(data).decode()

    def encode(self, text: bytes) -> bytes:
        return base64.b64decode(text.strip(), validate=True)


class _Number:
    def __init__(self, layout: str, read: type[int] | type[float]) -> None:
        self._layout = struct.Struct(layout)
        self._read = read

    def decode(self, data: bytes) -> object:
        size = self._layout.size
        if len(data) != size:
            raise ValueError(f"it has {len(data)} bytes, and the format has {size}")
        return self._layout.unpack(data)[0]

    def encode(self, text: bytes) -> bytes:
        try:
            return self._layout.pack(self._read(text))
        except (struct.error, OverflowError, ValueError):
            shown = text[:_SHOWN_MAX].decode(errors="replace")
            raise ValueError(f"{shown!r} is not a number of this format") from None


PLAIN: dict[str, Codec] = {
    "string": _Text(),
    "json": _Json(),
    "hex": _Hex(),
    "base64": _Base64(),
    "int32": _Number(">i", int),
    "int64": _Number(">q", int),
    "double": _Number(">d", float),
}
