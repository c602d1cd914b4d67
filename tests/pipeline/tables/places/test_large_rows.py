"""How many rows of Parquet files are read and written at once."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from odradek.pipeline.tables.places.large_rows import (
    BYTES_AT_ONCE,
    ROWS_MAX,
    rows_at_once,
    rows_of_page,
    stored_row_size,
)


def table(size: int, count: int) -> pa.Table:
    values = [bytes([n]) * size for n in range(count)]
    return pa.table({"n": range(count), "value": pa.array(values, pa.binary())})


@pytest.mark.parametrize(
    ("row_size", "count"),
    [(0, ROWS_MAX), (100, ROWS_MAX), (BYTES_AT_ONCE / 80, 80), (1e12, 1)],
)
def test_rows_at_once(row_size: float, count: int) -> None:
    assert rows_at_once(row_size) == count


def test_the_size_of_stored_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(table(10_000, 50), path, row_group_size=20)
    with pq.ParquetFile(path) as file:
        assert 10_000 < stored_row_size(file) < 10_100
        assert 0 < stored_row_size(file, ["n"]) < 100
        rest = stored_row_size(file, ["value"]) + stored_row_size(file, ["n"])
        assert rest == pytest.approx(stored_row_size(file))
    pq.write_table(table(1, 0), path)
    with pq.ParquetFile(path) as file:
        assert stored_row_size(file) < 1000


def test_a_page_of_large_rows_is_no_whole_row_group(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    rows = table(100_000, 100)
    assert rows_of_page(table(100, 100)) == 1024
    assert rows_of_page(table(1, 0)) == 1024
    assert rows_of_page(rows) == 10
    pq.write_table(
        rows,
        path,
        compression="none",
        use_dictionary=False,
        write_batch_size=rows_of_page(rows),
    )
    pool = pa.default_memory_pool()
    with pq.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False) as file:
        before, held = pool.bytes_allocated(), []
        for batch in file.iter_batches(10, use_threads=False):
            assert batch.num_rows == 10
            held.append(pool.bytes_allocated() - before)
    assert max(held) < rows.nbytes / 2, "a reader holds a page or two"
