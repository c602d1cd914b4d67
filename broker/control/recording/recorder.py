"""A layer that writes down requests and answers as they pass, each whole.

Nothing of a call is held but its number: what is written is in the file. A file that
cannot be written to, or grows beyond its limit, ends the recording and is removed; who
asks for the recording is told why.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final

import odradek
from odradek.broker.control.answers import Raw, frame_of
from odradek.broker.control.apis import name_of_api
from odradek.broker.control.following import follow
from odradek.broker.control.subject import Subject
from odradek.broker.operate.admin_socket import AdminError
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.client.replay import recording
from odradek.client.replay.recording import Answered, Asked
from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.headers import RequestHeader

if TYPE_CHECKING:
    from pathlib import Path

    from odradek.broker.control.faults.match import Match
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Dispatcher, Entry, Exchange
    from odradek.broker.requests.services import Services
    from odradek.client.replay.recording import Event

_LENGTH_SIZE: Final = 4
_LOOKED_AFTER: Final = 1000  # connections: who has ended is forgotten


class Recorder:
    """Writes down the calls that ``match`` means, from when it is made until `end`."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        services: Services,
        match: Match,
        path: Path,
        size_max: int,
    ) -> None:
        """Raises `AdminError` when there can be no such file."""
        self.path = path
        self._dispatcher = dispatcher
        self._services = services
        self._match = match
        self._partial = path.with_name(path.name + recording.PARTIAL)
        self._size_max = size_max
        self._size = 0
        self._failure = ""
        self._calls = 0
        # By their addresses in memory, which they keep as long as they are held here.
        self._connections: dict[int, tuple[int, ConnectionInfo]] = {}
        self._count = 0  # of connections
        self._open: set[int] = set()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = self._partial.open("wb")
        except OSError as error:
            raise _failed(path, error.strerror or str(error)) from None
        began_ms = time.time_ns() // 1_000_000  # clients stamp records with it
        self._write_line(recording.head_line(odradek.__version__, began_ms))

    def end(self) -> dict[str, Any]:
        """All that is wanted has passed: leave a whole file. Returns what is in it.

        Raises:
            AdminError: there is none, because it could not be written.
        """
        self._write_line(recording.end_line(self._calls))
        if not self._failure:
            try:
                self._file.close()
                self._partial.replace(self.path)
            except OSError as error:
                self._fail(error.strerror or str(error))
        if self._failure:
            raise _failed(self.path, self._failure)
        return self._described()

    def give_up(self) -> dict[str, Any]:
        """Leave no file. Returns what would have been in it."""
        self._fail("it was given up")
        return self._described()

    def _described(self) -> dict[str, Any]:
        return {"path": str(self.path), "calls": self._calls, "bytes": self._size}

    def dispatch(
        self, inner: Entry, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """As ``inner``, written down."""
        call = self._asked(connection, frame)
        if call is None:
            return inner(connection, frame)
        try:
            exchange = inner(connection, frame)
        except BaseException:
            self._write(Answered(call, None, recording.FAILED))
            raise
        if isinstance(exchange, bytes):
            self._write(Answered(call, exchange[_LENGTH_SIZE:]))
            return exchange
        answer = follow(exchange.answer, partial(self._told, call, exchange))
        if answer is exchange.answer:
            return exchange
        return exchange._replace(answer=answer)

    def _asked(self, connection: ConnectionInfo, frame: memoryview) -> int | None:
        """The number of a call that is meant, written down."""
        if self._failure:
            return None
        header, subject = self._read(frame)
        match = self._match
        if match.api not in (None, header.api_key):
            return None
        if not match.admits(header, connection, subject):
            return None
        self._calls += 1
        asked = Asked(
            self._calls,
            self._number_of(connection),
            header.client_id,
            name_of_api(header.api_key),
            bytes(frame),
        )
        self._open.add(asked.call)
        self._write(asked)
        return asked.call

    def _read(self, frame: memoryview) -> tuple[RequestHeader, Subject]:
        try:
            _, header, request = self._dispatcher.read(frame)
        except (MalformedRequest, KafkaError):
            key, version, number = (
                int.from_bytes(frame[at:end], "big", signed=True)
                for at, end in ((0, 2), (2, 4), (4, 8))
            )
            return RequestHeader(key, version, number), Subject()
        if request is None:
            return header, Subject()
        return header, Subject.of(request, self._services)

    def _number_of(self, connection: ConnectionInfo) -> int:
        key = id(connection)
        if key not in self._connections:
            self._count += 1
            self._connections[key] = self._count, connection
            if self._count % _LOOKED_AFTER == 0:
                self._forget_closed()
        return self._connections[key][0]

    def _forget_closed(self) -> None:
        self._connections = {
            key: known for key, known in self._connections.items() if known[1].is_open
        }

    def _told(
        self,
        call: int,
        exchange: Exchange,
        answer: Any,
        *,
        is_framed: bool = False,
        error: object = None,
    ) -> None:
        route, correlation_id = exchange.route, exchange.correlation_id
        if isinstance(error, KafkaError) and not isinstance(error, MalformedRequest):
            # What the connection says of it.
            with suppress(MalformedRequest):
                answer, error = self._dispatcher.failure(route, None, error), None
        if error is not None:
            self._write(Answered(call, None, recording.FAILED))
        elif answer is NO_RESPONSE:
            self._write(Answered(call, None, recording.UNANSWERED))
        elif isinstance(answer, Raw):
            self._write(Answered(call, None, recording.BROKEN))
        else:
            frame = answer
            if not is_framed:
                frame = frame_of(route, correlation_id, answer)
            self._write(Answered(call, bytes(frame[_LENGTH_SIZE:])))

    def _write(self, event: Event) -> None:
        if isinstance(event, Answered):
            if event.call not in self._open:
                return
            self._open.remove(event.call)
        self._write_line(recording.event_line(event))

    def _write_line(self, line: bytes) -> None:
        if self._failure or self._file.closed:
            return
        self._size += len(line)
        if self._size > self._size_max:
            self._fail(f"it is larger than {self._size_max} bytes (size_max)")
            return
        try:
            self._file.write(line)
        except OSError as error:
            self._fail(error.strerror or str(error))

    def _fail(self, why: str) -> None:
        self._failure = self._failure or why
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._partial.unlink(missing_ok=True)


def _failed(path: Path, why: str) -> AdminError:
    return AdminError("failed", f"no recording in {path}: {why}")
