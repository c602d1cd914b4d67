"""Values in Protobuf (google.protobuf), shown and written in the JSON of Protobuf.

Fields have the names of the schema; numbers of 64 bits are texts, as that JSON has it.
With a registry a value begins with the id of its schema and the place of its message in
there; else all are of one message, which a descriptor set describes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .protobuf_files import (
    SERIALIZED,
    add_file_set,
    add_found,
    first_message,
    indexes_of,
    message_at,
    read_indexes,
    write_indexes,
)
from .registry import PREFIX_SIZE, prefix_of, schema_id_of

if TYPE_CHECKING:
    from .registry import SchemaRegistry


class ProtobufCodec:
    """Reads and writes messages of the schema of an id, or of a descriptor set."""

    def __init__(
        self,
        registry: SchemaRegistry | None,
        subject: str,
        file_set: bytes | None = None,
        message: str = "",
    ) -> None:
        """``message`` is like ``shop.Order``; of a subject the first by default.

        Raises:
            ValueError: ``file_set`` is not one, or does not have the message.
            ModuleNotFoundError: google.protobuf is not there.
        """
        from google.protobuf import json_format, message_factory

        self._json = json_format
        self._class_of = message_factory.GetMessageClass
        self._registry = registry
        self._subject = subject
        self._message = message
        self._known: dict[int, Any] = {}
        self._newest: tuple[int, Any] | None = None
        self._only: Any = None
        if file_set is not None:
            pool = _pool()
            add_file_set(pool, file_set)
            self._only = self._class_of(_message(pool, message))

    def decode(self, data: bytes) -> object:
        """An object. See `Codec.decode`."""
        kind, start = self._only, 0
        if kind is None:
            file = self._of_id(schema_id_of(data))
            indexes, start = read_indexes(data, PREFIX_SIZE)
            kind = self._class_of(message_at(file, indexes))
        try:
            message = kind.FromString(data[start:])
            return self._json.MessageToDict(message, preserving_proto_field_name=True)
        except Exception as error:  # the library raises whatever it likes
            raise ValueError(f"not a {kind.DESCRIPTOR.full_name}: {error}") from None

    def encode(self, text: bytes) -> bytes:
        """By the newest schema of the subject, or the set. See `Codec.encode`."""
        kind, prefix = self._only, b""
        if kind is None:
            schema_id, descriptor = self._of_subject()
            kind = self._class_of(descriptor)
            prefix = prefix_of(schema_id) + write_indexes(indexes_of(descriptor))
        try:
            message = self._json.ParseDict(json.loads(text), kind())
            return prefix + bytes(message.SerializeToString())
        except Exception as error:  # as above
            name = kind.DESCRIPTOR.full_name
            raise ValueError(f"not a {name}: {' '.join(str(error).split())}") from None

    def _of_id(self, schema_id: int) -> Any:
        if schema_id not in self._known:
            assert self._registry is not None
            found = self._registry.schema(schema_id, SERIALIZED)
            _, file = self._file(found, f"{schema_id}.proto")
            self._known[schema_id] = file
        return self._known[schema_id]

    def _of_subject(self) -> tuple[int, Any]:
        if self._newest is None:
            assert self._registry is not None
            found = self._registry.version(self._subject, "latest", SERIALIZED)
            pool, file = self._file(found, f"{self._subject}.proto")
            proto = _proto_of(file)
            name = self._message or first_message(proto)
            self._newest = (found["id"], _message(pool, name))
        return self._newest

    def _file(self, found: dict[str, Any], name: str) -> tuple[Any, Any]:
        kind = found.get("schemaType", "AVRO")
        if kind != "PROTOBUF":
            raise ValueError(f"the schema is {kind}, not PROTOBUF")
        assert self._registry is not None
        pool = _pool()
        proto = add_found(pool, self._registry, found, name)
        return pool, pool.FindFileByName(proto.name)


def _pool() -> Any:
    from google.protobuf.descriptor_pool import DescriptorPool

    return DescriptorPool()


def _proto_of(file: Any) -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    return proto


def _message(pool: Any, name: str) -> Any:
    try:
        return pool.FindMessageTypeByName(name)
    except KeyError:
        raise ValueError(
            f"the schema has no message {name!r}; write it with its package, like"
            " shop.Order"
        ) from None
