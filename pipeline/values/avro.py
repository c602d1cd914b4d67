"""Avro values become typed columns (fastavro).

The writer's schema is that of the prefix's id, from a registry, or the schema file;
the columns are those of the schema file, or of the newest schema of the topic's
subject. Values of other versions are resolved to it as Avro has it.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.pipeline.job_errors import JobError

from .confluent import PREFIX_SIZE, SchemaRegistry, schema_id_of
from .rows import decode_rows

if TYPE_CHECKING:
    import pyarrow

    from .decoding import ValueFormat
    from .json import Decoded

_PRIMITIVES = {
    "boolean": "bool_",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "bytes": "binary",
    "string": "string",
    "enum": "string",
    "fixed": "binary",
    "null": "string",
}


class AvroDecoder:
    """Reads Avro records into the columns of a reader's schema."""

    def __init__(
        self,
        reader_schema: Any,
        registry: SchemaRegistry | None = None,
        *,
        has_prefix: bool = False,
    ) -> None:
        import fastavro

        self._fastavro = fastavro
        names: dict[str, Any] = {}
        self._reader = fastavro.parse_schema(reader_schema, names)
        self._registry = registry
        self._has_prefix = has_prefix
        self._writers: dict[int, Any] = {}
        self.schema = arrow_schema(self._reader, names)

    @classmethod
    def of(cls, how: ValueFormat) -> AvroDecoder:
        """The decoder that a job file describes.

        Raises:
            JobError: there is no schema, or it cannot be read.
        """
        registry = None
        if how.registry:
            registry = how.open_registry()
        if how.schema_file:
            text = _read(how.schema_file)
        elif registry and how.subject:
            text = registry.version(how.subject, "latest")["schema"]
        else:
            raise JobError(
                '[value] format = "avro" needs schema_file = "x.avsc", or registry and '
                'subject = "orders-value"'
            )
        try:
            return cls(json.loads(text), registry, has_prefix=how.has_prefix)
        except JobError:
            raise
        except ImportError:
            raise
        except Exception as error:
            where = how.schema_file or how.subject
            raise JobError(f"[value] the Avro schema {where}: {error}") from None

    def decode(self, values: pyarrow.Array) -> Decoded:
        """The typed columns of binary ``values``."""
        return decode_rows(values, self.schema, self._row)

    def _row(self, value: bytes) -> dict[str, Any]:
        stream = io.BytesIO(value)
        writer = self._reader
        if self._has_prefix:
            schema_id = schema_id_of(value)
            stream.seek(PREFIX_SIZE)
            if self._registry:
                writer = self._writer(schema_id)
        row = self._fastavro.schemaless_reader(stream, writer, self._reader)
        left = len(value) - stream.tell()
        if left:
            raise ValueError(f"{left} bytes are left behind the record")
        assert isinstance(row, dict)
        return row

    def _writer(self, schema_id: int) -> Any:
        if schema_id not in self._writers:
            assert self._registry is not None
            found = self._registry.schema(schema_id)
            if found.get("schemaType", "AVRO") != "AVRO":
                raise ValueError(f"schema {schema_id} is {found['schemaType']}")
            schema = json.loads(found["schema"])
            self._writers[schema_id] = self._fastavro.parse_schema(schema)
        return self._writers[schema_id]


def arrow_schema(schema: Any, names: dict[str, Any]) -> pyarrow.Schema:
    """The columns of an Avro record.

    Raises:
        JobError: it is no record, or has what no table has.
    """
    import pyarrow as pa

    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise JobError("[value] the Avro schema must be a record")
    return pa.schema(_fields(schema, names, ()))


def _fields(
    schema: Any, names: dict[str, Any], inside: tuple[str, ...]
) -> list[pyarrow.Field]:
    import pyarrow as pa

    if schema["name"] in inside:
        raise JobError(f"[value] the Avro record {schema['name']} contains itself")
    inside = (*inside, schema["name"])
    return [
        pa.field(field["name"], _type(field["type"], names, inside))
        for field in schema["fields"]
    ]


def _type(
    schema: Any, names: dict[str, Any], inside: tuple[str, ...]
) -> pyarrow.DataType:
    import pyarrow as pa

    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        if len(others) != 1:
            raise JobError(
                f"[value] the Avro schema has a union of {len(others)} types; a column "
                "has one"
            )
        return _type(others[0], names, inside)
    if isinstance(schema, str):
        if schema in names:
            return _type(names[schema], names, inside)
        return getattr(pa, _PRIMITIVES[schema])()
    logical = _logical_type(schema)
    if logical is not None:
        return logical
    kind = schema["type"]
    if kind == "record":
        return pa.struct(_fields(schema, names, inside))
    if kind == "array":
        return pa.list_(pa.field("element", _type(schema["items"], names, inside)))
    if kind == "map":
        return pa.map_(pa.string(), _type(schema["values"], names, inside))
    return _type(kind, names, inside) if kind not in _PRIMITIVES else _primitive(kind)


def _primitive(kind: str) -> pyarrow.DataType:
    import pyarrow as pa

    return getattr(pa, _PRIMITIVES[kind])()


def _logical_type(schema: dict[str, Any]) -> pyarrow.DataType | None:
    import pyarrow as pa

    moment = pa.timestamp("us", tz="UTC")
    match schema.get("logicalType"):
        case "decimal":
            return pa.decimal128(schema["precision"], schema.get("scale", 0))
        case "date":
            return pa.date32()
        case "timestamp-millis" | "timestamp-micros":
            return moment
        case "local-timestamp-millis" | "local-timestamp-micros":
            return pa.timestamp("us")
        case "time-millis" | "time-micros":
            return pa.time64("us")
        case "uuid":
            return pa.string()
    return None


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError as error:
        raise JobError(f"[value] schema_file {path}: {error.strerror}") from None
