"""The sink: JSON to typed Parquet beside from_json, its floor, and its freshness.

    .venv/bin/python bench/pipeline_sink.py

- decode: ``--rows`` JSON values of about 100 bytes in a topic, written as typed Parquet
  (zstd) by the same Spark (``local[2]``): by tasks as exports and sinks have them, and
  by ``format("odradek")`` and ``from_json``. Rows/s of the best of ``--rounds``, in
  turn, with the CPU seconds of Spark and all its processes for a million rows.
- floor: seconds of a micro-batch of one record, with its commit, for Parquet, Delta and
  Iceberg; the median of ``--batches``.
- freshness: a record every 50 ms for ``--seconds``, a trigger of 1 s: from its
  timestamp to the moment its batch is committed and seen; median and 95th percentile.
"""

import argparse
import io
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "bench" / "parts")]

from arguments import at_least, seconds, some_of  # noqa: E402
from confluent_kafka import Producer  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402
from pipeline_load import used  # noqa: E402
from processes import taken  # noqa: E402

from odradek.pipeline.jobs.export import Export, run_export  # noqa: E402
from odradek.pipeline.jobs.job_file import read_job  # noqa: E402
from odradek.pipeline.jobs.job_source import Source  # noqa: E402
from odradek.pipeline.sink.sink import Sink  # noqa: E402
from odradek.pipeline.spark.session import spark_session  # noqa: E402
from odradek.pipeline.values.decoding import ValueFormat  # noqa: E402
from odradek.terminal.progress import Progress  # noqa: E402
from tests.broker_process import BrokerProcess, running_broker  # noqa: E402

SCHEMA = "id BIGINT, customer STRING, amount DOUBLE, at TIMESTAMP, paid BOOLEAN"
FORMATS = ("parquet", "delta", "iceberg")
EVERY_S = 0.05


def value(number: int) -> bytes:
    """About 100 bytes."""
    row = {
        "id": number,
        "customer": f"customer-{number % 10_000}",
        "amount": number * 0.25,
        "at": "2026-01-31T12:00:00Z",
        "paid": number % 2 == 0,
    }
    return json.dumps(row, separators=(",", ":")).encode()


class Cost(NamedTuple):
    rate: float  # rows/s
    cpu_s: float


def decode(
    spark: Any, broker: BrokerProcess, folder: Path, rows: int, rounds: int
) -> dict[str, Cost]:
    """What both take, the best of some rounds in turn."""
    from pyspark.sql import functions as F

    make_topic(broker, "decode", 2)
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 20})
    for number in range(rows):
        producer.produce("decode", value(number), partition=number % 2)
        if not number % 10_000:
            producer.flush()
    producer.flush()
    how = ValueFormat("json", schema=SCHEMA, columns=("partition", "offset"))

    def ours(target: Path) -> None:
        source = Source(broker.address, ("decode",))
        export = Export(
            source, how, str(target / "rows"), dead_letters=f"{target}/dead"
        )
        commit = run_export(export, lambda: spark, Progress(io.StringIO()))
        assert commit.row_count == rows, commit

    def theirs(target: Path) -> None:
        reader = spark.read.format("odradek").option("subscribe", "decode")
        frame = reader.option("kafka.bootstrap.servers", broker.address).load()
        parsed = F.from_json(F.col("value").cast("string"), SCHEMA).alias("v")
        wanted = frame.select(parsed, "partition", "offset")
        wanted = wanted.select("v.*", "partition", "offset")
        wanted.write.option("compression", "zstd").parquet(str(target))

    best: dict[str, Cost] = {}
    for number in range(rounds + 1):
        for name, run in (("odradek", ours), ("from_json", theirs)):
            before = used(spark), time.perf_counter()
            run(folder / f"{name}{number}")
            wall = time.perf_counter() - before[1]
            cpu = taken(before[0], used(spark))
            if number:  # the first one warms up
                known = best.get(name, Cost(0, cpu))
                best[name] = Cost(max(known.rate, rows / wall), min(known.cpu_s, cpu))
    return best


class Steps(io.StringIO):
    """The steps that a sink has said, with the moment of each."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[tuple[float, dict[str, Any]]] = []

    def write(self, text: str) -> int:
        if text.startswith("{"):
            step = json.loads(text)
            if step["step"] == "batch":
                self.batches.append((time.time(), step))
        return len(text)


@contextmanager
def sinking(
    spark: Any, broker: BrokerProcess, folder: Path, kind: str, **source: Any
) -> Iterator[tuple[Steps, Sink]]:
    """A sink at work in a thread."""
    content = {
        "name": "bench",
        "trigger": source.pop("trigger", "1ms"),
        "source": {
            "bootstrap_servers": broker.address,
            "topics": [source.pop("topic")],
            **source,
        },
        "value": {"format": "json", "schema": SCHEMA},
        "table": {"path": "rows", "format": kind},
    }
    folder.mkdir()
    steps = Steps()
    sink = Sink(read_job(content, folder), lambda: spark, progress=Progress(steps))
    sink.prepare()
    thread = threading.Thread(target=sink.run, kwargs={"once": False})
    thread.start()
    try:
        yield steps, sink
    finally:
        sink.stop()
        thread.join()
        sink.close()


def make_topic(broker: BrokerProcess, name: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)


def floor(
    spark: Any, broker: BrokerProcess, folder: Path, kind: str, count: int
) -> float:
    """The median of the seconds from batch to batch."""
    topic = f"floor-{kind}"
    make_topic(broker, topic)
    producer = Producer({"bootstrap.servers": broker.address})
    for number in range(count):
        producer.produce(topic, value(number))
    producer.flush()
    job = sinking(
        spark, broker, folder / topic, kind, topic=topic, max_offsets_per_trigger=1
    )
    with job as (steps, _):
        wait(lambda: len(steps.batches) >= count, 120)
    moments = [moment for moment, _ in steps.batches]
    gaps = [b - a for a, b in pairwise(moments)]
    return statistics.median(gaps[len(gaps) // 4 :])


def freshness(
    spark: Any, broker: BrokerProcess, folder: Path, seconds: float
) -> tuple[float, float]:
    """Median and 95th percentile, in seconds."""
    make_topic(broker, "fresh")
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 0})
    job = sinking(
        spark, broker, folder / "fresh", "parquet", topic="fresh", trigger="1s"
    )
    with job as (steps, _):
        producer.produce("fresh", value(0))
        producer.flush()
        wait(lambda: len(steps.batches) > 0, 60)  # it is warm
        sent = [time.time()]
        for number in range(1, int(seconds / EVERY_S)):
            producer.produce("fresh", value(number))
            sent.append(time.time())
            producer.poll(0)
            time.sleep(EVERY_S)
        producer.flush()
        count = len(sent)
        wait(lambda: sum(step["records"] for _, step in steps.batches) >= count, 60)
    waits: list[float] = []
    seen = 0
    for moment, step in steps.batches:
        waits += [moment - each for each in sent[seen : seen + step["records"]]]
        seen += step["records"]
    waits = waits[1:]
    return statistics.median(waits), statistics.quantiles(waits, n=20)[-1]


def wait(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.005)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=at_least(2), default=1_000_000)
    parser.add_argument("--rounds", type=at_least(1), default=3)
    parser.add_argument("--batches", type=at_least(3), default=40)
    parser.add_argument("--seconds", type=seconds(1), default=30)
    parser.add_argument("--formats", type=some_of(*FORMATS), default=FORMATS)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="pipeline-sink-"))
    spark = spark_session("bench", "local[2]", {"spark.driver.memory": "1g"})
    try:
        with running_broker(folder / "data") as broker:
            best = decode(spark, broker, folder, args.rows, args.rounds)
            ratio = best["odradek"].rate / best["from_json"].rate
            print(f"JSON to typed Parquet, {len(value(1_000_000))} B, rows/s:")
            for name, cost in best.items():
                cpu_s = cost.cpu_s / args.rows * 1e6
                print(f"  {name:10} {cost.rate:12,.0f}  CPU s/M rows {cpu_s:6.2f}")
            print(f"  {'ratio':10} {ratio:12.2f}", flush=True)
            for kind in args.formats:
                median = floor(spark, broker, folder, kind, args.batches)
                print(f"micro-batch floor, {kind:8} {median:6.3f} s", flush=True)
            middle, high = freshness(spark, broker, folder, args.seconds)
            print(f"freshness at 1 s: median {middle:.2f} s, p95 {high:.2f} s")
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
