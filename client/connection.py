"""A blocking connection to one broker: ask, and wait for the answer.

Versions are negotiated as every client does it: ApiVersions first, then of each
API the highest version that both sides know.
"""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import (
    ErrorCode,
    MalformedRequest,
    UnsupportedVersion,
    error_class,
)
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.api_versions import (
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from odradek.protocol.schema import RESPONSES

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from odradek.protocol.primitives import Buffer
    from odradek.protocol.schema import Request, Response

    from .security.login import Login
    from .security.settings import Security

_SIZE = struct.Struct(">i")
_SOFTWARE_NAME, _SOFTWARE_VERSION = "odradek", "1"
_ANSWER_SIZE_MAX = 1 << 30
_TRUSTED_SIZE = 16 << 20  # what is asked for is rarely more
_KEPT_SIZE_MIN = 256 << 10
_PEEKED_SIZE = 64 << 10
_TURN_S = 1.0

_Response = TypeVar("_Response", bound="Response")


class ConnectionClosed(ConnectionError):
    """The broker closed the connection, where an answer was expected."""


class Connection:
    """One socket to a broker; one request at a time, or several sent ahead."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        client_id: str = "odradek",
        timeout_s: float = 30,
        security: Security | None = None,
    ) -> None:
        """Connect, ask what the broker can do, and log in if that is wanted.

        Raises:
            OSError: nobody listens there, or no answer came within ``timeout_s``;
                `TlsFailed` where the two sides do not agree on TLS.
            MalformedRequest: who listens there does not speak the protocol.
            SaslAuthenticationFailed, UnsupportedSaslMechanism: as `Login`.
        """
        self.client_id = client_id
        self.api_versions: dict[int, tuple[int, int]] = {}
        self.features: dict[str, int] = {}  # the levels the cluster has agreed on
        self._next_correlation_id = 0
        self._buffers: list[bytearray] = []
        self._early: deque[memoryview] = deque()  # answers that a login found first
        self._login: Login | None = None
        self._socket = socket.create_connection((host, port), timeout_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if security is not None and security.tls is not None:
                from .security.tls import open_tls

                self._socket = open_tls(self._socket, security.tls, host)
            self.wait_for(timeout_s)
            self._negotiate()
            if security is not None and security.sasl is not None:
                from .security.login import Login

                login = Login(security.sasl)
                login.run(self)
                self._login = login
        except BaseException:
            self._socket.close()
            raise

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
        """Close the socket."""
        self._socket.close()

    def hang_up(self) -> None:
        """From another thread: who waits for an answer here waits no longer."""
        with suppress(OSError):
            # That of TLS would have the waiting thread read what is no plain text.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def fileno(self) -> int:
        """The descriptor of the socket, by which an answer can be awaited."""
        return self._socket.fileno()

    @property
    def is_prompt(self) -> bool:
        """Whether a small request is sent at once, and `take_frame` can be asked.

        Not with TLS, nor when the next request has to log in again first.
        """
        login = self._login
        return type(self._socket) is socket.socket and not (login and login.is_due)

    def wait_for(self, timeout_s: float) -> None:
        """Wait so long for what is asked from now on."""
        self._timeout_s = timeout_s
        # In turns: a signal that comes just before a wait begins does not end it.
        self._socket.settimeout(min(timeout_s, _TURN_S))

    def request(
        self,
        request: Request,
        response_class: type[_Response],
        version: int | None = None,
    ) -> _Response:
        """The answer to ``request``, by default in the highest common version.

        Raises:
            UnsupportedVersion: there is no common version.
            ConnectionClosed: the broker closed instead of answering.
        """
        if version is None:
            version = self.version_of(request)
        correlation_id = self.send(request, version)
        return self.receive_answer(correlation_id, response_class, version)

    def receive_answer(
        self, correlation_id: int, response_class: type[_Response], version: int
    ) -> _Response:
        """The next answer, which must be the one to ``correlation_id``.

        Raises:
            ConnectionClosed: the broker closed instead of answering.
        """
        frame = self.receive_frame()
        return self.answer_in(frame, correlation_id, response_class, version)

    def take_frame(self) -> memoryview | None:
        """`receive_frame` without waiting, once some of it has come.

        None: not all has, as it seems.

        Raises:
            ConnectionClosed: there will be none.
        """
        arrived = self._socket.recv(_PEEKED_SIZE, socket.MSG_PEEK)
        end = _SIZE.size
        if len(arrived) >= end:
            end += max(_SIZE.unpack_from(arrived)[0], 0)
        if arrived and len(arrived) < end:
            return None
        frame = memoryview(self._socket.recv(end))
        if len(frame) <= _SIZE.size:
            raise ConnectionClosed("the broker closed the connection")
        return frame[_SIZE.size :]

    def answer_in(
        self,
        frame: memoryview,
        correlation_id: int,
        response_class: type[_Response],
        version: int,
    ) -> _Response:
        """The answer to ``correlation_id``, of which it is the frame."""
        answered_id, response = self._decoded(frame, response_class.api_key, version)
        if answered_id != correlation_id:
            raise ConnectionError(f"answer {answered_id}, asked {correlation_id}")
        if not isinstance(response, response_class):
            raise TypeError(f"the answer is a {type(response).__name__}")
        return response

    def version_of(self, request: Request, version_max: int | None = None) -> int:
        """The highest version of this request that the broker knows too.

        Not above ``version_max``, for who cannot say what a later one asks for.

        Raises:
            UnsupportedVersion: there is none.
        """
        lowest, highest = self.api_versions.get(request.api_key, (0, -1))
        version = min(highest, request.max_version)
        if version_max is not None:
            version = min(version, version_max)
        if version < max(lowest, request.min_version):
            raise UnsupportedVersion(
                f"{type(request).__name__}: we know {request.min_version}-"
                f"{request.max_version}, the broker {lowest}-{highest}"
            )
        return version

    def send(self, request: Request, version: int) -> int:
        """Send without waiting; returns the correlation id of the answer to come.

        Raises:
            ConnectionClosed: the broker has closed.
            SaslAuthenticationFailed: the session is over, and we are not let in again.
        """
        if self._login is not None and self._login.is_due:
            self._login.run(self)
        return self._send(request, version)

    def _send(self, request: Request, version: int) -> int:
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        data = encode_request(request, version, correlation_id, self.client_id)
        self._send_whole(data)
        return correlation_id

    def receive(self, api_key: int, version: int) -> tuple[int, Response]:
        """The next answer, which must be one of ``api_key`` in ``version``.

        Raises:
            ConnectionClosed: there will be none.
            MalformedRequest: what came is no such answer.
        """
        return self._decoded(self.receive_frame(), api_key, version)

    def send_frame(self, frame: bytes) -> None:
        """Send a request that is made already, its length in front.

        Raises:
            ConnectionClosed: the broker has closed.
        """
        if self._login is not None and self._login.is_due:
            self._login.run(self)
        self._send_whole(frame)

    def receive_frame(self) -> memoryview:
        """The next answer, whatever it is for, without its length.

        Raises:
            ConnectionClosed: there will be none.
            MalformedRequest: what came is no answer.
        """
        return self._early.popleft() if self._early else self._next_frame()

    def exchange(self, request: Request, response_class: type[_Response]) -> _Response:
        """The answer to ``request``; others that come before it are kept for later.

        For logins, which may have to be done while answers are on their way.

        Raises:
            UnsupportedVersion, ConnectionClosed: as `request`.
        """
        version = self.version_of(request)
        asked_id = self._send(request, version)
        while True:
            frame = self._next_frame()
            if frame[:4] == _SIZE.pack(asked_id):
                break
            self._early.append(frame)
        _, response = self._decoded(frame, response_class.api_key, version)
        assert isinstance(response, response_class), response
        return response

    def _send_whole(self, data: bytes) -> None:
        try:
            self._send_all(data)
        except BrokenPipeError:
            raise ConnectionClosed("the broker closed the connection") from None

    def _next_frame(self) -> memoryview:
        prefix = self._read(_SIZE.size)
        if bytes(prefix) == b"HTTP":
            raise MalformedRequest("a web server answers")
        (size,) = _SIZE.unpack(prefix)
        if not _SIZE.size <= size <= _ANSWER_SIZE_MAX:
            raise MalformedRequest(f"an answer of {size} bytes")
        return self._read(size)

    def _decoded(
        self, frame: memoryview, api_key: int, version: int
    ) -> tuple[int, Response]:
        if api_key == ApiKey.API_VERSIONS and self._is_version_refused(frame):
            version = 0
        return decode_response(frame, RESPONSES[api_key], version)

    def _negotiate(self) -> None:
        version = ApiVersionsRequest.max_version
        request = ApiVersionsRequest(
            client_software_name=_SOFTWARE_NAME,
            client_software_version=_SOFTWARE_VERSION,
        )
        response = self.request(request, ApiVersionsResponse, version)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            ranges = _ranges(response)
            _, highest = ranges.get(ApiKey.API_VERSIONS, (0, 0))
            response = self.request(
                request, ApiVersionsResponse, min(highest, version - 1)
            )
        if response.error_code:
            raise error_class(response.error_code)
        self.api_versions = _ranges(response)
        self.features = {
            each.name: each.max_version_level for each in response.finalized_features
        }

    def _is_version_refused(self, frame: memoryview) -> bool:
        """Whether the answer is error 35, which always has the shape of version 0."""
        return bytes(frame[4:6]) == _UNSUPPORTED_VERSION

    def _read(self, size: int) -> memoryview:
        # Memory follows what arrives, not what a stranger claims will.
        data, filled = self._buffer(min(size, _TRUSTED_SIZE)), 0
        while True:
            end = min(len(data), size)
            with memoryview(data) as view:
                while filled < end:
                    count = self._in_turns(self._socket.recv_into, view[filled:end])
                    if not count:
                        raise ConnectionClosed("the broker closed the connection")
                    filled += count
            if filled == size:
                return memoryview(data)[:size]
            self._buffers.clear()  # one that grows is not kept
            data += bytes(min(size - filled, filled))

    def _send_all(self, data: bytes | bytearray) -> None:
        sent = self._in_turns(self._socket.send, data)
        if sent < len(data):
            with memoryview(data) as view:
                while sent < len(data):
                    sent += self._in_turns(self._socket.send, view[sent:])

    def _in_turns(self, call: Callable[[Buffer], int], data: Buffer) -> int:
        """How many bytes ``call`` has moved, which is tried until time is over."""
        try:
            return call(data)
        except TimeoutError:
            end_s = time.monotonic() - _TURN_S + self._timeout_s
            while time.monotonic() < end_s:
                with suppress(TimeoutError):
                    return call(data)
            raise

    def _buffer(self, size: int) -> bytearray:
        """Room for so much: that of an answer which nobody looks at any more.

        New pages cost as much as what is copied to them; two are kept, one of which
        is read while the other is filled.
        """
        if size < _KEPT_SIZE_MIN:
            return bytearray(size)
        for kept in self._buffers:
            if len(kept) >= size and _is_free(kept):
                return kept
        buffer = bytearray(-(-size // _KEPT_SIZE_MIN) * _KEPT_SIZE_MIN)
        self._buffers = [*self._buffers[-1:], buffer]
        return buffer


def _is_free(buffer: bytearray) -> bool:
    """Whether nobody has a view of it: only then its length can be changed."""
    try:
        buffer.append(0)
    except BufferError:
        return False
    del buffer[-1]
    return True


_UNSUPPORTED_VERSION = struct.pack(">h", ErrorCode.UNSUPPORTED_VERSION)


def _ranges(response: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    return {
        api.api_key: (api.min_version, api.max_version) for api in response.api_keys
    }
