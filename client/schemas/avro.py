"""Values in Avro (fastavro), shown and written in the JSON encoding of Avro.

A value of a union is an object with the name of its type, ``{"string": "x"}``, null is
null, bytes are a text of code points up to 255: as Avro's own tools have it. With a
registry a value begins with the id of its schema; else it is of one schema.
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from .registry import PREFIX_SIZE, prefix_of, schema_id_of

if TYPE_CHECKING:
    from .registry import SchemaRegistry


class AvroCodec:
    """Reads and writes values of the schema of an id, or of a file."""

    def __init__(
        self, registry: SchemaRegistry | None, subject: str, schema: str | None = None
    ) -> None:
        """``schema`` is its JSON text, for values without prefix.

        Raises:
            ValueError: it is not a schema.
            ModuleNotFoundError: fastavro is not there.
        """
        import fastavro

        self._fastavro = fastavro
        self._registry = registry
        self._subject = subject
        self._known: dict[int, Any] = {}
        self._newest: tuple[int, Any] | None = None
        self._only = None if schema is None else self._parsed(schema)

    def decode(self, data: bytes) -> object:
        """An object, or whatever the schema describes. See `Codec.decode`."""
        schema, start = self._only, 0
        if schema is None:
            schema, start = self._of_id(schema_id_of(data)), PREFIX_SIZE
        stream = io.BytesIO(data)
        stream.seek(start)
        try:
            value = self._fastavro.schemaless_reader(stream, schema, None)
            written = io.StringIO()
            self._fastavro.json_writer(written, schema, [value])
        except EOFError:
            raise ValueError("the value ends too early for its schema") from None
        except Exception as error:  # the library raises whatever it likes
            raise ValueError(_reason(error)) from None
        left = len(data) - stream.tell()
        if left:
            raise ValueError(f"{left} bytes are left behind the value")
        return json.loads(written.getvalue())

    def encode(self, text: bytes) -> bytes:
        """By the file's schema, or the newest of the subject. See `Codec.encode`."""
        schema, prefix = self._only, b""
        if schema is None:
            schema_id, schema = self._of_subject()
            prefix = prefix_of(schema_id)
        written = io.BytesIO()
        try:
            (value,) = self._fastavro.json_reader(io.StringIO(text.decode()), schema)
            self._fastavro.schemaless_writer(written, schema, value)
        except Exception as error:  # as above
            raise ValueError(_reason(error)) from None
        return prefix + written.getvalue()

    def _of_id(self, schema_id: int) -> Any:
        if schema_id not in self._known:
            assert self._registry is not None
            self._known[schema_id] = self._found(self._registry.schema(schema_id))
        return self._known[schema_id]

    def _of_subject(self) -> tuple[int, Any]:
        if self._newest is None:
            assert self._registry is not None
            found = self._registry.version(self._subject, "latest")
            self._newest = (found["id"], self._found(found))
        return self._newest

    def _found(self, answer: dict[str, Any]) -> Any:
        kind = answer.get("schemaType", "AVRO")
        if kind != "AVRO":
            raise ValueError(f"the schema is {kind}, not AVRO")
        if answer.get("references"):
            raise ValueError("the schema refers to others, which is not supported")
        return self._parsed(answer["schema"])

    def _parsed(self, text: str) -> Any:
        try:
            return self._fastavro.parse_schema(json.loads(text))
        except Exception as error:  # as above
            raise ValueError(f"the schema is not Avro: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
