"""A listener on a real socket that serves word requests, for tests of the network."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from odradek.broker.network.listener import Listener
from tests.fakes.clock import FakeClock
from tests.fakes.network import fake_network
from tests.patience import PATIENCE_S


class WordBroker:
    """The listener, its clock, its dispatcher, and what it logged."""

    def __init__(self, **options: Any) -> None:
        self.clock = FakeClock()
        self.log: list[str] = []
        network, self.dispatcher = fake_network(self.clock, self.log.append, **options)
        self.listener = Listener("PLAINTEXT", "127.0.0.1", 0, network)


async def until(condition: Callable[[], Any], timeout_s: float = PATIENCE_S) -> None:
    """Return once ``condition()`` holds: what comes over a socket takes its time."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - sockets tell nobody
            await asyncio.sleep(0.001)


@contextlib.asynccontextmanager
async def word_broker(**options: Any) -> AsyncIterator[WordBroker]:
    broker = WordBroker(**options)
    await broker.listener.start()
    try:
        yield broker
    finally:
        stopping = asyncio.ensure_future(broker.listener.stop(1))
        await broker.clock.tick(0)
        broker.clock.advance(1000)
        await stopping
