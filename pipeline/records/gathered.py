"""Small batches of rows become larger ones: each costs Spark as a thousand rows do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow

SIZE = 1 << 20
ROWS = 10_000


def gathered(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """The same rows, in their order; what is large already is not copied."""
    pending: list[pyarrow.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        is_large = batch.nbytes >= SIZE // 4 or batch.num_rows >= ROWS // 4
        if is_large:
            yield from _joined(pending)
            pending, size, rows = [], 0, 0
            yield batch
            continue
        pending.append(batch)
        size += batch.nbytes
        rows += batch.num_rows
        if size >= SIZE or rows >= ROWS:
            yield from _joined(pending)
            pending, size, rows = [], 0, 0
    yield from _joined(pending)


def _joined(batches: list[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    if len(batches) < 2:
        yield from batches
        return
    import pyarrow as pa

    yield pa.concat_batches(batches)
