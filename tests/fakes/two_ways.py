"""Two brokers that are told the same, one by short ways and one by long ones only."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers import load as load_handlers
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.registry import NO_RESPONSE, registered_handlers
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import MalformedRequest
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, replicas

TOPIC_ID = bytes(range(1, 17))


class Way:
    """A broker of its own, asked by frames."""

    def __init__(self, broker: Replicas, *, is_short: bool) -> None:
        self.broker = broker
        self.dispatcher = Dispatcher(broker.services, registered_handlers())
        self.short_count = 0
        self._is_short = is_short

    async def ask(self, frame: bytes) -> bytes | str:
        """The bytes of the answer, or what there was instead."""
        if not self._is_short:
            self.dispatcher._short_routes.clear()
        try:
            exchange = self.dispatcher.dispatch(
                self.broker.connection, memoryview(bytearray(frame))
            )
            if isinstance(exchange, bytes):
                self.short_count += 1
                return exchange
            route, correlation_id, answer, request = exchange
            self.short_count += request is None
            if hasattr(answer, "__await__") and not isinstance(answer, Parked):
                answer = await answer
            if isinstance(answer, Parked):
                is_framed = answer.is_framed
                await self.broker.commit()
                if not answer.done():
                    self.broker.clock.advance(60_000)
                answer = await answer
                if is_framed and isinstance(answer, bytes):
                    return answer
        except MalformedRequest:
            return "malformed"
        if answer is NO_RESPONSE:
            return "none"
        out: list[Any] = []
        route.write(correlation_id, answer, out)
        return b"".join(out)

    def log(self, index: int) -> bytes:
        path = LOG_DIR / f"t-{index}" / f"{0:020}.log"
        return (
            self.broker.files.content(path) if self.broker.files.exists(path) else b""
        )


@contextlib.asynccontextmanager
async def two_ways(tmp_path: Path, **options: Any) -> AsyncIterator[tuple[Way, Way]]:
    """Each with the topic ``t`` of two partitions, whose id is ``TOPIC_ID``."""
    load_handlers()
    async with contextlib.AsyncExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr("odradek.broker.metadata.topics.random_uuid", lambda: TOPIC_ID)
        ways = []
        for is_short in (True, False):
            folder = tmp_path / str(is_short)
            folder.mkdir(exist_ok=True)
            opened = replicas(folder, FakeFiles(), **options)
            broker = await stack.enter_async_context(opened)
            await broker.create_topic("t", 2)
            ways.append(Way(broker, is_short=is_short))
        yield ways[0], ways[1]
