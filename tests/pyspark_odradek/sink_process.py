"""``odradek pipeline sink`` as its users start it, to be killed part by part."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

TIMEOUT_S = 800
# A JVM that lives for seconds is best off without its second compiler.
JAVA_OPTIONS = "-Xss16m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
JOB = """
name = "{name}"
[source]
bootstrap_servers = "{address}"
topics = ["{topic}"]
max_offsets_per_trigger = {limit}
[value]
format = "json"
schema = "id BIGINT NOT NULL, text STRING"
[table]
path = "rows"
format = "{kind}"
[spark]
master = "local[1,4]"
[spark.conf]
"spark.driver.memory" = "512m"
"spark.driver.extraJavaOptions" = "{java}"
"spark.sql.codegen.wholeStage" = false
"""


def write_job(
    folder: Path, kind: str, address: str, topic: str, limit: int = 200
) -> Path:
    path = folder / "job.toml"
    path.write_text(
        JOB.format(
            name=topic,
            address=address,
            topic=topic,
            kind=kind,
            limit=limit,
            java=JAVA_OPTIONS,
        )
    )
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


class SinkProcess:
    """One driver; its steps are read from its standard error."""

    def __init__(self, action: str, job: Path, *options: str) -> None:
        self.log_path = job.with_suffix(".err")
        self._position = self.log_path.stat().st_size if self.log_path.exists() else 0
        command = [sys.executable, "-P", "-m", "broker", "pipeline", "sink", action]
        with self.log_path.open("a") as log:
            self.process = subprocess.Popen(
                [*command, str(job), *options],
                stdout=subprocess.DEVNULL,
                stderr=log,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
            )

    def log(self) -> str:
        with self.log_path.open() as log:
            log.seek(self._position)
            return log.read()

    def batches(self) -> list[dict[str, Any]]:
        lines = (line for line in self.log().splitlines() if line.startswith("{"))
        steps = [json.loads(line) for line in lines]
        return [step for step in steps if step["step"] == "batch"]

    def wait_for_batches(self, count: int) -> None:
        """Return when it has committed so many, or has ended."""
        deadline = time.monotonic() + TIMEOUT_S
        while self.process.poll() is None and len(self.batches()) < count:
            assert time.monotonic() < deadline, self.log()[-2000:]
            time.sleep(0.02)

    def end(self) -> int:
        return self.process.wait(TIMEOUT_S)

    def terminate(self) -> int:
        self.process.terminate()
        return self.end()

    def kill_driver(self) -> None:
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
        return [p for p in _descendants(self.process.pid) if _name(p) == "java"]

    def _workers(self) -> list[int]:
        """The processes that Spark's daemon has forked, and not the daemon itself."""
        below = [p for jvm in self._jvm() for p in _descendants(jvm)]
        parents = {_parent(pid) for pid in below}
        return [pid for pid in below if pid not in parents and "python" in _name(pid)]


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
