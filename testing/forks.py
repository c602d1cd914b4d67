"""Brokers after the first are forked from a process that has loaded all they need.

That process is started by the second broker of a run, and is there for those after it:
a start is then a fifth of what Python takes to load the modules. Linux alone forks
safely and has names for processes that nobody else gets (pidfd); elsewhere, and
wherever a fork cannot be had, each broker is started by itself.
"""

from __future__ import annotations

import _socket
import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from array import array
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Protocol

from .launch import FORKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAUNCH = os.path.join(os.path.dirname(__file__), "launch.py")
_MESSAGE_SIZE_MAX = 1 << 20
_ANSWER_TIMEOUT_S = 60.0
_END_TIMEOUT_S = 10.0


class Process(Protocol):
    """What is used of a process, of `subprocess.Popen` and of `ForkedProcess`."""

    stdout: IO[str] | None
    returncode: int | None

    @property
    def pid(self) -> int:
        """Its id."""

    def poll(self) -> int | None:
        """Its exit code; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended."""

    def send_signal(self, sig: int) -> None:
        """Nothing is sent to a process that has ended."""

    def kill(self) -> None:
        """Send it SIGKILL."""


class ForkedProcess:
    """A broker that is a child of the fork server. Its exit code is not known: 0."""

    def __init__(self, pid: int, descriptor: int | None, stdout: IO[str]) -> None:
        self.pid = pid
        self.stdout: IO[str] | None = stdout
        self.returncode: int | None = None
        self._descriptor = descriptor

    def poll(self) -> int | None:
        """0 when it has ended."""
        if self.returncode is None:
            self._look(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises:
            TimeoutExpired: it runs on.
        """
        if self.returncode is None:
            self._look(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("odradek serve", timeout or 0)
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send it a signal, while it runs."""
        if self.poll() is None and self._descriptor is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, sig)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> None:
        if self._descriptor is not None:
            ended = select.poll()  # of numbers above 1023, too
            ended.register(self._descriptor, select.POLLIN)
            if not ended.poll(None if timeout is None else timeout * 1000):
                return
            os.close(self._descriptor)
            self._descriptor = None
        self.returncode = 0

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


class ForkServer:
    """The process that forks, and orders to it, one at a time."""

    def __init__(self, errors: IO[str], environment: Mapping[str, str]) -> None:
        """Raises OSError where there can be none."""
        self._lock = threading.Lock()
        # Not `socket.socketpair`: pytest-socket has that refuse.
        self._orders, theirs = _socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", LAUNCH, FORKS, str(os.getpid())],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        except BaseException:
            self._orders.close()
            raise
        finally:
            theirs.close()
        self._orders.settimeout(_ANSWER_TIMEOUT_S)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def fork(
        self, arguments: Sequence[str], errors: IO[str], environment: Mapping[str, str]
    ) -> ForkedProcess:
        """A broker with these arguments.

        Raises:
            OSError: it forks no more.
        """
        order = {
            "arguments": list(arguments),
            "directory": os.getcwd(),
            "environment": dict(environment),
        }
        output, theirs = os.pipe()
        stdout = os.fdopen(output, encoding="utf-8", errors="replace")
        try:
            with self._lock:
                text, found = _exchange(
                    self._orders, json.dumps(order).encode(), [theirs, errors.fileno()]
                )
            if not text:
                raise ConnectionResetError("who forks brokers has ended")
        except BaseException:
            stdout.close()
            raise
        finally:
            os.close(theirs)
        return ForkedProcess(
            json.loads(text)["pid"], found[0] if found else None, stdout
        )

    def close(self) -> None:
        """End it; the brokers run on."""
        self._orders.close()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """In a child of this process: the server is the parent's."""
        self._orders.close()
        self._process.returncode = 0  # else its destructor complains that it runs


def _exchange(
    orders: _socket.socket, order: bytes, descriptors: list[int]
) -> tuple[bytes, list[int]]:
    """The answer to an order, and the descriptors that come with it."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS)
    orders.sendmsg([order], [(*rights, array("i", descriptors))])
    room = socket.CMSG_SPACE(array("i").itemsize)
    text, others, _, _ = orders.recvmsg(
        _MESSAGE_SIZE_MAX, room, socket.MSG_CMSG_CLOEXEC
    )
    found = array("i")
    for level, kind, data in others:
        if (level, kind) == rights:
            found.frombytes(data)
    return text, list(found)


def begin(
    command: Sequence[str], errors: IO[str], environment: Mapping[str, str]
) -> Process:
    """The process of a broker; ``command`` starts it where none is forked."""
    forked = _forks.begin(command[command.index(LAUNCH) + 1 :], errors, environment)
    return forked or subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=environment,
        # Or a ^C would end it before the tests that still use it.
        start_new_session=True,
    )


class _Forks:
    """Which broker of this process this is, and who forks those after the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._server: ForkServer | None = None
        self._is_possible = sys.platform == "linux" and hasattr(os, "pidfd_open")

    def begin(
        self, arguments: Sequence[str], errors: IO[str], environment: Mapping[str, str]
    ) -> ForkedProcess | None:
        """A forked broker; None: it has to be started."""
        with self._lock:
            self._count += 1
            if self._count == 1 or not self._is_possible:
                return None
            try:
                if self._server is None:
                    self._server = ForkServer(errors, environment)
                return self._server.fork(arguments, errors, environment)
            except OSError:
                self._is_possible = False
                self.close()
                return None

    def close(self) -> None:
        """End the server; brokers are started from now on, until there is a new one."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def forget(self) -> None:
        """This process is a child of the one that has the server."""
        if self._server is not None:
            self._server.forget()
        self.__init__()  # type: ignore[misc]


_forks = _Forks()
atexit.register(_forks.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forks.forget)
