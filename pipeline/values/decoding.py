"""Records become rows of the table: values decoded, and where they came from.

With ``none`` and ``string`` a row has the record's columns under their own names. With
``json``, ``avro`` and ``protobuf`` it has the fields of the value, and the record's
columns with an underscore before: ``_topic``, ``_partition``, ``_offset``...
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from odradek.pipeline.job_errors import JobError

from .confluent import SchemaRegistry, open_registry
from .json import Decoded, JsonDecoder
from .schemas import read_schema

if TYPE_CHECKING:
    import pyarrow

FORMATS = ("none", "string", "json", "avro", "protobuf")
RECORD_COLUMNS = ("topic", "partition", "offset", "timestamp", "key")
HEADERS = "headers"


class ValueDecoder(Protocol):
    """Reads binary values into typed columns."""

    schema: pyarrow.Schema

    def decode(self, values: pyarrow.Array) -> Decoded:
        """The columns of the good values, and the reasons of the others."""


class Maker(Protocol):
    """Makes rows of the table, and dead letters, of records."""

    schema: pyarrow.Schema
    dead_schema: pyarrow.Schema

    def make(
        self, records: pyarrow.RecordBatch
    ) -> tuple[pyarrow.RecordBatch, pyarrow.RecordBatch]:
        """Rows, and dead letters, of some records."""

    def dead(
        self, records: pyarrow.RecordBatch, reasons: dict[int, str]
    ) -> pyarrow.RecordBatch:
        """Dead letters of the records with these numbers."""


@dataclass(frozen=True)
class ValueFormat:
    """How values are written, and what is needed to read them; sent to the tasks."""

    format: str = "none"
    schema: str = ""
    schema_file: str = ""
    message: str = ""
    subject: str = ""
    registry: str = field(default="", repr=False)
    registry_user: str = field(default="", repr=False)
    registry_config: str = ""
    has_prefix: bool = False
    columns: tuple[str, ...] = RECORD_COLUMNS

    @property
    def is_typed(self) -> bool:
        """Whether the table has the fields of the values as columns."""
        return self.format not in ("none", "string")

    def open_registry(self) -> SchemaRegistry:
        """The registry that is named.

        Raises:
            JobError: how to get in there is not to be found on this machine.
        """
        return open_registry(self.registry, self.registry_user, self.registry_config)

    def decoder(self) -> ValueDecoder | None:
        """What reads the values; None if they stay as they are.

        Raises:
            JobError: the schema is missing or wrong.
        """
        if self.format == "json":
            if not self.schema:
                raise JobError(
                    '[value] format = "json" needs schema = "id BIGINT, name STRING"'
                )
            return JsonDecoder(read_schema(self.schema))
        if self.format == "avro":
            from .avro import AvroDecoder

            return AvroDecoder.of(self)
        if self.format == "protobuf":
            from .protobuf import ProtobufDecoder

            return ProtobufDecoder.of(self)
        return None


class RowMaker:
    """Makes rows of the table, and dead letters, of records."""

    def __init__(self, how: ValueFormat, records: pyarrow.Schema) -> None:
        import pyarrow as pa

        from .dead_letters import dead_letter_schema

        self._how = how
        self._decoder = how.decoder()
        self._records = records
        self.dead_schema = dead_letter_schema(records)
        if self._decoder is None:
            names = [*how.columns, "value"]
            kinds = {"value": pa.string()} if how.format == "string" else {}
            fields = [
                pa.field(name, kinds.get(name, records.field(name).type))
                for name in names
            ]
        else:
            fields = [field.with_nullable(True) for field in self._decoder.schema]
            names = [field.name for field in fields]
            for name in how.columns:
                if f"_{name}" in names:
                    raise JobError(
                        f"schema: the column _{name} is the record's {name} already; "
                        "leave it out of [table] columns to have your own"
                    )
                fields.append(pa.field(f"_{name}", records.field(name).type))
        self.schema = pa.schema(fields)

    def make(
        self, records: pyarrow.RecordBatch
    ) -> tuple[pyarrow.RecordBatch, pyarrow.RecordBatch]:
        """Rows, and dead letters, of some records."""
        if self._decoder is None:
            return self._plain(records)
        decoded = self._decoder.decode(records.column("value"))
        good = records
        if len(decoded.rows) < len(records):
            good = records.take(decoded.rows)
        columns = list(decoded.columns.flatten())
        columns += [good.column(name) for name in self._how.columns]
        return self._rows(columns), self.dead(records, decoded.reasons)

    def _rows(self, columns: list[pyarrow.Array]) -> pyarrow.RecordBatch:
        import pyarrow as pa

        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _plain(
        self, records: pyarrow.RecordBatch
    ) -> tuple[pyarrow.RecordBatch, pyarrow.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        reasons: dict[int, str] = {}
        if self._how.format == "string":
            try:
                values = records.column("value").cast(pa.string())
            except pa.ArrowInvalid:
                values, reasons = _strings(records.column("value"))
            if reasons:
                keep = pa.array(row not in reasons for row in range(len(records)))
                good = records.filter(keep)
                values = pc.filter(values, keep)
            else:
                good = records
        else:
            good, values = records, records.column("value")
        columns = [good.column(name) for name in self._how.columns]
        return self._rows([*columns, values]), self.dead(records, reasons)

    def dead(
        self, records: pyarrow.RecordBatch, reasons: dict[int, str]
    ) -> pyarrow.RecordBatch:
        """Dead letters of the records with these numbers."""
        import pyarrow as pa

        rows = sorted(reasons)
        bad = records.take(pa.array(rows, pa.int64()))
        columns = [bad.column(name) for name in self.dead_schema.names[:-1]]
        columns.append(pa.array([reasons[row] for row in rows], pa.string()))
        return pa.RecordBatch.from_arrays(columns, schema=self.dead_schema)


def _strings(values: pyarrow.Array) -> tuple[pyarrow.Array, dict[int, str]]:
    """Texts, and the reasons of the values that are none."""
    import pyarrow as pa

    texts: list[str | None] = []
    reasons = {}
    for row, value in enumerate(values.to_pylist()):
        try:
            texts.append(None if value is None else value.decode())
        except UnicodeDecodeError as error:
            texts.append(None)
            reasons[row] = f"not UTF-8: {error.reason} at byte {error.start}"
    return pa.array(texts, pa.string()), reasons
