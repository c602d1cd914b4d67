"""A table into a topic, beside Spark's own Kafka connector, in one run.

    python bench/pipeline_load.py [--rows N] [--record-size BYTES] [--rounds N]

The same Parquet files, with keys and values, are written to a topic of odradek and to
one of Apache Kafka: as ``load`` does it, whose tasks read the files, and of a frame of
Spark's, which is shuffled (both exactly once, in a transaction), and by the connector
(at least once, with idempotent producers). CPU is that of Spark and all its processes,
without the brokers; figures are the least of the rounds, in turn, each into a topic of
its own. Needs Java and Maven, once for the jars. Takes two minutes.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "bench" / "parts")]

import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from arguments import at_least  # noqa: E402
from pipeline_wire import fetch_jars, random_values, session  # noqa: E402
from processes import cpu_of_each, taken  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from tables import short, table  # noqa: E402

from odradek.pipeline.load.loader import Loader, LoadJob  # noqa: E402
from odradek.pipeline.load.record_rows import RecordColumns  # noqa: E402
from odradek.pipeline.load.table_load import load_table  # noqa: E402
from odradek.pipeline.tables.files import TableSource  # noqa: E402
from tests.apache_kafka.node import running_kafka  # noqa: E402
from tests.broker_process import running_broker  # noqa: E402
from tests.pipeline import feeding  # noqa: E402

PARTITIONS = 4
FILES = 4
COLUMNS = RecordColumns(key="key", value="value")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=at_least(FILES), default=1_000_000)
    parser.add_argument(
        "--record-size", type=at_least(11), default=100, help="bytes of each"
    )
    parser.add_argument("--rounds", type=at_least(1), default=3)
    args = parser.parse_args()
    fetch_jars()
    with (
        tempfile.TemporaryDirectory(prefix="odradek-bench-") as made,
        running_kafka(Path(made)) as kafka,
        running_broker(Path(made) / "odradek") as odradek,
        session(Path(made)) as spark,
    ):
        rows = Path(made) / "rows"
        write_rows(rows, args.rows, args.record_size)
        measure(spark, rows, [kafka.address, odradek.address], args)


def measure(
    spark: SparkSession, rows: Path, addresses: list[str], args: argparse.Namespace
) -> None:
    ways = {"connector": by_connector, "load": by_load, "frame": by_frame}
    figures: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number in range(args.rounds + 1):  # in the first one all is cold
        for broker, address in zip(("Apache Kafka", "odradek"), addresses, strict=True):
            for name, write in ways.items():
                topic = f"{name}-{number}"
                feeding.create(address, topic, PARTITIONS)
                before, begun = used(spark), time.perf_counter()
                write(spark, rows, address, topic)
                wall_s = time.perf_counter() - begun
                cost = taken(before, used(spark)), wall_s
                if number:
                    figures.setdefault((broker, name), []).append(cost)
    size = args.rows * args.record_size / 1e9
    lines = []
    for (broker, name), found in figures.items():
        cpu = min(each[0] for each in found)
        beside = min(each[0] for each in figures[broker, "connector"])
        seconds = min(each[1] for each in found)
        lines.append(
            [broker, name, short(cpu), short(cpu / size), f"{cpu / beside:.2f}"]
            + [short(size * 1e3 / seconds)]
        )
    print(f"{args.rows:,} rows of {args.record_size} bytes, {os.cpu_count()} cores")
    head = ["broker", "by", "CPU s", "CPU s/GB", "of the connector's", "MB/s"]
    print(table(head, lines))


def used(spark: SparkSession) -> dict[int, float]:
    """CPU seconds of this process, of Spark's Java, and of its workers."""
    java = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
    return {os.getpid(): time.process_time(), **cpu_of_each(java)}


def by_load(spark: SparkSession, rows: Path, address: str, topic: str) -> None:
    source = TableSource("parquet", str(rows), {})
    with Loader(spark, LoadJob(topic, topic, address)) as loader:
        for _ in load_table(spark, loader, source):
            pass


def by_frame(spark: SparkSession, rows: Path, address: str, topic: str) -> None:
    with Loader(spark, LoadJob(topic, topic, address)) as loader:
        loader.load(spark.read.parquet(str(rows)), 0, COLUMNS)


def by_connector(spark: SparkSession, rows: Path, address: str, topic: str) -> None:
    writer = spark.read.parquet(str(rows)).write.format("kafka")
    writer.option("kafka.bootstrap.servers", address).option("topic", topic).save()


def write_rows(folder: Path, count: int, size: int) -> None:
    """A table of several files."""
    values = random_values(size)
    folder.mkdir()
    for number in range(FILES):
        numbers = range(number, count, FILES)
        keys = [b"key-%06d" % (each % 10**6) for each in numbers]
        columns = {
            "key": pa.array(keys, pa.binary()),
            "value": pa.array([values[n % len(values)] for n in numbers], pa.binary()),
        }
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")


if __name__ == "__main__":
    main()
