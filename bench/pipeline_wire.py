"""Topics over the wire into Spark, beside Spark's own Kafka connector, in one run.

    python bench/pipeline_wire.py [--size MB] [--rounds N] [--record-size BYTES]

The connector reads from Apache Kafka, as it comes and tuned (10,000 records a poll,
fetches of 16 MB, two Spark partitions for each partition), our source from odradek.
Each broker has the same records in two partitions. Spark has two threads, and is set up
as the jobs of odradek set it up, for both (`pipeline.spark.session`). The
figures are the best of the rounds, in MB of keys and values a second. Needs Java and
Maven, once for the jars. Takes three to four minutes.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench" / "parts")]

from arguments import at_least  # noqa: E402
from confluent_kafka import Producer  # noqa: E402
from pyspark.sql import DataFrame, SparkSession  # noqa: E402
from tables import short, table  # noqa: E402

from odradek.pipeline.spark.session import spark_session  # noqa: E402
from tests.apache_kafka import jars  # noqa: E402
from tests.apache_kafka.node import running_kafka  # noqa: E402
from tests.broker_process import running_broker  # noqa: E402
from tests.pipeline import feeding, spark_jars  # noqa: E402

TOPIC = "wire"
PARTITIONS = 2
TUNED = {
    "kafka.max.poll.records": "10000",
    "kafka.fetch.max.bytes": str(64 << 20),
    "kafka.max.partition.fetch.bytes": str(16 << 20),
    "kafka.receive.buffer.bytes": str(1 << 20),
    "minPartitions": str(2 * PARTITIONS),
}


class Way(NamedTuple):
    """A word behind ``format``, the broker that is read, and options."""

    name: str
    word: str
    address: str
    options: dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=at_least(1), default=512, help="MB of records")
    parser.add_argument(
        "--record-size", type=at_least(11), default=1024, help="bytes of each"
    )
    parser.add_argument("--rounds", type=at_least(1), default=3)
    args = parser.parse_args()
    fetch_jars()
    with (
        tempfile.TemporaryDirectory(prefix="odradek-bench-") as made,
        running_kafka(Path(made)) as kafka,
        running_broker(Path(made) / "odradek") as odradek,
    ):
        count = (args.size << 20) // args.record_size
        for address in (kafka.address, odradek.address):
            fill(address, count, args.record_size)
        ways = [
            Way("connector, Apache Kafka", "kafka", kafka.address, {}),
            Way("connector tuned, Apache Kafka", "kafka", kafka.address, TUNED),
            Way("odradek, odradek", "odradek", odradek.address, {}),
            Way("odradek, Apache Kafka", "odradek", kafka.address, {}),
            Way("connector tuned, odradek", "kafka", odradek.address, TUNED),
        ]
        with session(Path(made)) as spark:
            measure(spark, Path(made), ways, count, args)


def fetch_jars() -> None:
    """Those of Apache Kafka; ends where they, or the connector's, cannot be had."""
    missing = jars.missing() or spark_jars.connector_missing()
    if missing:
        raise SystemExit(missing)
    jars.fetch()


def measure(
    spark: SparkSession,
    root: Path,
    ways: list[Way],
    count: int,
    args: argparse.Namespace,
) -> None:
    def counted(way: Way) -> None:
        assert frame(spark, way).count() == count

    def to_nothing(way: Way) -> None:
        frame(spark, way).write.format("noop").mode("overwrite").save()

    def to_parquet(way: Way) -> None:
        writer = frame(spark, way).write.option("compression", "zstd")
        writer.mode("overwrite").parquet(str(root / "table"))

    def streamed(way: Way) -> None:
        stream(spark, way, root / "checkpoint")

    paths: dict[str, Callable[[Way], None]] = {
        "wire → count": counted,
        "wire → nothing": to_nothing,
        "wire → Parquet (zstd)": to_parquet,
        "stream, availableNow → nothing": streamed,
    }
    size = count * args.record_size
    for way in ways:
        counted(way)  # Java and Python are warm then
    rows = []
    for path, run in paths.items():
        chosen = ways if run is counted else ways[1:3]
        seconds = {way.name: float("inf") for way in chosen}
        for _ in range(args.rounds):
            for way in chosen:
                before = time.perf_counter()
                run(way)
                taken = time.perf_counter() - before
                seconds[way.name] = min(seconds[way.name], taken)
        tuned = seconds[ways[1].name]
        rows += [
            [path, name, short(size / taken / 1e6), f"{tuned / taken:.2f}"]
            for name, taken in seconds.items()
        ]
    print(f"{count:,} records of {args.record_size} bytes, {os.cpu_count()} cores")
    print(table(["path", "source, broker", "MB/s", "of the tuned connector"], rows))


def frame(spark: SparkSession, way: Way) -> DataFrame:
    reader = spark.read.format(way.word).option("subscribe", TOPIC)
    reader = reader.option("kafka.bootstrap.servers", way.address)
    return reader.options(**way.options).load()


def stream(spark: SparkSession, way: Way, checkpoint: Path) -> None:
    shutil.rmtree(checkpoint, ignore_errors=True)
    reader = spark.readStream.format(way.word).option("subscribe", TOPIC)
    reader = reader.option("kafka.bootstrap.servers", way.address)
    query = (
        reader.options(startingOffsets="earliest", **way.options)
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def random_values(record_size: int) -> list[bytes]:
    """Words at random, which no codec packs to nothing; ten bytes are for the key."""
    random = Random(7)
    words = [random.randbytes(6).hex().encode() for _ in range(500)]
    return [
        b" ".join(random.choices(words, k=record_size // 13 + 1))[: record_size - 10]
        for _ in range(5000)
    ]


def fill(address: str, count: int, record_size: int) -> None:
    """They are sent as they are."""
    values = random_values(record_size)
    feeding.create(address, TOPIC, PARTITIONS)
    options: dict[str, Any] = {
        "bootstrap.servers": address,
        "linger.ms": 20,
        "batch.size": 256 << 10,
        "queue.buffering.max.messages": 200_000,
    }
    producer = Producer(options)
    for number in range(count):
        while True:
            with contextlib.suppress(BufferError):
                producer.produce(
                    TOPIC,
                    values[number % len(values)],
                    b"key-%06d" % (number % 10**6),
                    number % PARTITIONS,
                )
                break
            producer.poll(0.05)
        if not number % 1000:
            producer.poll(0)
    assert producer.flush(120) == 0


@contextlib.contextmanager
def session(root: Path) -> Iterator[SparkSession]:
    warnings.simplefilter("ignore", ResourceWarning)
    options = {
        "spark.driver.memory": "1g",
        "spark.local.dir": str(root),
        "spark.jars": ",".join(spark_jars.connector_jars()),
    }
    spark = spark_session("bench", "local[2]", options)
    try:
        yield spark
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
