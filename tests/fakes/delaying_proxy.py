"""A proxy before a broker that understands frames, and may hold one back.

Between a client and the broker stands a passage for each connection. What becomes of
a request, its `Policy` says when it arrives; a request that is held keeps its way to
the broker open, while the client finds its connection gone (or gets no answer) and
asks again on another one. Somebody calls `Held.deliver` later, at a moment of his
choosing: then the copy arrives, as one that a network has delayed.
"""

import asyncio
import contextlib
import enum
from collections.abc import AsyncIterator
from struct import Struct
from typing import NamedTuple

from odradek.protocol.headers import decode_request_header

_LENGTH = Struct(">i")
_ID = Struct(">i")


class Request(NamedTuple):
    """A request on its way; ``data`` is the frame without its length."""

    api_key: int
    version: int
    number: int
    client_id: str
    data: bytes


class Fate(enum.Enum):
    """What becomes of a request."""

    PASS = "goes to the broker, and the answer comes back"
    LOSE_ANSWER = "goes to the broker, but in place of the answer the client is cut off"
    HOLD = "is held, and the client is cut off"
    STALL = "is held, and the client waits until it has had enough"


class Policy:
    """Decides; and learns what passes. By itself it lets everything pass."""

    async def decide(self, request: Request) -> Fate:
        """What becomes of a request that has just arrived."""
        return Fate.PASS

    async def hold(self, held: "Held") -> None:
        """This one is held now; the client does not know that yet."""

    async def answered(self, request: Request) -> None:
        """The answer is here, and the client does not have it yet."""

    def is_awaited(self, request: Request) -> bool:
        """Whether the broker's answer is waited for when the client has gone.

        If the client has gone before it is read here, it does not reach the broker.
        """
        return False

    def over(self, request: Request) -> None:
        """It had passed, and the broker is done with it, or its connection is."""


class Held:
    """A request that the broker does not have yet, and its way there."""

    def __init__(self, request: Request, passage: "_Passage") -> None:
        self.request = request
        self._passage = passage

    async def deliver(self) -> bytes | None:
        """Let it go to the broker; the answer, which nobody else will see.

        None when the broker closes the connection instead.
        """
        return await self._passage.deliver(self.request)


class DelayingProxy:
    """Listens, once it is started; ``address`` is where clients connect to."""

    def __init__(self, broker_address: str, policy: Policy) -> None:
        self.policy = policy
        self.host, _, port = broker_address.rpartition(":")
        self.port = int(port)
        self.address = ""
        self.passages: set[_Passage] = set()
        self._serving: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["DelayingProxy"]:
        """Serve for a while; in the end every connection is closed."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        try:
            yield self
        finally:
            server.close()
            for each in list(self.passages):
                await each.close()
            if self._serving:
                await asyncio.wait(self._serving)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        upstream = await asyncio.open_connection(self.host, self.port)
        passage = _Passage(self, (reader, writer), upstream)
        self.passages.add(passage)
        await passage.run()


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Passage:
    """One connection of a client, and the one to the broker that belongs to it."""

    def __init__(self, proxy: DelayingProxy, client: Streams, broker: Streams) -> None:
        self._proxy, self._policy = proxy, proxy.policy
        self._client_reader, self._client = client
        self._broker_reader, self._broker = broker
        self._sent: dict[int, tuple[Request, Fate]] = {}
        self._late: asyncio.Future[bytes | None] | None = None
        self._answer: asyncio.Future[None] | None = None
        self._backward = asyncio.create_task(self._take_answers())

    async def run(self) -> None:
        """Pass requests on until one is held or the client has closed."""
        while True:
            frame = await _read_frame(self._client_reader)
            if frame is None:
                await self._done()
                await self.close()
                return
            request = _request(frame)
            if self._policy.is_awaited(request) and await self._is_alone():
                continue  # lost: who sent it has long gone on
            fate = await self._policy.decide(request)
            if fate in (Fate.HOLD, Fate.STALL):
                await self._policy.hold(Held(request, self))
                if fate is Fate.STALL:
                    while await _read_frame(self._client_reader) is not None:
                        pass  # what comes behind it is lost with the connection
                await _close(self._client)
                return
            self._sent[request.number] = request, fate
            self._broker.write(_LENGTH.pack(len(frame)) + frame)

    async def _is_alone(self) -> bool:
        """Whether the client had closed before its last request was read."""
        for _ in range(3):  # until the end, which comes behind it, is read as well
            await asyncio.sleep(0)
        return self._client_reader.at_eof()

    async def _done(self) -> None:
        """What is awaited of what was sent is answered."""
        while not self._backward.done() and any(
            self._policy.is_awaited(request) for request, _ in self._sent.values()
        ):
            self._answer = asyncio.get_running_loop().create_future()
            done = [self._backward, self._answer]
            await asyncio.wait(done, return_when=asyncio.FIRST_COMPLETED)

    async def deliver(self, request: Request) -> bytes | None:
        """Send what was held, and wait for the answer."""
        self._late = asyncio.get_running_loop().create_future()
        if self._backward.done():
            self._late.set_result(None)
        self._broker.write(_LENGTH.pack(len(request.data)) + request.data)
        answer = await self._late
        await self.close()
        return answer

    async def _take_answers(self) -> None:
        try:
            while (frame := await _read_frame(self._broker_reader)) is not None:
                request, fate = self._sent.pop(_ID.unpack_from(frame)[0], (None, None))
                if request is None:
                    if self._late is not None and not self._late.done():
                        self._late.set_result(frame)
                    continue
                self._policy.over(request)
                await self._policy.answered(request)
                if self._answer is not None and not self._answer.done():
                    self._answer.set_result(None)
                if fate is Fate.LOSE_ANSWER:
                    break
                if not self._client.is_closing():
                    self._client.write(_LENGTH.pack(len(frame)) + frame)
        finally:
            if self._late is not None and not self._late.done():
                self._late.set_result(None)
            self._client.close()

    async def close(self) -> None:
        """Close both connections."""
        self._proxy.passages.discard(self)
        self._backward.cancel()
        await asyncio.wait([self._backward])
        while self._sent:
            self._policy.over(self._sent.popitem()[1][0])
        await _close(self._client)
        await _close(self._broker)


async def _read_frame(reader: asyncio.StreamReader) -> bytes | None:
    """A frame without its length; None when there will be none."""
    try:
        size = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))[0]
        return await reader.readexactly(size)
    except (asyncio.IncompleteReadError, OSError):
        return None


def _request(frame: bytes) -> Request:
    header, _ = decode_request_header(memoryview(frame))
    return Request(
        header.api_key,
        header.api_version,
        header.correlation_id,
        header.client_id or "",
        frame,
    )


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
