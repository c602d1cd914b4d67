"""Spark's own cluster as processes: a master, and workers with eyes of their own.

Each worker has an address of its own. Where the system allows mount namespaces, a
worker may see other files than the driver does, under the same paths.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MASTER = re.compile(r"Starting Spark master at (spark://[\d.]+:\d+)")
_REGISTERED = re.compile("Successfully registered with master")
_DEPLOY = "org.apache.spark.deploy"
# Of executors and driver: less than 450 MB Spark refuses.
SMALL = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def can_unshare() -> bool:
    """Whether a process may see files of its own here."""
    try:
        done = subprocess.run(["unshare", "-m", "true"], capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


class StandaloneCluster:
    """The processes; ``master`` is the URL of the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.master = ""
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start_master(self) -> None:
        """Where one was killed, the next one is found there, and knows what it knew."""
        port = self.master.rpartition(":")[2] or "0"
        given = ["--host", "127.0.0.1", "--port", port, "--webui-port", "0"]
        self._log("master").unlink(missing_ok=True)
        self.start("master", [_class(f"{_DEPLOY}.master.Master", given)])
        self.master = self.wait_for("master", _MASTER)[1]

    def start_worker(
        self, host: str, hidden: Mapping[Path, Path] | None = None
    ) -> None:
        """One core; it sees the values of ``hidden`` in the place of the keys."""
        given = ["--cores", "1", "--memory", "600m", "--host", host, "--port", "0"]
        given += ["--webui-port", "0", "--work-dir", str(self.folder / f"work-{host}")]
        worker = _class(f"{_DEPLOY}.worker.Worker", [*given, self.master])
        mounts = [
            shlex.join(["mount", "--bind", str(seen), str(path)])
            for path, seen in (hidden or {}).items()
        ]
        self._log(host).unlink(missing_ok=True)
        self.start(host, [*mounts, worker], is_apart=bool(hidden))
        self.wait_for(host, _REGISTERED)

    def start(self, name: str, steps: list[str], *, is_apart: bool = False) -> None:
        """A process of its own group, to be ended with all that it has started."""
        *before, last = steps
        command = ["sh", "-ec", "\n".join([*before, f"exec {last}"])]
        environment = {
            **os.environ,
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_DAEMON_MEMORY": "128m",
            "SPARK_DAEMON_JAVA_OPTS": "-Dspark.deploy.recoveryMode=FILESYSTEM"
            f" -Dspark.deploy.recoveryDirectory={self.folder / 'recovery'}"
            " -Dspark.deploy.maxExecutorRetries=-1",
            "SPARK_LOCAL_IP": "127.0.0.1" if name == "master" else name,
        }
        for inherited in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH"):
            environment.pop(inherited, None)
        with self._log(name).open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [*(["unshare", "-m"] if is_apart else []), *command],
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def wait_for(self, name: str, line: re.Pattern[str]) -> re.Match[str]:
        deadline = time.monotonic() + PATIENCE_S
        while (found := line.search(self.log(name))) is None:
            assert self.processes[name].poll() is None, self.log(name)[-3000:]
            assert time.monotonic() < deadline, self.log(name)[-3000:]
            time.sleep(0.05)
        return found

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def log(self, name: str) -> str:
        return self._log(name).read_text(errors="replace")

    def kill(self, name: str) -> None:
        """The process, and the executors that it has started."""
        process = self.processes.pop(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _class(name: str, arguments: list[str]) -> str:
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    return shlex.join([str(spark_class), name, *arguments])


@contextlib.contextmanager
def standalone_cluster(folder: Path) -> Iterator[StandaloneCluster]:
    """A master without workers, for the length of a test."""
    cluster = StandaloneCluster(folder)
    try:
        cluster.start_master()
        yield cluster
    finally:
        for name in list(cluster.processes):
            cluster.kill(name)
