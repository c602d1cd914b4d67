"""A broker as its users have it: a process of its own, stopped by its own pid.

It stops by itself when the tests do, however they end. In the long run each is started
as its users start it, else those alone whose start matters; all others are forked
(`tests.broker_forks`), in a tenth of the time.
"""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests import broker_forks
from tests.broker_forks import ForkedBroker
from tests.patience import PATIENCE_S

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
# Records of tests are dated 1970: retention would be right to delete them, and begins
# half a minute after the start.
_KEEP = "-olog.retention.ms=-1"
READY = re.compile(r"on (127\.0\.0\.1):(\d+)")


class BrokerProcess:
    """``odradek serve`` on a data directory of its own."""

    def __init__(
        self, data_dir: Path, options: Sequence[str] = (), *, loop: str = "uvloop"
    ) -> None:
        self.data_dir = data_dir
        self.options = list(options)
        self.module = "odradek"
        self.environment = {**os.environ, "ODRADEK_LOOP": loop}
        self.is_forked = not IS_LONG and broker_forks.are_possible()
        self.keeps_old_records = True
        self.port = 0
        self.ready_line = ""
        self.log_path = data_dir.with_name(data_dir.name + ".err")
        self.process: subprocess.Popen[str] | ForkedBroker | None = None
        self._usual = self.module, dict(self.environment)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def launch(self) -> None:
        """Start, and wait for nothing."""
        arguments = ["serve", "--port", str(self.port)]
        arguments += ["--data-dir", str(self.data_dir)]
        arguments += [f"-oexit.with.process={os.getpid()}"]
        arguments += [_KEEP] * self.keeps_old_records + self.options
        is_usual = (self.module, self.environment) == self._usual
        with self.log_path.open("a") as log:
            if self.is_forked and is_usual:
                fork = broker_forks.forks.fork
                self.process = fork(arguments, log, self.environment)
                return
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module, *arguments],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self.environment,
            )

    def start(self) -> str:
        """Start, and return the ready line. The port stays the same ever after."""
        self.launch()
        try:
            line = self._ready_line()
            found = READY.search(line)
            assert found, f"broker did not start: {line!r} {self.log()}"
        except BaseException:
            self.kill()
            raise
        self.port, self.ready_line = int(found[2]), line
        return line

    def _ready_line(self) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        return self.process.stdout.readline() if readable else ""

    def kill(self) -> None:
        """As ``kill -9``: no warning, no flush."""
        self._end(signal.SIGKILL)

    def terminate(self) -> float:
        """As ``kill``: a clean stop. Returns the seconds that it took."""
        before = time.monotonic()
        code = self._end(signal.SIGTERM)
        assert code == 0, f"exit code {code}: {self.log()}"
        return time.monotonic() - before

    def _end(self, how: signal.Signals) -> int:
        process, self.process = self.process, None
        if process is None:
            return 0
        with ended(process):
            process.send_signal(how)
            return process.wait(timeout=PATIENCE_S)

    def log(self) -> str:
        return self.log_path.read_text() if self.log_path.exists() else ""


@contextlib.contextmanager
def ended(process: subprocess.Popen[Any] | ForkedBroker) -> Iterator[None]:
    """The process and its pipes are gone afterwards, whatever happens inside."""
    try:
        yield
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


@contextlib.contextmanager
def running_broker(
    data_dir: Path,
    *options: str,
    loop: str = "uvloop",
    may_be_forked: bool = True,
    keeps_old_records: bool = True,
) -> Iterator[BrokerProcess]:
    """A broker for the length of a test; killed if the test did not stop it."""
    broker = BrokerProcess(data_dir, options, loop=loop)
    broker.is_forked &= may_be_forked
    broker.keeps_old_records = keeps_old_records
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
