"""What a task holds of large records, as it reads more and more of them.

    .venv/bin/python bench/pipeline_memory.py --size 10240

Records of 100 KB of random bytes, read by one task in a process of its own, without
Spark, from the same segments, or the same file, again and again:

- export: the segments of a data directory become Parquet files (zstd);
- load: a Parquet file with row groups of 48 MB becomes rows of one partition.

Printed are resident memory and its peak, in MB, with the CPU seconds so far: memory may
not follow the size. Aim: 300 MB at most.
"""

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent / "parts"))

import pyarrow as pa
import pyarrow.parquet as pq
from arguments import at_least, some_of

from bench.many_commits import held
from odradek.pipeline.jobs.batch_writer import BatchWriter
from odradek.pipeline.load.file_rows import PlainFiles
from odradek.pipeline.load.record_rows import RecordColumns as PartsOfRecords
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.source.data_source import (
    BatchReader,
    Decoding,
    read_partition,
)
from odradek.pipeline.source.options import RECORDS, read_options
from odradek.pipeline.tables.places.large_rows import rows_of_page
from odradek.pipeline.values.decoding import ValueFormat
from odradek.protocol.records import NewRecord, build_batch

RECORD_SIZE = 100_000
BATCH_RECORDS = 10
SEGMENT_SIZE = 64 << 20
SEGMENTS = 4
ROW_GROUP_RECORDS = (48 << 20) // RECORD_SIZE
TASKS = ("export", "load")


def make_directory(root: Path) -> None:
    """A log of one partition, as a broker leaves it that was stopped."""
    folder, random, offset = root / "t-0", Random(7), 0
    folder.mkdir(parents=True)
    for _ in range(SEGMENTS):
        with open(folder / f"{offset:020d}.log", "wb") as log:
            while log.tell() < SEGMENT_SIZE:
                values = (random.randbytes(RECORD_SIZE) for _ in range(BATCH_RECORDS))
                records = [NewRecord(None, each, 1_700_000_000_000) for each in values]
                log.write(build_batch(records, base_offset=offset))
                offset += BATCH_RECORDS
    (root / "meta.properties").write_text("version=1\ncluster.id=bench\nnode.id=1\n")
    (root / ".kafka_cleanshutdown").write_text("{}")


def apart(run: Callable[[], None]) -> None:
    """In a process of its own: what is held at most is told of a process."""
    process = get_context("fork").Process(target=run)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit("a process of this benchmark has failed")


class Shown:
    """Lines of what is held, ten for all that is read."""

    def __init__(self, task: str, size: int) -> None:
        self.is_over = False
        self._task, self._size = task, size
        self._read = self._told = 0

    def add(self, size: int) -> None:
        if self.is_over:
            return
        self._read += size
        self.is_over = self._read >= self._size
        if self.is_over or self._read - self._told >= self._size // 10:
            self._told = self._read
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            print(
                f"{self._task:6} {self._read >> 20:>7} MB read: {held():5.0f} MB held,"
                f" {peak:5.0f} at most, {time.process_time():6.1f} CPU s",
                flush=True,
            )


def export(root: Path, shown: Shown) -> None:
    """The files of one task; those that are whole make room for others."""
    apart(lambda: make_directory(root / "data"))
    options = read_options({"path": str(root / "data"), "subscribe": "t"})
    columns = RecordColumns.of(include_headers=False)
    decoding = Decoding(RECORDS, columns, options)
    rows = root / "rows"
    rows.mkdir()

    def batches() -> Iterator[pa.RecordBatch]:
        while not shown.is_over:
            for partition in BatchReader(options, decoding).partitions():
                for batch in read_partition(partition, options, decoding):
                    yield batch
                    shown.add(batch.nbytes)
            for whole in rows.glob("*.parquet"):
                os.truncate(whole, 0)

    BatchWriter(ValueFormat(), str(rows), None).write_rows(batches())


def make_file(path: Path) -> None:
    """A file as a task of an export writes it."""
    random = Random(7)
    values = [random.randbytes(RECORD_SIZE) for _ in range(ROW_GROUP_RECORDS)]
    rows = pa.table({"value": pa.array(values, pa.binary())})
    page = rows_of_page(rows)
    with pq.ParquetWriter(
        path, rows.schema, compression="zstd", write_batch_size=page
    ) as file:
        for _ in range(SEGMENTS):
            file.write_table(rows)


def load(root: Path, shown: Shown) -> None:
    """The rows that one task makes batches of."""
    path = root / "file.parquet"
    apart(lambda: make_file(path))
    files = PlainFiles((str(path),), PartsOfRecords(value="value"), 0)
    while not shown.is_over:
        for batch in files.divided(1, 1).batches(0):
            shown.add(batch.nbytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=at_least(1), default=2048, help="MiB")
    parser.add_argument("--tasks", type=some_of(*TASKS), default=TASKS)
    options = parser.parse_args()
    for task in options.tasks:
        with tempfile.TemporaryDirectory(prefix="odradek-memory-") as folder:
            run = {"export": export, "load": load}[task]
            shown = Shown(task, options.size << 20)
            apart(partial(run, Path(folder), shown))


if __name__ == "__main__":
    main()
