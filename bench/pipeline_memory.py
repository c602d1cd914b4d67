"""What a task of an export holds of large records, as it is handed more and more.

    .venv/bin/python bench/pipeline_memory.py --size 10240

Batches of 100 KB records come as Spark's JVM sends them, up to the bytes that our
session lets it send at once (``--batch``), and become Parquet files of random bytes
(zstd). Printed are resident memory and its peak, in MB: neither may follow the size.
"""

import argparse
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent / "parts"))

import pyarrow as pa
from arguments import at_least

from bench.many_commits import held
from odradek.pipeline.jobs.batch_writer import BatchWriter
from odradek.pipeline.values.decoding import ValueFormat

RECORD_SIZE = 100_000
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)


def make(path: Path, batch_size: int) -> None:
    """A stream of eight batches."""
    random, count = Random(7), batch_size // RECORD_SIZE
    with pa.ipc.new_stream(path, SCHEMA) as stream:
        for start in range(0, 8 * count, count):
            rows = [
                {
                    "value": random.randbytes(RECORD_SIZE),
                    "topic": "t",
                    "partition": 0,
                    "offset": start + n,
                }
                for n in range(count)
            ]
            stream.write_batch(pa.RecordBatch.from_pylist(rows, SCHEMA))


def batches(path: Path, size: int) -> Iterator[pa.RecordBatch]:
    """The stream again and again, through a file of Python's, as in a worker."""
    handed, shown = 0, 0
    while handed < size:
        with open(path, "rb") as file:
            for batch in pa.ipc.open_stream(file):
                yield batch
                handed += batch.nbytes
        if handed - shown >= size // 10:
            show(handed >> 20)
            shown = handed


def show(handed: int) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(
        f"{handed:>7} MB handed: {held():5.0f} MB held, {peak:5.0f} at most", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=at_least(1), default=2048, help="MiB")
    parser.add_argument(
        "--batch", type=at_least(1), default=8, help="MiB that come at once"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="odradek-memory-") as folder:
        stream = Path(folder) / "stream"
        make(stream, options.batch << 20)
        writer = BatchWriter(ValueFormat(), folder, None)
        writer.write_rows(batches(stream, options.size << 20))
        show(options.size)


if __name__ == "__main__":
    main()
