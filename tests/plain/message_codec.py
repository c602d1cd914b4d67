"""Messages read and written field by field, as the format says: the slow twin."""

from io import BytesIO
from struct import pack, unpack
from typing import Any

from odradek.protocol.errors import MalformedRequest
from odradek.protocol.fields import UNSET, Field
from odradek.protocol.primitives import FIXED_CODES
from odradek.protocol.schema import Message, Struct


def encode(message: Message, version: int) -> bytes:
    return _Codec(version, message.is_flexible(version)).struct(message)


def decode(cls: type[Message], data: bytes, version: int) -> tuple[Message, int]:
    stream = BytesIO(data)
    codec = _Codec(version, cls.is_flexible(version))
    message = codec.read_struct(cls, stream)
    assert isinstance(message, Message)
    return message, stream.tell()


def varint(value: int) -> bytes:
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def _default(field: Field) -> Any:
    if field.default is not UNSET:
        return field.default
    return [] if field.kind == "array" else field.struct_class()


def _take(stream: BytesIO, size: int) -> bytes:
    data = stream.read(size) if size >= 0 else b""
    if len(data) != size:
        raise MalformedRequest("short")
    return data


def _read_varint(stream: BytesIO) -> int:
    value = 0
    for position in range(5):
        byte = _take(stream, 1)[0]
        value |= (byte & 0x7F) << 7 * position
        if byte < 0x80:
            if value >= 1 << 32:
                raise MalformedRequest("varint too large")
            return value
    raise MalformedRequest("varint too long")


class _Codec:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible

    def fields(self, cls: type[Struct], *, tagged: bool) -> list[Field]:
        return [
            field
            for field in cls.fields
            if field.versions.cover(self.version) and (field.tag is not None) == tagged
        ]

    # Writing.

    def struct(self, value: Struct) -> bytes:
        out = b""
        for field in self.fields(type(value), tagged=False):
            out += self.value(field, getattr(value, field.name))
        if self.flexible:
            tags = dict(value.unknown_tags)
            for field in self.fields(type(value), tagged=True):
                if getattr(value, field.name) != _default(field):
                    assert field.tag is not None
                    tags[field.tag] = self.value(field, getattr(value, field.name))
            out += varint(len(tags))
            for tag, content in sorted(tags.items()):
                out += varint(tag) + varint(len(content)) + content
        return out

    def value(self, field: Field, value: Any) -> bytes:
        if field.kind in FIXED_CODES:
            return pack(">" + FIXED_CODES[field.kind], value)
        if field.kind == "struct":
            if not field.nullable.cover(self.version):
                return self.struct(value)
            null = b"\xff" if field.tag is None else b"\x00"
            return null if value is None else b"\x01" + self.struct(value)
        if value is None:
            return self.length(field, -1)
        if field.kind == "array":
            items = [self.value(field.element, item) for item in value]
            return self.length(field, len(items)) + b"".join(items)
        content = value.encode() if field.kind == "string" else bytes(value)
        return self.length(field, len(content)) + content

    def length(self, field: Field, length: int) -> bytes:
        if self.flexible:
            return varint(length + 1)
        return pack(">h" if field.kind == "string" else ">i", length)

    # Reading.

    def read_struct(self, cls: type[Struct], stream: BytesIO) -> Struct:
        value = cls()
        for field in self.fields(cls, tagged=False):
            setattr(value, field.name, self.read_value(field, stream))
        if self.flexible:
            known = {field.tag: field for field in self.fields(cls, tagged=True)}
            unknown = {}
            for _ in range(_read_varint(stream)):
                tag = _read_varint(stream)
                content = _take(stream, _read_varint(stream))
                if tag not in known:
                    unknown[tag] = content
                    continue
                inner = BytesIO(content)
                setattr(value, known[tag].name, self.read_value(known[tag], inner))
                if inner.read():
                    raise MalformedRequest("tag too long")
            value.unknown_tags = unknown
        return value

    def read_value(self, field: Field, stream: BytesIO) -> Any:
        if field.kind in FIXED_CODES:
            code = ">" + FIXED_CODES[field.kind]
            size = len(pack(code, b"" if field.kind == "uuid" else 0))
            return unpack(code, _take(stream, size))[0]
        nullable = field.nullable.cover(self.version)
        if field.kind == "struct":
            null_max = -1 if field.tag is None else 0
            if nullable and unpack(">b", _take(stream, 1))[0] <= null_max:
                return None
            return self.read_struct(field.struct_class, stream)
        length = self.read_length(field, stream)
        if length < 0:
            if nullable:
                return None
            raise MalformedRequest("null")
        if field.kind == "array":
            return [self.read_value(field.element, stream) for _ in range(length)]
        content = _take(stream, length)
        if field.kind != "string":
            return content
        if self.flexible and length > 32767:
            raise MalformedRequest("long string")
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise MalformedRequest("no UTF-8") from error

    def read_length(self, field: Field, stream: BytesIO) -> int:
        if self.flexible:
            return _read_varint(stream) - 1
        code, size = (">h", 2) if field.kind == "string" else (">i", 4)
        length: int = unpack(code, _take(stream, size))[0]
        return length
