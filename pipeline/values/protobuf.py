"""Protobuf values become typed columns (google.protobuf).

The message is described by a descriptor set (``protoc --include_imports
--descriptor_set_out=x.desc``) or by a registry. Behind the id of the prefix stand the
indexes of the message within its file, as zigzag varints; a single 0 byte is the first.
Columns are those of the message; values of later versions lose what it does not have.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.client.schemas.protobuf_files import (
    add_file_set,
    add_subject,
    indexes_of,
    read_indexes,
)
from odradek.pipeline.job_errors import JobError

from .confluent import PREFIX_SIZE, schema_id_of
from .rows import decode_rows

if TYPE_CHECKING:
    import pyarrow

    from .decoding import ValueFormat
    from .json import Decoded

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
        self._indexes = indexes_of(descriptor)
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
            registry = how.open_registry()
            first = add_subject(pool, registry, how.subject, "latest")
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
        indexes, position = read_indexes(value, PREFIX_SIZE)
        if indexes != self._indexes:
            raise ValueError(
                f"it is message number {indexes} of its file, not {self._indexes} "
                f"({self._descriptor.full_name})"
            )
        return value[position:]


def _add_files(pool: Any, path: str) -> None:
    try:
        add_file_set(pool, Path(path).read_bytes())
    except OSError as error:
        raise JobError(f"[value] schema_file {path}: {error.strerror}") from None
    except ValueError as error:
        raise JobError(f"[value] schema_file {path}: {error}") from None


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
