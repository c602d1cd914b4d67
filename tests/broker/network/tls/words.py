"""A listener with TLS that serves word requests, and its clients."""

import asyncio
import contextlib
import ssl
import struct
from collections.abc import AsyncIterator
from typing import Any

from odradek.broker.network.listener import Listener
from odradek.broker.network.pre_auth import PreAuth
from odradek.broker.network.tls.door import Tls
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.security.certificates.identity import Identity
from tests.broker.security.certificates.options import tls_options
from tests.certificates import Holder, authority
from tests.fakes.broker import WordBroker
from tests.fakes.network import frame


class PublicContext(ssl.SSLContext):
    """Of a Python that has what is public, and nothing else."""

    _wrap_socket = None


class TlsBroker(WordBroker):
    """As `WordBroker`; ``options`` are those of TLS, ``shown`` its certificate."""

    def __init__(self, shown: Holder | None = None, **options: Any) -> None:
        super().__init__()
        network = self.listener.network
        identity = Identity(tls_options(shown, **options), SystemClock())
        self.tls = Tls(identity, PreAuth(self.clock, 3, 10_000))
        self.listener = Listener("SSL", "127.0.0.1", 0, network, tls=self.tls)

    @property
    def unsent(self) -> list[int]:
        """How much waits for each client that does not read."""
        connections = self.listener.connections
        sizes = [each._transport.get_write_buffer_size() for each in connections]
        return [size for size in sizes if size]


@contextlib.asynccontextmanager
async def tls_broker(
    shown: Holder | None = None, **options: Any
) -> AsyncIterator[TlsBroker]:
    broker = TlsBroker(shown, **options)
    await broker.listener.start()
    try:
        yield broker
    finally:
        stopping = asyncio.ensure_future(broker.listener.stop(1))
        await broker.clock.tick(0)
        broker.clock.advance(1000)
        await stopping


def client_context(holder: Holder | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authority().certificate))
    if holder is not None:
        context.load_cert_chain(holder.certificate, holder.key)
    return context


class Client:
    """A client of TLS; it has a certificate if somebody holds one."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *texts: str) -> None:
        self.writer.write(b"".join(map(frame, texts)))

    async def answer(self) -> str:
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        return (await self.reader.readexactly(size)).decode()


@contextlib.asynccontextmanager
async def connected(
    broker: TlsBroker, holder: Holder | None = None
) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", broker.listener.port, ssl=client_context(holder)
    )
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
