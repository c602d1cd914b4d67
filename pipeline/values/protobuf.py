"""Protobuf values become typed columns (google.protobuf).

The message is described by a descriptor set (``protoc --include_imports
--descriptor_set_out=x.desc``) or by a registry. Behind the id of the prefix stand the
indexes of the message within its file, as zigzag varints; a single 0 byte is the first.
Columns are those of the message; values of later versions lose what it does not have.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.pipeline.job_errors import JobError

from .confluent import PREFIX_SIZE, SchemaRegistry, schema_id_of
from .rows import decode_rows

if TYPE_CHECKING:
    import pyarrow

    from .decoding import ValueFormat
    from .json import Decoded

_SERIALIZED = "serialized"
_TIMESTAMP = "google.protobuf.Timestamp"
_WRAPPERS = "google.protobuf."


class ProtobufDecoder:
    """Reads Protobuf messages of one type into its columns."""

    def __init__(self, pool: Any, message: str, *, has_prefix: bool = False) -> None:
        from google.protobuf.message_factory import GetMessageClass

        try:
            descriptor = pool.FindMessageTypeByName(message)
        except KeyError:
            raise JobError(
                f"[value] message: the schema has no message {message!r}; write it "
                "with its package, like shop.Order"
            ) from None
        self._class: Any = GetMessageClass(descriptor)
        self._descriptor = descriptor
        self._has_prefix = has_prefix
        self._indexes = _indexes_of(descriptor)
        import pyarrow as pa

        self.schema = pa.schema(_fields(descriptor, ()))

    @classmethod
    def of(cls, how: ValueFormat) -> ProtobufDecoder:
        """The decoder that a job file describes.

        Raises:
            JobError: there is no schema, or it cannot be read.
        """
        from google.protobuf.descriptor_pool import DescriptorPool

        pool, message = DescriptorPool(), how.message
        if how.schema_file:
            _add_files(pool, how.schema_file)
        elif how.registry and how.subject:
            registry = SchemaRegistry(how.registry, how.registry_user)
            first = _add_subject(pool, registry, how.subject, "latest")
            message = message or first
        else:
            raise JobError(
                '[value] format = "protobuf" needs schema_file = "x.desc", or registry '
                'and subject = "orders-value"'
            )
        if not message:
            raise JobError('[value] needs message = "shop.Order"')
        return cls(pool, message, has_prefix=how.has_prefix)

    def decode(self, values: pyarrow.Array) -> Decoded:
        """The typed columns of binary ``values``."""
        return decode_rows(values, self.schema, self._row)

    def _row(self, value: bytes) -> dict[str, Any]:
        payload = self._payload(value) if self._has_prefix else value
        return _as_dict(self._class.FromString(payload))

    def _payload(self, value: bytes) -> bytes:
        schema_id_of(value)
        count, position = _varint(value, PREFIX_SIZE)
        indexes = [0]
        if count:
            indexes = []
            for _ in range(count):
                index, position = _varint(value, position)
                indexes.append(index)
        if indexes != self._indexes:
            raise ValueError(
                f"it is message number {indexes} of its file, not {self._indexes} "
                f"({self._descriptor.full_name})"
            )
        return value[position:]


def _indexes_of(descriptor: Any) -> list[int]:
    """Where a message stands in its file, from the outermost."""
    if descriptor.containing_type is None:
        return [list(descriptor.file.message_types_by_name).index(descriptor.name)]
    outer = descriptor.containing_type
    return [
        *_indexes_of(outer),
        list(outer.nested_types_by_name).index(descriptor.name),
    ]


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


def _add_files(pool: Any, path: str) -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.message import DecodeError

    try:
        content = Path(path).read_bytes()
        files = FileDescriptorSet.FromString(content).file
        for file in files:
            pool.Add(file)
        assert files
    except OSError as error:
        raise JobError(f"[value] schema_file {path}: {error.strerror}") from None
    except (DecodeError, TypeError, AssertionError):
        raise JobError(
            f"[value] schema_file {path} is no descriptor set; make it with protoc "
            "--include_imports --descriptor_set_out=x.desc x.proto"
        ) from None


def _add_subject(
    pool: Any, registry: SchemaRegistry, subject: str, version: object
) -> str:
    """Add a schema and what it refers to; the name of its first message."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    found = registry.version(subject, version, _SERIALIZED)
    for reference in found.get("references", []):
        _add_subject(pool, registry, reference["subject"], reference["version"])
    file = FileDescriptorProto.FromString(base64.b64decode(found["schema"]))
    if version != "latest":
        # The registry names a file by what it holds, its users by what they import.
        file.name = file.name or subject
    _add_well_known(pool, file)
    pool.Add(file)
    prefix = f"{file.package}." if file.package else ""
    return prefix + file.message_type[0].name if file.message_type else ""


def _add_well_known(pool: Any, file: Any) -> None:
    from google.protobuf import descriptor_pb2, timestamp_pb2, wrappers_pb2

    for known in (timestamp_pb2, wrappers_pb2):
        if known.DESCRIPTOR.name in file.dependency:
            found = descriptor_pb2.FileDescriptorProto()
            known.DESCRIPTOR.CopyToProto(found)
            pool.Add(found)


def _fields(descriptor: Any, inside: tuple[str, ...]) -> list[pyarrow.Field]:
    import pyarrow as pa

    if descriptor.full_name in inside:
        raise JobError(f"[value] the message {descriptor.full_name} contains itself")
    inside = (*inside, descriptor.full_name)
    return [pa.field(field.name, _type(field, inside)) for field in descriptor.fields]


def _type(field: Any, inside: tuple[str, ...]) -> pyarrow.DataType:
    import pyarrow as pa

    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        key, value = message.fields
        return pa.map_(_single(key, inside), _single(value, inside))
    single = _single(field, inside)
    return pa.list_(pa.field("element", single)) if field.is_repeated else single


def _single(field: Any, inside: tuple[str, ...]) -> pyarrow.DataType:
    import pyarrow as pa

    message = field.message_type
    if message is not None:
        if message.full_name == _TIMESTAMP:
            return pa.timestamp("us", tz="UTC")
        if _is_wrapper(message):
            return _single(message.fields_by_name["value"], inside)
        return pa.struct(_fields(message, inside))
    if field.enum_type is not None:
        return pa.string()
    kinds = {
        field.CPPTYPE_INT32: pa.int32(),
        field.CPPTYPE_INT64: pa.int64(),
        field.CPPTYPE_UINT32: pa.int64(),
        field.CPPTYPE_UINT64: pa.decimal128(20, 0),
        field.CPPTYPE_DOUBLE: pa.float64(),
        field.CPPTYPE_FLOAT: pa.float32(),
        field.CPPTYPE_BOOL: pa.bool_(),
    }
    if field.cpp_type in kinds:
        return kinds[field.cpp_type]
    return pa.binary() if field.type == field.TYPE_BYTES else pa.string()


def _is_wrapper(message: Any) -> bool:
    name: str = message.full_name
    return name.startswith(_WRAPPERS) and name.endswith("Value")


def _as_dict(message: Any) -> dict[str, Any]:
    """Fields by name; those that have presence and are not there are None."""
    row: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        if field.has_presence and not message.HasField(field.name):
            row[field.name] = None
            continue
        row[field.name] = _plain(field, getattr(message, field.name))
    return row


def _plain(field: Any, value: Any) -> Any:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        kind = message.fields_by_name["value"]
        return [(key, _one(kind, value[key])) for key in value]
    if field.is_repeated:
        return [_one(field, each) for each in value]
    return _one(field, value)


def _one(field: Any, value: Any) -> Any:
    message = field.message_type
    if message is not None:
        if message.full_name == _TIMESTAMP:
            return value.seconds * 1_000_000 + value.nanos // 1000
        return value.value if _is_wrapper(message) else _as_dict(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return known.name if known else str(value)
    return value
