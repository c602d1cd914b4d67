"""Segments through Spark: to a count, to Parquet, and audited; Parquet beside them.

A data directory of ``--size`` MiB (records of 1 KB, four partitions) is read by
``format("odradek")`` with ``path``; the same rows are read from Parquet (zstd) by the
same Spark, in the same rounds:

- count: every column is read and handed on (``noop``), aim Parquet's rate;
- Parquet: written again with zstd, aim 0.9 times Parquet to Parquet;
- audit: every batch's checksum, aim 2 GB/s.

Printed are MB/s of the log's bytes, the CPU seconds of Spark and its workers for a GB,
each the best of ``--rounds``, and the ratios. Takes less than four minutes for 512 MiB
on two cores that are otherwise idle; ``--paths audit`` leaves out the others.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent / "parts"))

from arguments import at_least, some_of
from pipeline_load import used
from processes import taken
from pyspark.sql import DataFrame, SparkSession

from odradek.pipeline.audit.audit import conclude, plan_audit
from odradek.pipeline.audit.run import audit_spans
from odradek.pipeline.segments.directory import DataDirectory
from odradek.pipeline.spark.executors import Executors
from odradek.pipeline.spark.session import spark_session
from odradek.protocol.record_batch import codec_id
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.formats.index_entry import IndexEntry, pack_index_entry

TOPIC = "bench"
PARTITIONS = 4
SEGMENT_SIZE = 64 << 20
BATCH_RECORDS = 16
VALUE_SIZE = 1000
INDEX_INTERVAL = 4096
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PATHS = ("count", "parquet", "audit")


def make_directory(root: Path, size: int, codec: str) -> None:
    """A log directory as a broker leaves it that was stopped."""
    random = Random(7)
    words = [random.randbytes(random.randrange(2, 8)).hex() for _ in range(4000)]
    for partition in range(PARTITIONS):
        folder = root / f"{TOPIC}-{partition}"
        folder.mkdir(parents=True)
        offset = 0
        for _ in range(0, size // PARTITIONS, SEGMENT_SIZE):
            room = min(SEGMENT_SIZE, size // PARTITIONS)
            offset = write_segment(folder, offset, room, codec, random, words)
    (root / "meta.properties").write_text("version=1\ncluster.id=bench\nnode.id=1\n")
    (root / ".kafka_cleanshutdown").write_text("{}")


def write_segment(
    folder: Path, base: int, size: int, codec: str, random: Random, words: list[str]
) -> int:
    """One file and its index; the offset behind it."""
    offset, position, indexed = base, 0, 0
    index = bytearray()
    with open(folder / f"{base:020d}.log", "wb") as log:
        while position < size:
            records = []
            for _ in range(BATCH_RECORDS):
                text = " ".join(random.choices(words, k=VALUE_SIZE // 10 + 10))
                key = b"key-%09d" % random.randrange(10**9)
                records.append(
                    NewRecord(key, text.encode()[:VALUE_SIZE], 1_700_000_000_000)
                )
            batch = build_batch(
                records, base_offset=offset, compression=codec_id(codec)
            )
            offset += BATCH_RECORDS
            if position - indexed >= INDEX_INTERVAL:
                index += pack_index_entry(IndexEntry(offset - 1 - base, position))
                indexed = position
            log.write(batch)
            position += len(batch)
    (folder / f"{base:020d}.index").write_bytes(index)
    return offset


def session(scratch: Path) -> SparkSession:
    """Spark on two cores with 1 GiB, as commands have it."""
    options = {
        "spark.driver.memory": "1g",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    return spark_session("bench", "local[2]", options)


def count_all(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def to_files(folder: str, frame: DataFrame) -> None:
    frame.write.mode("overwrite").parquet(folder)


class Cost(NamedTuple):
    """Seconds, and those of the processors: of Spark and all its processes."""

    wall_s: float
    cpu_s: float


def cost(spark: SparkSession, run: Callable[[], object]) -> Cost:
    before, start = used(spark), time.perf_counter()
    run()
    return Cost(time.perf_counter() - start, taken(before, used(spark)))


def measure(root: Path, size: int, rounds: int, paths: list[str]) -> None:
    spark = session(root)
    data, copy, written = root / "data", str(root / "parquet"), str(root / "written")

    reader = spark.read.format("odradek").option("path", str(data))
    reader = reader.option("subscribe", TOPIC).option("includeHeaders", "true")
    segments = reader.load()

    def audit() -> None:
        directory = DataDirectory(data)
        spans = audit_spans(Executors(spark), plan_audit(directory, []))
        assert conclude(directory, spans).is_sound

    works: dict[str, Callable[[], object]] = {}
    if paths != ["audit"]:
        segments.write.mode("overwrite").parquet(copy)
        parquet = spark.read.parquet(copy)
        assert parquet.count() == segments.count()
        ends: dict[str, Callable[[DataFrame], None]] = {
            "count": count_all,
            "Parquet": partial(to_files, written),
        }
        for name in (each for each in ends if each.lower() in paths):
            works[f"segments → {name}"] = partial(ends[name], segments)
            works[f"Parquet → {name}"] = partial(ends[name], parquet)
    if "audit" in paths:
        works["audit"] = audit
    best = {name: Cost(1e9, 1e9) for name in works}
    for _ in range(rounds):
        for name, run in works.items():
            took = cost(spark, run)
            best[name] = Cost(*map(min, best[name], took))
    show(best, size)
    spark.stop()


def show(best: dict[str, Cost], size: int) -> None:
    """Print the best of each, and the ratios."""
    for name, took in best.items():
        rate, cpu = size / took.wall_s / 1e6, took.cpu_s / size * 1e9
        print(f"{name:20} {rate:8.0f} MB/s, {cpu:6.2f} CPU s/GB")
    for name, aim in (("count", 1), ("Parquet", 0.9)):
        if f"segments → {name}" in best:
            ours, parquet = best[f"segments → {name}"], best[f"Parquet → {name}"]
            rate, cpu = parquet.wall_s / ours.wall_s, parquet.cpu_s / ours.cpu_s
            said = f"{rate:.2f} times Parquet's rate (aim {aim}), {cpu:.2f} by CPU"
            print(f"to {name}: {said}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=at_least(1), default=512, help="MiB of log")
    parser.add_argument("--rounds", type=at_least(1), default=3)
    parser.add_argument("--codec", choices=CODECS, default="none")
    parser.add_argument("--paths", type=some_of(*PATHS), default=PATHS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as folder:
        root = Path(folder)
        make_directory(root / "data", given.size << 20, given.codec)
        logs = (root / "data").rglob("*.log")
        size = sum(path.stat().st_size for path in logs)
        print(f"{size / 1e6:.0f} MB of log, codec {given.codec}", flush=True)
        measure(root, size, given.rounds, given.paths)


if __name__ == "__main__":
    main()
