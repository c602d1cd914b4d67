"""Two brokers that are told the same, one by short ways and one by long ones only."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from odradek.broker.handlers import load as load_handlers
from odradek.broker.metadata.client_quotas import QuotaEntity
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.quotas.metered import MeteredDispatcher
from odradek.broker.requests.registry import NO_RESPONSE, registered_handlers
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import MalformedRequest
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import LOG_DIR, Replicas, replicas

TOPIC_ID = bytes(range(1, 17))
PRINCIPALS = ("User:ANONYMOUS", "User:ANONYMOUS", "User:other")
# Of whom there may be quotas, and which: one that is soon used up, and one that is not.
LIMITS = st.tuples(
    st.sampled_from(
        [
            {"client-id": "client"},
            {"client-id": ""},
            {"client-id": None},
            {"user": "other"},
            {"user": "ANONYMOUS", "client-id": "c"},
        ]
    ),
    st.dictionaries(
        st.sampled_from(["producer_byte_rate", "consumer_byte_rate"]),
        st.sampled_from(["100", "1e9"]),
    ),
)


class Way:
    """A broker of its own, asked by frames on connections of several users."""

    def __init__(self, broker: Replicas, *, is_short: bool) -> None:
        self.broker = broker
        self.dispatcher = Dispatcher(broker.services, registered_handlers())
        self.metered = MeteredDispatcher(self.dispatcher, broker.services)
        self.shorts = Counter[int]()  # by API
        self.mutes: list[tuple[int, int]] = []  # connection, milliseconds
        self.connections = [
            ConnectionInfo(mute=partial(self._note_mute, index), principal=principal)
            for index, principal in enumerate(PRINCIPALS)
        ]
        self._is_short = is_short

    @property
    def short_count(self) -> int:
        """How many requests were answered by a short way."""
        return self.shorts.total()

    def _note_mute(self, index: int, wait_ms: int) -> None:
        self.mutes.append((index, wait_ms))

    async def limit(
        self, names: Mapping[str, str | None], quotas: Mapping[str, str]
    ) -> None:
        """Give an entity these quotas, and no others."""
        resource = QuotaEntity.of(names).resource
        await self.broker.services.resources.alter(resource, lambda _: quotas)
        self.metered.follow()

    async def ask(self, frame: bytes, connection: int = 0) -> bytes | str:
        """The bytes of the answer, or what there was instead."""
        if not self._is_short:
            self.dispatcher.short_ways.forget()
        try:
            exchange = self.dispatcher.dispatch(
                self.connections[connection], memoryview(bytearray(frame))
            )
            if isinstance(exchange, bytes):
                self.shorts[int.from_bytes(frame[:2])] += 1
                return exchange
            route, correlation_id, answer, request = exchange
            self.shorts[int.from_bytes(frame[:2])] += request is None
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

    def log(self, index: int, topic: str = "t") -> bytes:
        path = LOG_DIR / f"{topic}-{index}" / f"{0:020}.log"
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
