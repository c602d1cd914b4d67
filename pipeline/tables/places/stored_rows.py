"""The rows of files in a store, read by tasks: Spark itself never asks the store.

A task reads one file, from its beginning to its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.pipeline.tables.column_names import with_new_names
from odradek.pipeline.tables.evolution import aligned
from odradek.pipeline.tables.partitions.partition_path import values_of

from .large_rows import rows_at_once, stored_row_size
from .task_file import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow

    from .store_place import StoreFolder


@dataclass(frozen=True)
class StoredRows:
    """Goes to the tasks; ``schema`` is Arrow's, ``names`` are old ones and new ones."""

    folder: StoreFolder
    paths: tuple[str, ...]
    schema: bytes
    names: tuple[tuple[str, str], ...] = ()

    def __call__(
        self, numbers: Iterator[pyarrow.RecordBatch]
    ) -> Iterator[pyarrow.RecordBatch]:
        """The rows of the files with these numbers."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self._rows(self.paths[number])

    def _rows(self, path: str) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.ipc.read_schema(pa.py_buffer(self.schema))
        values = values_of(path)
        file = pq.ParquetFile(opened(path, self.folder), pre_buffer=False)
        for batch in file.iter_batches(rows_at_once(stored_row_size(file))):
            rows = pa.Table.from_batches([batch])
            renamed = with_new_names(rows.schema, dict(self.names))
            rows = rows.rename_columns(renamed.names)
            for field in schema:
                text = values.get(field.name)
                if text is not None and field.name not in rows.column_names:
                    value = pa.scalar(text).cast(field.type)
                    rows = rows.append_column(field, pa.repeat(value, len(rows)))
            yield from aligned(rows, schema).to_batches()
