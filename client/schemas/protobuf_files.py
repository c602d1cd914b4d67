"""Descriptors of Protobuf messages, as a registry has them, and which one is meant.

Behind the id of the prefix stand the indexes of the message within its file, as zigzag
varints; a single 0 byte is the first.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .registry import SchemaRegistry

SERIALIZED = "serialized"


def read_indexes(value: bytes, position: int) -> tuple[list[int], int]:
    """The indexes that stand at ``position``, and the position behind them.

    Raises:
        ValueError: there are none.
    """
    count, position = _varint(value, position)
    if not count:
        return [0], position
    indexes = []
    for _ in range(count):
        index, position = _varint(value, position)
        indexes.append(index)
    return indexes, position


def write_indexes(indexes: list[int]) -> bytes:
    """What `read_indexes` reads."""
    if indexes == [0]:
        return b"\0"
    return b"".join(map(_zigzag, [len(indexes), *indexes]))


def indexes_of(descriptor: Any) -> list[int]:
    """Where a message stands in its file, from the outermost."""
    if descriptor.containing_type is None:
        return [list(descriptor.file.message_types_by_name).index(descriptor.name)]
    outer = descriptor.containing_type
    return [
        *indexes_of(outer),
        list(outer.nested_types_by_name).index(descriptor.name),
    ]


def message_at(file: Any, indexes: list[int]) -> Any:
    """The descriptor of the message that stands there.

    Raises:
        ValueError: there is none.
    """
    try:
        found = list(file.message_types_by_name.values())[indexes[0]]
        for index in indexes[1:]:
            found = list(found.nested_types_by_name.values())[index]
    except IndexError:
        raise ValueError(f"its schema has no message number {indexes}") from None
    return found


def _zigzag(number: int) -> bytes:
    number <<= 1
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number])


def _varint(value: bytes, position: int) -> tuple[int, int]:
    """A zigzag number, and the position behind it."""
    number = shift = 0
    while True:
        if position >= len(value) or shift > 28:
            raise ValueError("it has no message indexes behind the schema id")
        byte = value[position]
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), position


def add_subject(
    pool: Any, registry: SchemaRegistry, subject: str, version: object
) -> str:
    """Add a schema and what it refers to; the name of its first message."""
    found = registry.version(subject, version, SERIALIZED)
    # The registry names a file by what it holds, its users by what they import.
    file = add_found(pool, registry, found, "" if version == "latest" else subject)
    return first_message(file)


def add_found(
    pool: Any, registry: SchemaRegistry, found: dict[str, Any], name: str
) -> Any:
    """Add what a registry has answered; the file, called ``name`` if it has none.

    Raises:
        ValueError: it is no file of Protobuf.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    for reference in found.get("references", []):
        add_subject(pool, registry, reference["subject"], reference["version"])
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(found["schema"]))
    except (DecodeError, ValueError) as error:
        raise ValueError(f"the schema is not Protobuf: {error}") from None
    file.name = file.name or name
    _add_well_known(pool, file)
    pool.Add(file)
    return file


def first_message(file: Any) -> str:
    """The whole name of the first message of a file; empty where it has none."""
    prefix = f"{file.package}." if file.package else ""
    return prefix + file.message_type[0].name if file.message_type else ""


def add_file_set(pool: Any, content: bytes) -> None:
    """Add what ``protoc --include_imports --descriptor_set_out`` has written.

    Raises:
        ValueError: it is nothing of the kind.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.message import DecodeError

    try:
        files = FileDescriptorSet.FromString(content).file
        for file in files:
            pool.Add(file)
    except (DecodeError, TypeError):
        files = []
    if not files:
        raise ValueError(
            "it is not a descriptor set; make it with protoc"
            " --include_imports --descriptor_set_out=x.desc x.proto"
        )


def _add_well_known(pool: Any, file: Any) -> None:
    from google.protobuf import descriptor_pb2, timestamp_pb2, wrappers_pb2

    for known in (timestamp_pb2, wrappers_pb2):
        if known.DESCRIPTOR.name in file.dependency:
            found = descriptor_pb2.FileDescriptorProto()
            known.DESCRIPTOR.CopyToProto(found)
            pool.Add(found)
