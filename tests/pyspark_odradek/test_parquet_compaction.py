"""What readers of the folder see while a Parquet table is compacted."""

import os
import threading
from pathlib import Path

from pyspark_odradek.parquet_compaction import compact_parquet
from pyspark_odradek.parquet_table import ParquetTable
from pyspark_odradek.table_compaction import rewrite_here
from tests.client.live import wait_until
from tests.pyspark_odradek.fake_job import JOB, run_batches
from tests.pyspark_odradek.table_readers import rows_of

ROWS = list(range(100))


def test_readers_see_each_row_once_all_the_time(tmp_path: Path) -> None:
    location = tmp_path / "t"
    run_batches(lambda: (ParquetTable(location, JOB), None), range(10))
    is_over = threading.Event()
    wrong: list[list[int]] = []
    reads = 0

    def read() -> None:
        nonlocal reads
        while not is_over.is_set():
            try:
                seen = rows_of("duckdb", location, "_offset")
            except Exception:  # a file that was listed is gone: read again
                continue
            reads += 1
            if seen != ROWS:
                wrong.append(seen)

    def one_more() -> None:
        before = reads
        wait_until(lambda: reads > before)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for size in (4000, 8000, 1 << 20):
            one_more()
            compact_parquet(location, size, rewrite_here)
        one_more()
    finally:
        is_over.set()
        thread.join()
    assert not wrong
    assert len(list(location.glob("*.parquet"))) == 1


def test_names_say_which_batches_came_first(tmp_path: Path) -> None:
    location = tmp_path / "t"
    run_batches(lambda: (ParquetTable(location, JOB), None), range(4))
    compact_parquet(location, 1 << 20, rewrite_here)
    run_batches(lambda: (ParquetTable(location, JOB), None), range(4, 5))
    compact_parquet(location, 1 << 20, rewrite_here)
    (name,) = [each for each in os.listdir(location) if each[0] != "_"]
    assert name.startswith("part-0000000000-00000-")
    assert name.endswith("-compact.parquet")
