"""Rows of a table that is divided: what cannot be in any partition is a dead letter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.pipeline.tables.partitions.splitting import strange

if TYPE_CHECKING:
    import pyarrow

    from odradek.pipeline.tables.partitions.partitioning import Partitioning

    from .decoding import Maker


class PartitionedMaker:
    """Makes rows of records as another maker does, all of which have their place."""

    def __init__(self, maker: Maker, partitioning: Partitioning) -> None:
        self._maker = maker
        self._partitioning = partitioning
        self.schema = maker.schema
        self.dead_schema = maker.dead_schema

    def make(
        self, records: pyarrow.RecordBatch
    ) -> tuple[pyarrow.RecordBatch, pyarrow.RecordBatch]:
        """Rows, and dead letters, of some records."""
        good, bad = self._maker.make(records)
        if not strange(self._partitioning, good):
            return good, bad
        return self._one_by_one(records)

    def dead(
        self, records: pyarrow.RecordBatch, reasons: dict[int, str]
    ) -> pyarrow.RecordBatch:
        """Dead letters of the records with these numbers."""
        return self._maker.dead(records, reasons)

    def _one_by_one(
        self, records: pyarrow.RecordBatch
    ) -> tuple[pyarrow.RecordBatch, pyarrow.RecordBatch]:
        import pyarrow as pa

        rows, letters = [], []
        for number in range(len(records)):
            record = records.slice(number, 1)
            good, bad = self._maker.make(record)
            if reason := strange(self._partitioning, good):
                good, bad = good.slice(0, 0), self.dead(record, {0: reason})
            rows.append(good)
            letters.append(bad)
        return pa.concat_batches(rows), pa.concat_batches(letters)
