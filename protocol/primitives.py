"""The smallest parts of the wire format: numbers of fixed size, varints, tags.

Numbers are big-endian. An unsigned varint carries seven bits a byte, lowest first;
the high bit says that another byte follows. Lengths of the flexible versions are
such varints, one higher than the length, so that 0 can mean null.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING

from .kafka_error import MalformedRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

Buffer = bytes | bytearray | memoryview

# The letter of each kind of fixed size in a ``struct`` format, and its bytes.
FIXED_CODES = {
    "boolean": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}

# What a struct holds when no unknown tag came with it: one for all, so unchangeable.
NO_TAGS: "Mapping[int, bytes]" = MappingProxyType({})

_ONE_BYTE = [bytes([value]) for value in range(128)]
_UINT32_MAX = 0xFFFFFFFF


def read_unsigned_varint(data: Buffer, position: int) -> tuple[int, int]:
    """The unsigned varint at ``position``, and the position behind it.

    Raises:
        MalformedRequest: it is longer than 5 bytes or larger than 32 bits.
        IndexError: ``data`` ends before it does.
    """
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise MalformedRequest("varint of more than 5 bytes")
    if value > _UINT32_MAX:
        raise MalformedRequest(f"varint {value} does not fit into 32 bits")
    return value, position


def unsigned_varint(value: int) -> bytes:
    """``value`` as an unsigned varint."""
    if value < 0x80:
        return _ONE_BYTE[value]
    if value < 0x4000:  # the size of most records
        return (value & 0x7F | 0x80 | value >> 7 << 8).to_bytes(2, "little")
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def write_tags(out: bytearray, tags: "Mapping[int, Buffer]") -> None:
    """Append the section of tagged fields that ends a flexible struct, tags rising."""
    out += unsigned_varint(len(tags))
    for tag in sorted(tags):
        value = tags[tag]
        out += unsigned_varint(tag)
        out += unsigned_varint(len(value))
        out += value


def skip_tags(data: Buffer, position: int) -> int:
    """The position behind the section of tagged fields at ``position``.

    Raises:
        MalformedRequest: the section is longer than ``data``.
        IndexError: ``data`` ends inside the section.
    """
    count, position = read_unsigned_varint(data, position)
    for _ in range(count):
        _, position = read_unsigned_varint(data, position)
        size, position = read_unsigned_varint(data, position)
        position += size
    if position > len(data):
        raise MalformedRequest("tagged field longer than the message")
    return position
