"""A transport in memory, and a dispatcher whose requests are words.

``now:x`` is answered at once, ``park:x`` when the test resolves it, ``wait:x`` by
a coroutine that blocks its connection until then, ``both:x`` by a coroutine that then
parks it until it is resolved again, ``none`` never, ``big:n`` with n bytes, ``mute:n``
mutes its connection for n ms, ``bad`` is malformed. The answer is the request itself,
``big`` aside.
"""

import asyncio
import struct
from collections.abc import Callable
from typing import Any, cast

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.network.admission import Admission
from odradek.broker.network.connection import Connection
from odradek.broker.network.network import Network
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.dispatch import Dispatcher, Exchange, Route
from odradek.broker.requests.registry import NO_RESPONSE
from odradek.broker.runtime.memory.answer_memory import AnswerMemory
from odradek.broker.runtime.memory.limits import LimitedLog, RequestMemory
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import MalformedRequest
from tests.fakes.clock import FakeClock


class FakeTransport(asyncio.Transport):
    """Keeps what is written; ``client_reads`` says whether anybody takes it."""

    def __init__(self, peer: tuple[str, int] = ("127.0.0.1", 50_000)) -> None:
        super().__init__(
            {"peername": peer, "sockname": ("127.0.0.1", 9092)},
        )
        self.sent = bytearray()
        self.write_count = 0
        self.client_reads = True
        self.is_reading_now = True
        self.is_aborted = self.has_ended = False
        self._protocol: asyncio.BufferedProtocol | None = None
        self._unread = 0
        self._high, self._low = 1 << 16, 1 << 14
        self._is_closing = False
        self._is_protocol_paused = False

    def connect(self, protocol: asyncio.BufferedProtocol) -> None:
        self._protocol = protocol
        protocol.connection_made(self)

    def feed(self, data: bytes) -> None:
        """What arrives in a turn, in as many reads as the protocol's buffers want."""
        assert self._protocol is not None
        position = 0
        while position < len(data) and not self._is_closing:
            buffer = self._protocol.get_buffer(-1)
            count = min(len(buffer), len(data) - position)
            buffer[:count] = data[position : position + count]  # type: ignore[index]
            self._protocol.buffer_updated(count)
            position += count
        if isinstance(self._protocol, Connection):
            self._protocol._responses.flush()  # as the listener does when it is over

    def frames(self) -> list[str]:
        """The answers that were written, big ones by their size."""
        found, position = [], 0
        while position < len(self.sent):
            (size,) = struct.unpack_from(">i", self.sent, position)
            body = bytes(self.sent[position + 4 : position + 4 + size])
            found.append(body.decode() if size < 100 else str(size))
            position += 4 + size
        return found

    def client_takes(self, size: int | None = None) -> None:
        """The client reads ``size`` bytes of what waits, by default all."""
        self._unread -= self._unread if size is None else size
        if self._is_protocol_paused and self._unread <= self._low:
            self._is_protocol_paused = False
            assert self._protocol is not None
            self._protocol.resume_writing()

    def lose(self) -> None:
        """The connection is gone, as the loop would report it."""
        protocol, self._protocol = self._protocol, None
        self._is_closing = True
        if protocol is not None:
            protocol.connection_lost(None)

    def write(self, data: Any) -> None:
        self.writelines([data])

    def writelines(self, list_of_data: Any) -> None:
        self.write_count += 1
        for data in list_of_data:
            self.sent += data
            if not self.client_reads:
                self._unread += len(data)
        if self._unread > self._high and not self._is_protocol_paused:
            self._is_protocol_paused = True
            assert self._protocol is not None
            self._protocol.pause_writing()

    def set_write_buffer_limits(
        self, high: int | None = None, low: int | None = None
    ) -> None:
        assert high is not None
        assert low is not None
        self._high, self._low = high, low

    def get_write_buffer_size(self) -> int:
        return self._unread

    def pause_reading(self) -> None:
        assert self.is_reading_now
        self.is_reading_now = False

    def resume_reading(self) -> None:
        assert not self.is_reading_now
        self.is_reading_now = True

    def is_closing(self) -> bool:
        return self._is_closing

    def write_eof(self) -> None:
        self.has_ended = True

    def close(self) -> None:
        self._is_closing = True
        if not self._unread:
            asyncio.get_running_loop().call_soon(self.lose)

    def abort(self) -> None:
        self.is_aborted = self._is_closing = True
        asyncio.get_running_loop().call_soon(self.lose)


class Words:
    """An answer: a text, or that many bytes."""

    def __init__(self, body: bytes) -> None:
        self.body = body


class WordRoute:
    """Stands in for a ``Route``; a text ``broken`` cannot be encoded."""

    name = "words v0"
    response_class = Words

    def write(self, correlation_id: int, response: Any, out: list[Any]) -> int:
        if response.body == b"broken":
            raise RuntimeError("expected by this test")
        out.append(struct.pack(">i", len(response.body)))
        out.append(memoryview(response.body))
        return 4 + len(response.body)


ROUTE = cast(Route, WordRoute())


class WordDispatcher:
    """Stands in for the ``Dispatcher``."""

    def __init__(self) -> None:
        self.parked: dict[str, asyncio.Future[Words]] = {}
        self.started: list[str] = []
        self.failures: list[BaseException] = []
        self._count = 0
        self.entry = self.dispatch

    def dispatch(self, connection: ConnectionInfo, frame: memoryview) -> Exchange:
        text = bytes(frame).decode()
        self.started.append(text)
        self._count += 1
        return Exchange(ROUTE, self._count, self._answer(connection, text), text)

    def resolve(self, text: str) -> None:
        self.parked.pop(text).set_result(Words(text.encode()))

    def failure(self, route: Any, request: Any, error: BaseException) -> Any:
        self.failures.append(error)
        if "unanswerable" in str(error):
            raise MalformedRequest("no place for it") from error
        return Words(b"error")

    def _answer(self, connection: ConnectionInfo, text: str) -> Any:
        kind, _, argument = text.partition(":")
        if kind == "bad":
            raise MalformedRequest("expected by this test")
        if kind == "none":
            return NO_RESPONSE
        if kind == "big":
            return Words(bytes(int(argument)))
        if kind == "bye":
            connection.close()
        if kind == "mute":
            connection.mute(int(argument))
        if kind in ("park", "wait", "both"):
            future: asyncio.Future[Words] = asyncio.get_running_loop().create_future()
            self.parked[text] = future
            if kind == "both":
                return self._park_after(text, future)
            return future if kind == "park" else _wait(future)
        return Words(text.encode())

    async def _park_after(self, text: str, future: asyncio.Future[Words]) -> Parked:
        await future
        self.parked[text] = asyncio.get_running_loop().create_future()
        return Parked.behind(self.parked[text])


async def _wait(future: asyncio.Future[Words]) -> Words:
    return await future


def frame(text: str) -> bytes:
    return struct.pack(">i", len(text)) + text.encode()


def fake_network(
    clock: FakeClock | None = None,
    log: Callable[[str], None] | None = None,
    **options: Any,
) -> tuple[Network, WordDispatcher]:
    """A network of word requests, with the broker's options."""
    clock = clock or FakeClock()
    config = BrokerConfig(**options)
    dispatcher = WordDispatcher()
    network = Network(
        options=config,
        dispatcher=cast(Dispatcher, dispatcher),
        clock=clock,
        memory=RequestMemory(config.queued_max_request_bytes),
        answers=AnswerMemory(
            config.queued_max_response_bytes, config.connection_unread_max_bytes
        ),
        admission=Admission(config, clock),
        log=LimitedLog(clock, log or (lambda line: None)),
    )
    return network, dispatcher


async def settle(turns: int = 10) -> None:
    """Let everything run that is ready to."""
    for _ in range(turns):
        await asyncio.sleep(0)
