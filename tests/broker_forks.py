"""Brokers of tests, forked from a process that has loaded all that one needs.

Most of what a start takes is Python loading modules, and tests start a thousand
brokers. `odradek.testing.forks` does the same for those who use the kit, but knows no
exit codes; here the process that forks waits for each broker and says how it ended.

Invariants: there is no thread and no event loop where brokers are forked. It ends with
its owner. A broker has three descriptors, those that it was given.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NoReturn

ROOT = Path(__file__).parents[1]
SERVE = "from tests.broker_forks import serve; serve({})"
MESSAGE_SIZE_MAX = 1 << 20
# What the interpreter and libraries look at when they are loaded, and never again.
LOOKED_AT_ONCE = ("LD_", "PYTHON", "MALLOC_", "GLIBC_", "OPENSSL", "SSL_", "TZ", "LC_")


def are_possible() -> bool:
    """Whether this system forks safely, and no variable has to be there earlier."""
    return (
        sys.platform == "linux"
        and hasattr(os, "pidfd_open")
        and looked_at_once(os.environ) == FIRST
    )


def looked_at_once(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(LOOKED_AT_ONCE)
    }


FIRST = looked_at_once(os.environ)


class ForkedBroker:
    """What tests use of `subprocess.Popen`, of a broker that is no child of theirs."""

    stdin = stderr = None

    def __init__(self, pid: int, status: int, stdout: IO[str]) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._status = os.fdopen(status, "rb", buffering=0)

    def poll(self) -> int | None:
        """The exit code when it has ended: minus the signal that it died of."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raises TimeoutExpired."""
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("odradek serve", timeout or 0)
        return code

    def send_signal(self, how: signal.Signals) -> None:
        """Nothing is sent to what has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, how)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            ended = select.poll()
            ended.register(self._status, select.POLLIN)
            if ended.poll(None if timeout is None else timeout * 1000):
                self.returncode = int(self._status.read(16) or b"-9")
                self._status.close()
        return self.returncode


class Forks:
    """Who forks brokers for this process, from the first one on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def fork(
        self, arguments: Sequence[str], errors: IO[str], environment: Mapping[str, str]
    ) -> ForkedBroker:
        order = {
            "arguments": list(arguments),
            "directory": os.getcwd(),
            "environment": dict(environment),
        }
        stdout, their_stdout = os.pipe()
        status, their_status = os.pipe()
        try:
            with self._lock:
                orders = self._orders or self._begin()
                given = [their_stdout, errors.fileno(), their_status]
                socket.send_fds(orders, [json.dumps(order).encode()], given)
                pid = int(orders.recv(16))
        finally:
            os.close(their_stdout)
            os.close(their_status)
        return ForkedBroker(pid, status, os.fdopen(stdout))

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE.format(os.getpid())],
                cwd=ROOT,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
            )
        self._orders = ours
        return ours

    def close(self) -> None:
        """Brokers that still run do not end with who has forked them."""
        if self._orders is not None and self._process is not None:
            self._orders.close()
            self._process.wait()

    def forget(self) -> None:
        """In a child of this process: the other one is its parent's."""
        if self._orders is not None and self._process is not None:
            self._orders.close()
            self._process.returncode = 0  # else its destructor complains that it runs
        self.__init__()  # type: ignore[misc]


forks = Forks()
atexit.register(forks.close)
os.register_at_fork(after_in_child=forks.forget)


def serve(owner_id: int) -> NoReturn:
    """Fork a broker for each order, and say how each has ended."""
    from odradek.broker.cli.main import main
    from odradek.broker.cli.node import fork_server

    fork_server._load()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders, owner = socket.socket(fileno=0), os.pidfd_open(owner_id)
    sources: list[Any] = [orders, owner]
    running: dict[int, tuple[int, int]] = {}
    while True:
        ready, _, _ = select.select([*sources, *running], [], [])
        for each in running.keys() & set(ready):
            _say_how_it_ended(each, *running.pop(each))
        if owner in ready:
            sys.exit()
        if orders not in ready:
            continue
        message, given, _, _ = socket.recv_fds(orders, MESSAGE_SIZE_MAX, 3)
        if not message:
            sys.exit()
        pid = os.fork()
        if pid == 0:
            orders.detach()
            sys.exit(main(_become_broker(message, given[:2])))
        running[os.pidfd_open(pid)] = pid, given[2]
        for descriptor in given[:2]:
            os.close(descriptor)
        orders.send(b"%d" % pid)


def _say_how_it_ended(descriptor: int, pid: int, status: int) -> None:
    _, how = os.waitpid(pid, 0)
    os.close(descriptor)
    with suppress(BrokenPipeError):  # nobody wants to know
        os.write(status, b"%d" % os.waitstatus_to_exitcode(how))
    os.close(status)


def _become_broker(message: bytes, given: list[int]) -> list[str]:
    order = json.loads(message)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, *given)):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["directory"])
    sys.argv[1:] = order["arguments"]
    return list(order["arguments"])
