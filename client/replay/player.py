"""Asks a broker what was recorded, and compares its answers.

The order of the recording is kept: a request is sent when all that had been answered
before it is answered again. So what waited waits, and what woke it wakes it. On one
connection answers come in the order of requests: one that was there before that of an
earlier request is looked at behind it. Memory is that of the calls that are under way,
and of the ids that were seen.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from odradek.client.connection import Connection, ConnectionClosed
from odradek.client.errors import Unreachable
from odradek.protocol import messages
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, MalformedRequest
from odradek.protocol.headers import decode_response
from odradek.protocol.messages.transactions import EndTxnRequest
from odradek.protocol.schema import RESPONSES

from .comparison import Comparison
from .ids import Ids
from .recording import BROKEN, UNANSWERED, Answered, Asked
from .renewal import Renewal, read_request
from .settling import is_not_yet, wait_for_markers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from odradek.client.address import Address
    from odradek.client.security.settings import Security
    from odradek.protocol.headers import RequestHeader
    from odradek.protocol.schema import Response

    from .recording import Recording

TIMEOUT_S: Final = 60.0
_ANSWER = ".answer"
_PAUSE_S = 0.01
_VERSIONS_REFUSED = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")


class Difference(NamedTuple):
    """Where an answer is another one than was recorded; see `FieldDifference`."""

    call: int
    api: str
    version: int
    path: str
    recorded: Any
    found: Any


class _Open(NamedTuple):
    """A call that is to be answered."""

    asked: Asked
    header: RequestHeader
    sent: bytes = b""


class _Line:
    """A connection, and the calls on it that are under way, in their order."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.open: deque[_Open] = deque()
        self.told: dict[int, Answered] = {}


class Player:
    """Replays a recording on the first of these brokers that can be reached."""

    def __init__(
        self,
        recording: Recording,
        addresses: Sequence[Address],
        *,
        security: Security | None = None,
        timeout_s: float = TIMEOUT_S,
        mask: Iterable[str] = (),
    ) -> None:
        """``timeout_s``: how long an answer may take."""
        messages.load()
        ids = Ids()
        later_ms = time.time_ns() // 1_000_000 - recording.began_ms
        self.calls = 0
        self._recording = recording
        self._addresses = addresses
        self._security = security
        self._timeout_s = timeout_s
        self._renewal = Renewal(ids, later_ms)
        self._comparison = Comparison(ids, later_ms, mask)
        self._lines: dict[int, _Line] = {}
        self._line_of: dict[int, int] = {}  # by the number of a call

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number in list(self._lines):
            self._close(number)

    def play(self, is_over: Callable[[], bool] = bool) -> Iterator[Difference]:
        """Ask everything, until ``is_over``; each difference as it is found.

        Raises:
            BadRecording: the file is not what it was.
            Unreachable: no broker is there.
            KafkaError, MalformedRequest: none can be talked to.
        """
        for event in self._recording.events():
            if is_over():
                return
            if isinstance(event, Asked):
                yield from self._ask(event)
            elif event.call in self._line_of:
                yield from self._tell(self._line_of.pop(event.call), event)

    def _ask(self, asked: Asked) -> Iterator[Difference]:
        self.calls += 1
        header, request = read_request(asked.request)
        call = _Open(asked, header)
        try:
            line = self._connected(asked)
            sent = self._renewal.renewed(asked.request, header, request)
            line.connection.send_frame(sent)
        except (ConnectionClosed, ConnectionResetError):
            self._close(asked.connection)
            yield self._silence(call, "the connection had been closed")
            return
        line.open.append(call._replace(sent=sent))
        self._line_of[asked.call] = asked.connection

    def _tell(self, number: int, event: Answered) -> Iterator[Difference]:
        """What was answered then; compare all that is next on its connection."""
        line = self._lines.get(number)
        if line is None:  # said before
            return
        line.told[event.call] = event
        while line.open and (told := line.told.pop(line.open[0].asked.call, None)):
            call = line.open.popleft()
            if told.outcome != UNANSWERED:
                yield from self._answer(line, call, told)

    def _answer(
        self, line: _Line, call: _Open, event: Answered
    ) -> Iterator[Difference]:
        number = call.asked.connection
        try:
            frame = self._received(line, call, event.answer)
        except (ConnectionClosed, ConnectionResetError):
            self._close(number)
            if event.answer is not None:
                yield self._silence(call, "the connection was closed")
            return
        except TimeoutError:
            self._close(number)
            yield self._silence(call, f"none came in {self._timeout_s:g} s")
            return
        if event.answer is not None:
            yield from self._compare(call, event.answer, frame)
            if call.header.api_key == ApiKey.END_TXN and not line.open:
                self._settle(line.connection, call)
            return
        self._close(number)  # as it was closed then
        if event.outcome != BROKEN:
            yield self._difference(call, _ANSWER, "the connection was closed", "one")

    def _received(self, line: _Line, call: _Open, recorded: bytes | None) -> bytes:
        """The next answer; who says that it is too early is asked again."""
        deadline_s = time.monotonic() + self._timeout_s
        while True:
            frame = bytes(line.connection.receive_frame())
            if recorded is None or line.open or time.monotonic() > deadline_s:
                return frame
            theirs = self._decoded(call.header, recorded)
            ours = self._decoded(call.header, frame)
            if not (theirs and ours and is_not_yet(theirs[1], ours[1])):
                return frame
            time.sleep(_PAUSE_S)
            line.connection.send_frame(call.sent)

    def _compare(
        self, call: _Open, recorded: bytes, found: bytes
    ) -> Iterator[Difference]:
        theirs = self._decoded(call.header, recorded)
        if theirs is None:  # not of an API that we know
            if recorded != found:
                yield self._difference(call, _ANSWER, recorded.hex(), found.hex())
            return
        ours = self._decoded(call.header, found)
        if ours is None:
            text = f"what cannot be read: {found[:64].hex()}"
            yield self._difference(call, _ANSWER, "one", text)
            return
        (version, one), (other_version, other) = theirs, ours
        if version != other_version:
            text = f"one in version {other_version}"
            yield self._difference(call, _ANSWER, f"one in version {version}", text)
            return
        for field in self._comparison.differences(one, other, version):
            yield self._difference(call, *field)

    def _settle(self, connection: Connection, call: _Open) -> None:
        """Wait until a transaction has ended in the logs, too.

        Its answer comes before that, and what follows would see one or the other.
        """
        _, request = read_request(call.asked.request)
        if isinstance(request, EndTxnRequest):
            wait_for_markers(connection, request.transactional_id, self._timeout_s)

    def _decoded(
        self, header: RequestHeader, frame: bytes
    ) -> tuple[int, Response] | None:
        kind, version = RESPONSES.get(header.api_key), header.api_version
        if kind is None:
            return None
        # To one who asks in a version that is not there it is answered in the first.
        if header.api_key == ApiKey.API_VERSIONS and frame[4:6] == _VERSIONS_REFUSED:
            version = 0
        if not kind.min_version <= version <= kind.max_version:
            return None
        try:
            return version, decode_response(frame, kind, version)[1]
        except MalformedRequest:
            return None

    def _connected(self, asked: Asked) -> _Line:
        """The connection that stands for the recorded one."""
        if asked.connection in self._lines:
            return self._lines[asked.connection]
        error: Exception = Unreachable("there is no address of a broker")
        for address in self._addresses:
            try:
                connection = Connection(
                    *address,
                    client_id=asked.client_id or "",
                    timeout_s=self._timeout_s,
                    security=self._security,
                )
            except OSError as failure:
                error = Unreachable(f"{address}: {failure.strerror or failure}")
                continue
            line = self._lines[asked.connection] = _Line(connection)
            return line
        raise error

    def _close(self, number: int) -> None:
        line = self._lines.pop(number, None)
        if line is not None:
            line.connection.close()
            for call in line.open:
                self._line_of.pop(call.asked.call, None)

    def _silence(self, call: _Open, why: str) -> Difference:
        return self._difference(call, _ANSWER, "one", why)

    def _difference(
        self, call: _Open, path: str, recorded: Any, found: Any
    ) -> Difference:
        version = call.header.api_version
        return Difference(
            call.asked.call, call.asked.api, version, path, recorded, found
        )
