"""Segments through Spark: to a count, to Parquet, and audited; Parquet beside them.

A data directory of ``--size`` MiB (records of 1 KB, four partitions) is read by
``format("odradek")`` with ``path``; the same rows are read from Parquet (zstd) by the
same Spark, in the same rounds:

- count: every column is read and handed on (``noop``), aim 1.5 times Parquet's;
- Parquet: written again with zstd, aim 0.9 times Parquet to Parquet;
- audit: every batch's checksum, aim 2 GB/s.

Printed are MB/s of the log's bytes, the best of ``--rounds``, and the ratios. Takes
less than four minutes for 512 MiB on two cores that are otherwise idle; ``--paths
audit`` leaves out the others.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent / "parts"))

from arguments import at_least, some_of
from pyspark.sql import DataFrame, SparkSession

from odradek.pipeline.audit.audit import conclude, plan_audit
from odradek.pipeline.audit.run import audit_spans
from odradek.pipeline.segments.directory import DataDirectory
from odradek.pipeline.spark.executors import Executors
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
    """Spark on two cores with 1 GiB."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    root = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    builder = SparkSession.builder.master("local[2]").appName("bench")
    for name, value in options.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def count_all(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def to_files(folder: str, frame: DataFrame) -> None:
    frame.write.mode("overwrite").parquet(folder)


def timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


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
    show(works, size, rounds)
    spark.stop()


def show(works: dict[str, Callable[[], object]], size: int, rounds: int) -> None:
    """Print the best of each, and the ratios."""
    best = dict.fromkeys(works, 1e9)
    for _ in range(rounds):
        for name, run in works.items():
            best[name] = min(best[name], timed(run))
    for name, seconds in best.items():
        print(f"{name:20} {size / seconds / 1e6:8.0f} MB/s")
    for name, aim in (("count", 1.5), ("Parquet", 0.9)):
        if f"segments → {name}" in works:
            ratio = best[f"Parquet → {name}"] / best[f"segments → {name}"]
            print(f"{'to ' + name + ', ratio':20} {ratio:8.2f}      (aim {aim})")


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
