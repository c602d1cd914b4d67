"""Which attempt of each Spark task may send: the first one that asks the driver.

Spark starts a task again when it failed, when its input was lost, and, speculating,
while it still runs. Two attempts that write with one producer identity would mix
their sequences, so an attempt asks first; any other one of the same task is refused,
fails, and lets the driver do the whole batch anew under the next epoch.
"""

from __future__ import annotations

import json
import secrets
import socket
import socketserver
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.spark.driver_address import driver_address

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from pyspark.sql import SparkSession

_LINE_SIZE_MAX = 4096
_TIMEOUT_S = 60.0
_POLL_S = 0.05  # for so long a close may wait


class AttemptRefused(Exception):
    """Another attempt of this task has begun to send, or the batch is over."""


class Registration(NamedTuple):
    """Where an executor asks, and for which try of which batch."""

    host: str
    port: int
    token: str
    try_id: str

    def register(self, task: int, attempt: int) -> None:
        """Return when this attempt, and no other one of the task, may send.

        Raises:
            AttemptRefused: it may not.
            OSError: the driver cannot be reached.
        """
        question = {
            "token": self.token,
            "try": self.try_id,
            "task": task,
            "attempt": attempt,
        }
        with socket.create_connection((self.host, self.port), _TIMEOUT_S) as asked:
            asked.sendall(json.dumps(question).encode() + b"\n")
            with asked.makefile("rb") as lines:
                answer = lines.readline(_LINE_SIZE_MAX)
        if answer != _YES:
            raise AttemptRefused(
                f"attempt {attempt} of task {task} may not send: another one has"
                " begun, or the driver has given this try of the batch up"
            )


_YES, _NO = b"yes\n", b"no\n"


class AttemptRegistry:
    """Answers the executors, in a thread of the driver, until it is closed."""

    def __init__(
        self, host: str = "127.0.0.1", bind: str | None = None, port: int = 0
    ) -> None:
        """Listen on ``host``, which the executors must reach; port 0 is a free one.

        ``bind`` is the address here, where ``host`` is one of a network before it.

        Raises:
            OSError: the address is not this machine's, or the port is taken.
        """
        self._lock = threading.Lock()
        self._token = secrets.token_hex(16)
        self._try_id: str | None = None
        self._attempts: dict[int, int] = {}
        self._server = _Server((bind or host, port), self._may_send)
        self._host = host
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": _POLL_S},
            name="attempt-registry",
            daemon=True,
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Answer nobody any more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def begin(self) -> Registration:
        """A new try; attempts of the one before are refused from now on."""
        with self._lock:
            self._try_id = secrets.token_hex(8)
            self._attempts.clear()
            port = self._server.server_address[1]
            return Registration(self._host, port, self._token, self._try_id)

    def end(self) -> None:
        """No attempt may begin to send any more."""
        with self._lock:
            self._try_id = None

    @property
    def registered(self) -> dict[int, int]:
        """The attempt that sends, for each task that has asked."""
        with self._lock:
            return dict(self._attempts)

    def _may_send(self, question: dict[str, Any]) -> bool:
        token = str(question.get("token", ""))
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return False
        task, attempt = question.get("task"), question.get("attempt")
        if type(task) is not int or type(attempt) is not int:
            return False
        with self._lock:
            if self._try_id is None or question.get("try") != self._try_id:
                return False
            return self._attempts.setdefault(task, attempt) == attempt


def attempt_registry(spark: SparkSession, address: str = "") -> AttemptRegistry:
    """A registry that listens where the executors of this session look for it.

    Raises:
        JobError: it cannot listen there.
        ValueError: the address is none.
    """
    wanted = driver_address(spark, address)
    try:
        return AttemptRegistry(wanted.host, wanted.bind, wanted.port)
    except OSError as error:
        raise JobError(wanted.refused(error)) from None


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True  # a port that a run before had is not taken

    def __init__(self, address: tuple[str, int], may_send: MaySend) -> None:
        self.may_send = may_send
        super().__init__(address, _Handler)


class _Handler(socketserver.StreamRequestHandler):
    timeout = _TIMEOUT_S
    server: _Server

    def handle(self) -> None:
        try:
            question = json.loads(self.rfile.readline(_LINE_SIZE_MAX))
        except (ValueError, OSError):
            return
        if isinstance(question, dict):
            allowed = self.server.may_send(question)
            self.wfile.write(_YES if allowed else _NO)


if TYPE_CHECKING:
    from collections.abc import Callable

    MaySend = Callable[[dict[str, Any]], bool]
