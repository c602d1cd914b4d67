import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator

import pytest

from tests.broker.network.tls.words import (
    PublicContext,
    TlsBroker,
    client_context,
    connected,
    tls_broker,
)
from tests.fakes.network import frame


@pytest.fixture(params=[ssl.SSLContext, PublicContext])
async def broker(request: pytest.FixtureRequest) -> AsyncIterator[TlsBroker]:
    """By OpenSSL itself, and by the way that is left where there is none to it."""
    async with tls_broker() as broker:
        broker.tls.identity.current.context.__class__ = request.param
        yield broker


async def test_megabytes_arrive_and_leave_whole(broker: TlsBroker) -> None:
    async with connected(broker) as client:
        big = "now:" + "x" * (5 << 20)
        client.send(big, "now:2", big)
        assert [await client.answer() for _ in range(3)] == [big, "now:2", big]


async def test_many_small_requests_are_answered_in_order(broker: TlsBroker) -> None:
    async with connected(broker) as client:
        texts = [f"now:{number}" for number in range(1000)]
        client.send(*texts)
        assert [await client.answer() for _ in texts] == texts


async def test_who_says_bye_gets_its_answer_first(broker: TlsBroker) -> None:
    async with connected(broker) as client:
        client.send("bye:1")
        assert await client.answer() == "bye:1"
        assert await client.reader.read() == b""


class Bytes:
    """A client whose bytes the test sends by hand, once the handshake is made."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader, self.writer = reader, writer
        self.out, self.into = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = client_context()
        self.tls = context.wrap_bio(self.into, self.out, server_hostname="localhost")

    async def shake_hands(self) -> None:
        is_made = False
        while not is_made:
            with contextlib.suppress(ssl.SSLWantReadError):
                self.tls.do_handshake()
                is_made = True
            self.writer.write(self.out.read())
            if not is_made:
                self.into.write(await self.reader.read(1 << 16))

    def say_goodbye(self) -> None:
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.unwrap()


@contextlib.asynccontextmanager
async def by_hand(broker: TlsBroker) -> AsyncIterator[Bytes]:
    client = Bytes(*await asyncio.open_connection("127.0.0.1", broker.listener.port))
    try:
        await client.shake_hands()
        yield client
    finally:
        client.writer.close()


async def test_what_comes_with_the_goodbye_is_answered_first(
    broker: TlsBroker,
) -> None:
    async with by_hand(broker) as client:
        asked = frame("now:1") + frame("now:" + "x" * 5000)
        client.tls.write(asked)
        client.say_goodbye()
        client.writer.write(client.out.read())
        client.into.write(await client.reader.read())
        answers = bytearray()
        while len(answers) < len(asked):
            answers += client.tls.read(1 << 16)
        assert answers == asked
