"""Recovery after a kill, beside Apache Kafka, on the same bytes.

    python bench/recovery_beside_kafka.py --kafka KAFKA/libs

For each batch size a partition is written by hand, without recovery point or clean
marker. Each broker gets a copy, its pages warm, and recovers it with one thread: ours
by `load_log`, Kafka's by its start, which logs how long the log took. Its CPU time is
that of the process until then, less that of a start without the partition.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "parts")]

from peers import JAVA  # noqa: E402
from recovery import load_partition, log_size, make_partition  # noqa: E402
from targets import free_port  # noqa: E402

RECORD_SIZES = (100, 1000, 16_000)
LOADED = re.compile(r"Completed load of .*recovery-0.* in (\d+)\s*ms")
STARTED = "Kafka Server started"
TIMEOUT_S = 300
LOG4J = """<Configuration status="ERROR"><Appenders><Console name="c">
<PatternLayout pattern="%p %m%n"/></Console></Appenders><Loggers><Root level="INFO">
<AppenderRef ref="c"/></Root></Loggers></Configuration>"""


class Cost(NamedTuple):
    """Seconds of wall time and of CPU time."""

    wall: float
    cpu: float

    def per_gb(self, size: int) -> str:
        rate, cpu = size / self.wall / 1e9, self.cpu / size * 1e9
        return f"{rate:5.2f} GB/s {cpu:5.2f} CPU s/GB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kafka", type=Path, required=True, metavar="LIBS")
    parser.add_argument("--size", type=int, default=512 << 20, help="bytes of each log")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    for record_size in RECORD_SIZES:
        with tempfile.TemporaryDirectory(prefix="odradek-bench-") as made:
            original = Path(made) / "recovery-0"
            batch = make_partition(original, record_size, args.size, 0)
            size = log_size(original)
            ours = min(recover(original) for _ in range(args.repeats))
            theirs = min(
                recover_with_kafka(args.kafka, original) for _ in range(args.repeats)
            )
        print(
            f"batches of {batch:6} bytes: odradek {ours.per_gb(size)},"
            f" Apache Kafka {theirs.per_gb(size)},"
            f" ratio {ours.wall / theirs.wall:.2f} ({ours.cpu / theirs.cpu:.2f})",
            flush=True,
        )


def recover(original: Path) -> Cost:
    """What it costs us, syncing what was not synced included."""
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as root:
        directory = Path(root) / "recovery-0"
        copy(original, directory)
        cpu, wall = time.process_time(), time.perf_counter()
        load_partition(directory)
        return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def recover_with_kafka(libs: Path, original: Path) -> Cost:
    """What it costs Apache Kafka, which syncs nothing then."""
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as root:
        base = start_kafka(libs, Path(root))
        copy(original, Path(root) / "data" / "recovery-0")
        (Path(root) / "data" / ".kafka_cleanshutdown").unlink(missing_ok=True)
        cost = start_kafka(libs, Path(root))
        return Cost(cost.wall, max(0.01, cost.cpu - base.cpu))


def start_kafka(libs: Path, root: Path) -> Cost:
    """Start it, and kill it when it is up: how long its log took, CPU of all."""
    properties, log4j = root / "properties", root / "log4j2.xml"
    java = [*JAVA.split(), f"-Dlog4j2.configurationFile={log4j}", "-cp", f"{libs}/*"]
    if not properties.exists():
        write_properties(properties, root / "data")
        log4j.write_text(LOG4J)
        tool = ["kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg"]
        command = [*java, *tool, "-c", str(properties)]
        subprocess.run(command, check=True, capture_output=True)
    command = [*java, "kafka.Kafka", str(properties)]
    with (root / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + TIMEOUT_S
        while STARTED not in (text := (root / "log").read_text()):
            assert process.poll() is None, text
            assert time.monotonic() < deadline, text
            time.sleep(0.05)
        found = LOADED.search(text)
        return Cost(int(found[1]) / 1000 if found else 0.0, cpu_of(process.pid))
    finally:
        process.kill()
        process.wait()


def write_properties(path: Path, data_dir: Path) -> None:
    port, controller_port = free_port(), free_port()
    path.write_text(f"""
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={data_dir}
num.recovery.threads.per.data.dir=1
""")


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def copy(original: Path, directory: Path) -> None:
    """A copy whose bytes are on the disk and in the page cache."""
    shutil.copytree(original, directory)
    os.sync()
    for path in directory.glob("*.log"):
        path.read_bytes()


if __name__ == "__main__":
    main()
