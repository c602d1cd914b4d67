"""Drivers of sinks as processes of their own, to be killed part by part."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import Producer

from tests.patience import PATIENCE_S

_BATCH = re.compile(r'^\{"step": "batch"', re.MULTILINE)
JOB = """
name = "{name}"
[source]
bootstrap_servers = "{address}"
topics = ["{topic}"]
max_offsets_per_trigger = {limit}
small_batch_records = {small}
[value]
format = "json"
schema = "id BIGINT NOT NULL, text STRING"
[table]
path = "{name}-rows"
format = "{kind}"
compact_every = "{compact}"
[spark]
master = "local[2,4]"
[spark.conf]
"spark.driver.memory" = "512m"
"spark.sql.codegen.wholeStage" = false
"""


def write_job(
    folder: Path,
    kind: str,
    address: str,
    topic: str,
    small: int = 100,
    compact: str = "",
) -> Path:
    """A job named after the format, whose table is ``KIND-rows`` beside it.

    Batches of 200 records are written by tasks, but by the driver where they are small.
    """
    path = folder / f"{kind}.toml"
    names = {"name": kind, "kind": kind, "address": address, "topic": topic}
    path.write_text(JOB.format(**names, limit=200, small=small, compact=compact))
    return path


def send_rows(address: str, topic: str, first: int, count: int) -> None:
    """Numbered rows; of each 50 one cannot be decoded."""
    producer = Producer(
        {"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 5}
    )
    for number in range(first, first + count):
        row = json.dumps({"id": number, "text": f"row {number}"})
        value = f"bad {number}" if number % 50 == 13 else row
        producer.produce(topic, value, partition=number % 3)
    assert producer.flush(30) == 0


def good(count: int) -> list[int]:
    return [number for number in range(count) if number % 50 != 13]


def bad(count: int) -> list[bytes]:
    return sorted(b"bad %d" % number for number in range(count) if number % 50 == 13)


class Driver:
    """One driver with some jobs; what each did is read from the log beside its file."""

    def __init__(self, command: list[str], *jobs: Path) -> None:
        logs = {job: job.with_suffix(".err") for job in jobs}
        self._logs = {job: (log, _size(log)) for job, log in logs.items()}
        with logs[jobs[0]].open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *command],
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
            )

    @classmethod
    def of_all(cls, *jobs: Path) -> Driver:
        """One Spark with all of the jobs, until each has what there is."""
        module = "tests.pipeline.sinks_worker"
        return cls([module, *map(str, jobs)], *jobs)

    @classmethod
    def of_command(cls, action: str, job: Path) -> Driver:
        """``odradek pipeline sink`` as its users start it."""
        return cls(["odradek", "pipeline", "sink", action, str(job)], job)

    def log(self) -> str:
        """What was said since it began."""
        return "".join(self._said(job) for job in self._logs)

    def _said(self, job: Path) -> str:
        path, position = self._logs[job]
        if not path.exists():
            return ""
        with path.open() as log:
            log.seek(position)
            return log.read()

    def batches(self, job: Path) -> int:
        """How many it has committed of this job."""
        return len(_BATCH.findall(self._said(job)))

    def wait_for_batches(self, count: int, each: int = 0) -> None:
        """Return when it has committed so many of all jobs, and ``each`` of each.

        Or has ended.
        """
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            counts = [self.batches(job) for job in self._logs]
            if sum(counts) >= count and min(counts) >= each:
                return
            assert time.monotonic() < deadline, self.log()[-2000:]
            time.sleep(0.05)

    def end(self) -> int:
        return self.process.wait(PATIENCE_S)

    def terminate(self) -> int:
        self.process.terminate()
        return self.end()

    def kill(self) -> None:
        """The driver, and with it the JVM, which would end by itself a little later."""
        jvm = self._jvm()
        workers = self._workers()
        self.process.kill()
        self.process.wait()
        for pid in (*jvm, *workers):
            _kill(pid)

    def kill_executor(self) -> int:
        """All workers that are at work; how many."""
        workers = self._workers()
        for pid in workers:
            _kill(pid)
        return len(workers)

    def _jvm(self) -> list[int]:
        return java_below(self.process.pid)

    def _workers(self) -> list[int]:
        """The processes that Spark's daemon has forked, and not the daemon itself."""
        below = [p for jvm in self._jvm() for p in _descendants(jvm)]
        parents = {_parent(pid) for pid in below}
        return [pid for pid in below if pid not in parents and "python" in _name(pid)]


def java_below(pid: int) -> list[int]:
    """The JVMs that a process has started, and those that these have."""
    return [each for each in _descendants(pid) if _name(each) == "java"]


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _stat(pid: int) -> tuple[str, int]:
    """The name of a process, and the id of its parent."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "", 0
    name, _, rest = text.partition("(")[2].rpartition(")")
    return name, int(rest.split()[1])


def _name(pid: int) -> str:
    return _stat(pid)[0]


def _parent(pid: int) -> int:
    return _stat(pid)[1]


def _descendants(pid: int) -> list[int]:
    everyone = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    parents = {each: _parent(each) for each in everyone}
    found, ahead = [], [pid]
    while ahead:
        parent = ahead.pop()
        children = [each for each, of in parents.items() if of == parent]
        found += children
        ahead += children
    return found
