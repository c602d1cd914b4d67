"""Rows of a table that has the last row of each key, as tasks write them.

Each has the column ``__deleted`` besides: a record without a value says that its key
has none any more. A record without a key is nobody's, and a dead letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.pipeline.tables.upserts.last_rows import with_deleted

from .decoding import RowMaker

if TYPE_CHECKING:
    import pyarrow

    from .decoding import ValueFormat

_NO_KEY = "the record has no key, and the table has a row for each key"


class UpsertMaker:
    """Makes such rows, and dead letters, of records."""

    def __init__(self, how: ValueFormat, records: pyarrow.Schema) -> None:
        self._maker = RowMaker(how, records)
        self._prefix = "_" if how.is_typed else ""
        self._kept = how.columns
        self.schema = with_deleted(self._maker.schema)
        self.dead_schema = self._maker.dead_schema

    def make(
        self, records: pyarrow.RecordBatch
    ) -> tuple[pyarrow.RecordBatch, pyarrow.RecordBatch]:
        """Rows, and dead letters, of some records."""
        import pyarrow as pa
        import pyarrow.compute as pc

        keyless = pc.is_null(records.column("key"))
        gone = pc.and_(pc.is_null(records.column("value")), pc.invert(keyless))
        live = pc.invert(pc.or_(keyless, gone))
        good, bad = self._maker.make(records.filter(live))
        nobodys = records.filter(keyless)
        strange = self._maker.dead(nobodys, dict.fromkeys(range(len(nobodys)), _NO_KEY))
        rows = [self._rows(good, deleted=False), self._gone(records.filter(gone))]
        return (
            pa.concat_batches(rows),
            pa.concat_batches([bad, strange]),
        )

    def dead(
        self, records: pyarrow.RecordBatch, reasons: dict[int, str]
    ) -> pyarrow.RecordBatch:
        """Dead letters of the records with these numbers."""
        return self._maker.dead(records, reasons)

    def _rows(self, rows: pyarrow.RecordBatch, *, deleted: bool) -> pyarrow.RecordBatch:
        import pyarrow as pa

        said = pa.repeat(pa.scalar(deleted), len(rows))
        return pa.RecordBatch.from_arrays([*rows.columns, said], schema=self.schema)

    def _gone(self, records: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """Of the record alone: there is no value."""
        import pyarrow as pa

        kept = {f"{self._prefix}{name}": records.column(name) for name in self._kept}
        columns = [
            kept.get(field.name, pa.nulls(len(records), field.type))
            for field in self._maker.schema
        ]
        rows = pa.RecordBatch.from_arrays(columns, schema=self._maker.schema)
        return self._rows(rows, deleted=True)
