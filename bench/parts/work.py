"""Load against a broker while its CPU time is read."""

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import processes
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from targets import Broker

HERE = Path(__file__).parent
RAW, CLIENT = HERE / "raw_load.py", HERE / "client_load.py"
STREAM = HERE / "stream_load.py"

Figures = dict[str, float]

# Of each measurement: the share of one core that neither broker nor load used.
disturbances: list[float] = []

_numbers = itertools.count(1)


class Measured(Protocol):
    """A broker, or one of its listeners."""

    @property
    def port(self) -> int: ...

    def cpu_seconds(self) -> float: ...


def measure(broker: Measured, script: Path, work: str, **options: Any) -> Figures:
    """Run one load process; its figures, and the broker's CPU time."""
    command = [sys.executable, str(script), work, "--port", str(broker.port)]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            command += [f"--{name.replace('_', '-')}", str(each)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
    ) as process:
        assert process.stdin is not None
        _line(process)
        cpu, busy = broker.cpu_seconds(), processes.machine_busy_seconds()
        began = time.monotonic()
        process.stdin.write("\n")
        process.stdin.flush()
        figures: Figures = json.loads(_line(process))
        elapsed = time.monotonic() - began
        figures["broker_cpu_s"] = broker.cpu_seconds() - cpu
        busy = processes.machine_busy_seconds() - busy
    others = busy - figures["broker_cpu_s"] - figures["client_cpu_s"]
    disturbances.append(max(0.0, others) / elapsed)
    return figures


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        process.wait()
        raise RuntimeError("a load process failed")
    return line


@contextmanager
def topic(broker: Broker, partitions: int = 1, **config: str) -> Iterator[str]:
    """A new topic, deleted at the end."""
    name = f"bench-{next(_numbers)}"
    admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 2})
    options = {key.replace("_", "."): value for key, value in config.items()}
    new = NewTopic(name, partitions, 1, config=options)
    admin.create_topics([new], operation_timeout=60)[name].result()
    try:
        yield name
    finally:
        with suppress(KafkaException):
            admin.delete_topics([name])[name].result()
