"""The brokers that are measured: a command line each, started on a port of its own.

Command lines hold ``{port}`` and, if the broker keeps data, ``{data_dir}``.
"""

import compileall
import os
import random
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import processes

_START_SECONDS_MAX = 120
_STOP_SECONDS_MAX = 60
_NEVER_COMPILED = "PYTHONDONTWRITEBYTECODE"
ROOT = Path(__file__).resolve().parents[2]
ASK_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)


@dataclass(frozen=True)
class Target:
    """``prepare`` runs once before the first start; ``{spare_port}`` is one more.

    ``compiles_late``: it is slow until a compiler has seen it work for a while.
    """

    name: str
    command: str
    prepare: str = ""
    compiles_late: bool = False

    @property
    def is_durable(self) -> bool:
        """Whether it keeps data when it stops: Apache Kafka says where in a file."""
        return "{data_dir}" in self.command


def odradek(durability: str) -> Target:
    name = "odradek" if durability == "none" else f"odradek, {durability}"
    serve = f"{shlex.quote(sys.executable)} -m odradek serve"
    options = f"--port {{port}} --data-dir {{data_dir}} --durability {durability}"
    return Target(name, f"{serve} {options}")


class Broker:
    """A target that runs, or has run, in a directory of its own."""

    def __init__(self, target: Target, root: Path) -> None:
        self.name = target.name
        self.port = free_port()
        self.data_dir = root / f"{target.name.replace(', ', '-')}-{self.port}"
        self._target = target
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._values = {
            "port": self.port,
            "spare_port": free_port(),
            "data_dir": self.data_dir,
        }
        if target.prepare:
            self._spawn(target.prepare).wait()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> float:
        """Start it; the seconds until it answered the first request."""
        self._started = time.monotonic()
        self._process = self._spawn(self._target.command)
        while not _answers(self.port):
            late = self.since_start() > _START_SECONDS_MAX
            if late or self._process.poll() is not None:
                raise RuntimeError(f"{self.name} did not start: {self._last_words()}")
            time.sleep(0.001)
        return self.since_start()

    def since_start(self) -> float:
        return time.monotonic() - self._started

    def stop(self, how: signal.Signals = signal.SIGTERM) -> float:
        """Stop or kill it; the seconds that took."""
        began = time.monotonic()
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(_STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return time.monotonic() - began

    def remove(self) -> None:
        """Kill it, and delete what it left."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.data_dir, ignore_errors=True)
        with suppress(FileNotFoundError):
            self._output.unlink()

    def cpu_seconds(self) -> float:
        return processes.cpu_seconds(self.pid)

    def memory_bytes(self) -> int:
        return processes.memory_bytes(self.pid)

    @property
    def _output(self) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.out")

    def _spawn(self, command: str) -> subprocess.Popen[bytes]:
        words = [word.format(**self._values) for word in shlex.split(command)]
        with self._output.open("ab") as out:
            # Not where a folder could be taken for one of its packages.
            folder = self._output.parent
            return subprocess.Popen(
                words, stdout=out, stderr=out, cwd=folder, env=environment()
            )

    def _last_words(self) -> str:
        return " / ".join(self._output.read_text(errors="replace").splitlines()[-3:])


def compile_packages(tree: Path = ROOT) -> None:
    """Compile odradek's modules, as an installation does."""
    for package in ("protocol", "storage", "client", "broker", "terminal"):
        if (tree / package).is_dir():  # an earlier revision may not have it
            compileall.compile_dir(tree / package, quiet=1)


def environment() -> dict[str, str]:
    """That of this process, but that modules are not compiled at each start."""
    return {name: os.environ[name] for name in os.environ if name != _NEVER_COMPILED}


def free_port() -> int:
    """A port below the ephemeral ones, which no client's socket can take."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as link:
            link.sendall(ASK_VERSIONS)
            return len(link.recv(8)) == 8
    except OSError:
        return False
