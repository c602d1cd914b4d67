"""Measures how a broker with many partitions starts: after a clean stop, and a kill.

    python bench/start_up.py
    python bench/start_up.py --partitions 1000 --kib 64
    python bench/start_up.py --markdown docs/benchmarks.md

Every partition has a directory with records. "ready" is from the start of the process
to the line that says so. Then one client produces with acks=all to partitions at
random, most of them not open yet, until the broker has opened all of them in the
background and is idle.
"""

import argparse
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

from processes import cpu_seconds, memory_bytes  # noqa: E402
from tables import machine, replace_section, short, table  # noqa: E402

from odradek.client.connection import Connection  # noqa: E402
from odradek.protocol.messages.produce import (  # noqa: E402
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.topics import (  # noqa: E402
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.records import NewRecord, build_batch  # noqa: E402

SECTION = "start-up"
TOPIC_PARTITIONS = 1_000
REQUEST_PARTITIONS = 200
LOAD_SECONDS_MAX = 120
IDLE_CORES = 0.05


@dataclass
class StartUp:
    """What one start took."""

    ready_s: float
    ready_mib: float
    opened_s: float = 0
    opened_mib: float = 0
    produce_ms: list[float] = field(default_factory=list)
    stop_s: float = 0

    def cells(self) -> list[str]:
        times = sorted(self.produce_ms)
        return [
            f"{self.ready_s:.2f} s",
            f"{self.opened_s:.1f} s",
            short(times[len(times) // 2]) + " ms",
            short(times[len(times) * 99 // 100]) + " ms",
            short(times[-1]) + " ms",
            f"{self.ready_mib:.0f} MiB",
            f"{self.opened_mib:.0f} MiB",
            f"{self.stop_s:.1f} s",
        ]


HEAD = ["ready", "all open", "produce p50", "p99", "max"]
HEAD += ["memory, ready", "all open", "clean stop"]


class Broker:
    """``odradek serve`` on a directory."""

    def __init__(self, data_dir: Path) -> None:
        command = [sys.executable, "-m", "odradek", "serve", "--port", "0"]
        command += ["--data-dir", str(data_dir), "-o", "log.min.free.bytes=0"]
        begin = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=HERE.parent
        )
        assert self.process.stdout is not None
        select.select([self.process.stdout], [], [], 600)
        line = self.process.stdout.readline()
        self.ready_s = time.perf_counter() - begin
        if not line:
            raise SystemExit("the broker did not start")
        self.port = int(line.split(",")[0].rpartition(":")[2])

    def end(self, how: signal.Signals) -> float:
        begin = time.perf_counter()
        self.process.send_signal(how)
        self.process.wait(600)
        return time.perf_counter() - begin


def main() -> None:
    args = _arguments()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        data_dir = Path(root) / "data"
        topics = _fill(data_dir, args.partitions, args.kib << 10)
        rows = [
            ["clean stop", *_measure(data_dir, topics, signal.SIGTERM).cells()],
            ["clean stop, again", *_measure(data_dir, topics, signal.SIGKILL).cells()],
            ["kill -9", *_measure(data_dir, topics, signal.SIGTERM).cells()],
        ]
        shutil.rmtree(data_dir)
    what = f"{args.partitions:,} partitions with {args.kib} KiB each, started after a"
    text = f"{what}\n\n{table(['', *HEAD], rows)}"
    print(text)
    if args.markdown:
        replace_section(args.markdown, SECTION, f"{machine()}\n\n{text}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--kib", type=int, default=16, help="of each partition")
    parser.add_argument("--dir", type=Path, help="where the data lies meanwhile")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    return parser.parse_args()


def _fill(data_dir: Path, partitions: int, size: int) -> list[tuple[str, int]]:
    """Make the topics and their records; then stop in order."""
    broker = Broker(data_dir)
    topics = [
        (f"topic-{number}", min(TOPIC_PARTITIONS, partitions - first))
        for number, first in enumerate(range(0, partitions, TOPIC_PARTITIONS))
    ]
    with Connection("127.0.0.1", broker.port, timeout_s=600) as connection:
        for name, count in topics:
            wanted = CreatableTopic(name=name, num_partitions=count)
            wanted.replication_factor = 1
            request = CreateTopicsRequest(topics=[wanted], timeout_ms=60_000)
            (made,) = connection.request(request, CreateTopicsResponse, 5).topics
            assert made.error_code == 0, made
            for first in range(0, count, REQUEST_PARTITIONS):
                end = min(first + REQUEST_PARTITIONS, count)
                _produce(connection, name, range(first, end), size)
    broker.end(signal.SIGTERM)
    return topics


def _produce(
    connection: Connection, name: str, partitions: Sequence[int], size: int
) -> None:
    batch = bytes(build_batch([NewRecord(b"k", bytes(size), int(time.time() * 1000))]))
    data = [PartitionProduceData(index=each, records=batch) for each in partitions]
    request = ProduceRequest(
        acks=-1,
        timeout_ms=60_000,
        topic_data=[TopicProduceData(name=name, partition_data=data)],
    )
    (topic,) = connection.request(request, ProduceResponse, 9).responses
    for answer in topic.partition_responses:
        assert answer.error_code == 0, answer


def _measure(
    data_dir: Path, topics: list[tuple[str, int]], how: signal.Signals
) -> StartUp:
    """Start on the directory, produce while logs are opened, end as ``how`` says."""
    broker = Broker(data_dir)
    pid = broker.process.pid
    result = StartUp(broker.ready_s, memory_bytes(pid) / 2**20)
    begin = time.perf_counter()
    with Connection("127.0.0.1", broker.port, timeout_s=600) as connection:
        for _ in _until_idle(pid):
            name, count = random.choice(topics)
            sent = time.perf_counter()
            _produce(connection, name, [random.randrange(count)], 100)
            result.produce_ms.append((time.perf_counter() - sent) * 1000)
    result.opened_s = time.perf_counter() - begin
    result.opened_mib = memory_bytes(pid) / 2**20
    result.stop_s = broker.end(how)
    return result


def _until_idle(pid: int) -> Iterator[None]:
    """Turns of 5 ms, and more until the process does next to nothing between them."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < LOAD_SECONDS_MAX:
        used, since = cpu_seconds(pid), time.perf_counter()
        for _ in range(20):
            yield
            time.sleep(0.005)
        time.sleep(0.5)
        if cpu_seconds(pid) - used < IDLE_CORES * (time.perf_counter() - since):
            return


if __name__ == "__main__":
    main()
