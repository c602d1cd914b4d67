"""The process of a broker for tests: started, waited for, ended."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from .errors import BrokerError
from .forks import LAUNCH, begin
from .launch import REMOVE, has_ended
from .options import variables, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from .forks import Process

# Of a machine that does much else; one that cannot start says so at once.
START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 30.0
# A listener whose port the broker chooses.
_CHOSEN = re.compile(r"(?P<before>(?P<name>\w+)://[^,]*):0(?![^,\s])")
_LAST_LINES = 30
_LOOK_INTERVAL_S = 0.01
_NO_SIGNAL = 0
_LISTENERS = "listeners"
_READY = re.compile(r"^odradek ready on (?P<host>\S+):(?P<port>\d+),")


class Address(NamedTuple):
    """Where the broker listens."""

    host: str
    port: int


class BrokerProcess:
    """``odradek serve`` with these options; it ends with this process at the latest."""

    def __init__(
        self,
        options: Mapping[str, str],
        log_path: Path,
        home: int | None = None,
        leftover: Path | None = None,
        protocol: str = "",
    ) -> None:
        """``home``: the id of the process with which it ends, by default this one.

        ``leftover``: the directory that it removes then, when nobody else can.
        ``protocol``: that of its listener, where it is not PLAINTEXT.
        """
        self._options = dict(options)
        self._home = home or os.getpid()
        self._leftover = leftover
        self._protocol = protocol
        self._process: Process | None = None
        self.log_path = log_path

    @property
    def pid(self) -> int | None:
        """Its id while it runs."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def start(self, port: int) -> Address:
        """Start it, and return when clients can connect.

        Raises:
            BrokerError: it does not start.
        """
        __tracebackhide__ = True  # pytest: what the broker said is enough
        assert self.pid is None, "it runs"
        with self.log_path.open("a", encoding="utf-8") as log:
            secrets = variables(self._options)
            self._process = begin(self._command(port), log, environment() | secrets)
        try:
            line = self._first_line()
            found = _READY.match(line)
            if found is None:
                raise BrokerError(
                    f"the broker did not start:\n{line}{self.last_lines()}"
                )
        except BaseException:
            self.kill()
            raise
        return Address(found["host"], int(found["port"]))

    @property
    def has_chosen_ports(self) -> bool:
        """Whether it found a port by itself for one of the listeners it was given."""
        return _CHOSEN.search(self._options.get(_LISTENERS, "")) is not None

    def keep_ports(self, ports: Mapping[str, int]) -> None:
        """Start with these the next time, by the names of listeners."""

        def kept(listener: re.Match[str]) -> str:
            port = ports.get(listener["name"].upper())
            return listener[0] if port is None else f"{listener['before']}:{port}"

        self._options[_LISTENERS] = _CHOSEN.sub(kept, self._options[_LISTENERS])

    def stop(self) -> None:
        """End it in order. Does nothing when it has ended."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as ``kill -9`` does: no warning, no flush."""
        self._end(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self._process is not None:
            self._process.send_signal(number)

    def release(self) -> int:
        """Leave it running when this process ends. Returns its id."""
        process, self._process = self._process, None
        assert process is not None
        assert process.stdout is not None
        process.stdout.close()
        process.returncode = 0  # else its destructor complains that it runs
        return process.pid

    def last_lines(self) -> str:
        """What it said last."""
        text = self.log_path.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-_LAST_LINES:])

    def _command(self, port: int) -> Sequence[str]:
        options = {
            **self._options,
            "exit.with.process": str(self._home),
            "test.control": "true",
        }
        command = [sys.executable, "-I", LAUNCH]
        if self._leftover is not None:
            command += [REMOVE, str(self._home), str(self._leftover)]
        command.append("serve")
        if self._protocol:
            options[_LISTENERS] = f"{self._protocol.upper()}://127.0.0.1:{port}"
        # Listeners that are given have their ports, which count at the first start.
        elif port or _LISTENERS not in options:
            command += ["--port", str(port)]
        return command + words(options)

    def _first_line(self) -> str:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        deadline = time.monotonic() + START_TIMEOUT_S
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(deadline - time.monotonic()):
                return f"it was not ready after {START_TIMEOUT_S:.0f} s\n"
        return process.stdout.readline()

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.send_signal(number)
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        finally:
            if process.stdout is not None:
                process.stdout.close()


def end_process(process_id: int) -> None:
    """Stop in order a process that is not a child of ours; returns when it is gone."""
    deadline = time.monotonic() + STOP_TIMEOUT_S
    number: int = signal.SIGTERM
    with suppress(ProcessLookupError):
        while not has_ended(process_id):
            os.kill(process_id, number)
            time.sleep(_LOOK_INTERVAL_S)
            number = signal.SIGKILL if time.monotonic() > deadline else _NO_SIGNAL


def environment() -> dict[str, str]:
    """Ours, less what would configure the broker, or Python, in another way."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "ODRADEK_", "KAFKA_"))
    }
