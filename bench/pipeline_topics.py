"""A micro-batch of many small topics: what the driver of a sink does for it.

    .venv/bin/python bench/pipeline_topics.py --topics 1000

Each topic gets ``--records`` JSON values, and the driver finds where the topics end,
reads, writes and commits a table: without Spark, which adds the same for every batch.
Printed are the medians of ``--batches``: seconds, and seconds of the processor, for the
plan (in a sink Spark's process has it) and for the batch, and those of the broker.
"""

import argparse
import io
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench" / "parts")]

from arguments import at_least  # noqa: E402
from confluent_kafka import Producer  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402
from processes import cpu_seconds  # noqa: E402
from pyspark.sql.streaming.datasource import ReadMaxRows  # noqa: E402

from odradek.pipeline.jobs.job_file import read_job  # noqa: E402
from odradek.pipeline.records.columns import RecordColumns  # noqa: E402
from odradek.pipeline.sink.sink import Sink  # noqa: E402
from odradek.pipeline.source.data_source import Decoding  # noqa: E402
from odradek.pipeline.source.options import RECORDS, read_stream_options  # noqa: E402
from odradek.pipeline.source.stream_offsets import StreamOffsets  # noqa: E402
from odradek.pipeline.source.stream_source import StreamReader  # noqa: E402
from odradek.terminal.progress import Progress  # noqa: E402
from tests.broker_process import BrokerProcess, running_broker  # noqa: E402
from tests.pipeline.fake_spark import FakeSpark  # noqa: E402

PATTERN = "topic-.*"
SCHEMA = "id BIGINT, customer STRING"


class Feed:
    """Writes the same number of records to every topic."""

    def __init__(self, address: str, topics: int, records: int) -> None:
        self._names = [f"topic-{number:05d}" for number in range(topics)]
        self._records = records
        admin = AdminClient({"bootstrap.servers": address})
        made = admin.create_topics([NewTopic(name, 1, 1) for name in self._names])
        for each in made.values():
            each.result(120)
        self._producer = Producer({"bootstrap.servers": address, "linger.ms": 100})

    def send(self) -> None:
        for name in self._names:
            for number in range(self._records):
                self._producer.produce(
                    name, b'{"id": %d, "customer": "c-%d"}' % (number, number)
                )
        assert self._producer.flush(120) == 0


class Driver:
    """The planner of a stream, and the checkpoint that Spark writes."""

    def __init__(self, address: str, checkpoint: Path) -> None:
        options = read_stream_options(
            {"kafka.bootstrap.servers": address, "subscribePattern": PATTERN}
        )
        columns = RecordColumns.of(include_headers=False)
        self._reader = StreamReader(options, Decoding(RECORDS, columns, options))
        self._offsets = self._reader.initialOffset()
        self._checkpoint = checkpoint / "offsets"
        self._checkpoint.mkdir(parents=True)

    def plan(self, batch: int) -> None:
        self._offsets = self._reader.latestOffset(self._offsets, ReadMaxRows(10**9))
        line = StreamOffsets.of_json(self._offsets).text()
        (self._checkpoint / str(batch)).write_text(f"v1\n{{}}\n{line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=at_least(1), default=1000)
    parser.add_argument("--records", type=at_least(1), default=1)
    parser.add_argument("--batches", type=at_least(1), default=15)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="odradek-topics-") as folder,
        running_broker(Path(folder) / "data") as broker,
    ):
        feed = Feed(broker.address, options.topics, options.records)
        costs = measure(Path(folder), broker, feed, options.batches)
    for name, each in costs.items():
        wall, ours, brokers = (statistics.median(c) for c in zip(*each, strict=True))
        print(
            f"{name:6} {wall:6.3f} s; of the processor {ours:6.3f}"
            f" here and {brokers:6.3f} in the broker"
        )


def measure(
    folder: Path, broker: BrokerProcess, feed: Feed, count: int
) -> dict[str, list[tuple[float, float, float]]]:
    content = {
        "name": "bench",
        "source": {"bootstrap_servers": broker.address, "topic_pattern": PATTERN},
        "value": {"format": "json", "schema": SCHEMA},
        "table": {"path": "rows", "format": "parquet"},
    }
    job = read_job(content, folder)
    costs: dict[str, list[tuple[float, float, float]]] = {"plan": [], "batch": []}

    def now() -> tuple[float, float, float]:
        return time.perf_counter(), time.process_time(), cpu_seconds(broker.pid)

    def timed(name: str, run: Callable[[], None]) -> None:
        before = now()
        run()
        wall, ours, brokers = (b - a for a, b in zip(before, now(), strict=True))
        costs[name].append((wall, ours, brokers))

    def query(run_batch: Callable[[Any, int], None]) -> None:
        for batch in range(count + 2):  # the first two are its start
            feed.send()
            timed("plan", partial(driver.plan, batch))
            timed("batch", partial(run_batch, None, batch))

    sink = Sink(job, FakeSpark([query]).open, progress=Progress(io.StringIO()))
    try:
        sink.prepare()
        driver = Driver(broker.address, Path(job.checkpoint))
        sink.run(once=True)
    finally:
        sink.close()
    return {name: each[2:] for name, each in costs.items()}


if __name__ == "__main__":
    main()
