"""R14: hostile messages of every API and version, in the process of the broker.

No exception that nobody expected, no turn of the loop that takes long, no more
memory for a frame than its objects may take; and the broker serves on.
"""

import asyncio
import contextlib
import gc
import os
import struct
import time
import tracemalloc
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from odradek.broker import handlers
from odradek.broker.network.connection import Connection
from odradek.broker.node.server import Server
from odradek.broker.requests.registry import registered_handlers
from odradek.protocol.compiler import decoder, encoder
from odradek.protocol.headers import encode_request
from odradek.protocol.schema import Request
from odradek.protocol.uuids import ZERO_UUID
from tests.broker.node.test_server import create_topic, produce, running, with_client
from tests.fakes.network import FakeTransport
from tests.fuzz.hostile_messages import HostileMessages, fullest
from tests.fuzz.strangers import PING
from tests.garbage import thaw
from tests.processor import turns

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
ROUNDS = 150 if IS_LONG else 2
OPEN_MAX = 100
# 100 ms here: turns of a plain loop, which others hold up as much.
TURNS_MAX = 4_000_000
OBJECTS = 19_000
FEW_OBJECTS = 500
# An object of Python with its fields; 20,000 of them are 10 MB.
OBJECT_BYTES_MAX = 500


def kinds() -> list[tuple[type[Request], int]]:
    """Every request class in every version that is served."""
    handlers.load()
    return [
        (handler.request_class, version)
        for handler in registered_handlers().values()
        for version in range(handler.min_version, handler.max_version + 1)
    ]


class Target:
    """A broker in this process, and what frames have done to it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.errors: list[str] = []
        self.slow: list[tuple[int, str]] = []
        self.turns_a_ms = turns(0.001)
        self.last_ms = self.slowest_ms = 0.0
        self.outcomes: Counter[str] = Counter()
        self.name = ""
        self._open: list[FakeTransport] = []
        server.bugs.hook = lambda error: self.errors.append(f"{self.name}: {error!r}")

    async def send(self, name: str, frame: bytes) -> None:
        """One frame on a connection of its own; it may go on for a while."""
        self.name = name
        transport = FakeTransport()
        began_s = time.thread_time()
        transport.connect(Connection(self.server.listeners[0]))
        transport.feed(frame)
        for _ in range(3):
            await asyncio.sleep(0)
        took_ms = (time.thread_time() - began_s) * 1000
        self.last_ms = took_ms
        self.slowest_ms = max(self.slowest_ms, took_ms)
        if took_ms * self.turns_a_ms > TURNS_MAX:
            self.slow.append((round(took_ms), f"{name}: {frame[:200].hex()}"))
        outcome = "answered" if transport.sent else "waits"
        self.outcomes["closed" if transport.is_closing() else outcome] += 1
        self._open.append(transport)
        if len(self._open) > OPEN_MAX:
            self._open.pop(0).lose()

    async def topic_id(self) -> bytes:
        """That of the topic, which is made again when a message has deleted it."""
        with contextlib.suppress(AssertionError):
            await with_client(self.server, create_topic)
        topic = self.server.services.metadata.get("t")
        return topic.topic_id if topic else ZERO_UUID

    async def close(self) -> None:
        while self._open:
            self._open.pop().lose()
        await asyncio.sleep(0.05)
        self.server.bugs.count = 0 if not self.errors else len(self.errors)


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[Target]:
    async with running(tmp_path) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
        target = Target(server)
        gc.freeze()
        try:
            yield target
        finally:
            await target.close()
            thaw()


async def test_hostile_messages_are_answered_or_closed(target: Target) -> None:
    messages = HostileMessages(ROUNDS)
    every = kinds()
    for turn in range(ROUNDS):
        messages.topic_id = await target.topic_id()
        for number, (cls, version) in enumerate(every):
            frame = messages.frame(cls, version, number)
            await target.send(f"{cls.__name__} v{version}", frame)
        assert not target.errors, target.errors[:3]
        assert not target.slow, (turn, target.slow[:3])
    print(
        f"{ROUNDS * len(every)} messages of {len(every)} kinds, slowest"
        f" {target.slowest_ms:.0f} ms, {dict(target.outcomes)}"
    )
    assert target.outcomes["answered"] > ROUNDS * len(every) // 2
    await with_client(target.server, lambda connection: connection.api_versions)


def full_bodies(count: int) -> Iterator[tuple[str, type[Request], int, bytes]]:
    """Of every API in its last version (long: in all), each array filled."""
    for cls, version in kinds():
        if not IS_LONG and version != cls.max_version:
            continue
        for field in cls.fields:
            if field.kind == "array" and field.versions.cover(version):
                body = fullest(cls, version, field, count)
                if body is not None:
                    yield f"{field} v{version}", cls, version, body


def test_an_object_of_a_message_takes_few_bytes() -> None:
    largest, count = (0.0, ""), 0
    for name, cls, version, body in full_bodies(FEW_OBJECTS):
        decode = decoder(cls, version)
        view = memoryview(bytearray(body))
        tracemalloc.start()
        try:
            decode(view, 0)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        largest = max(largest, (peak / FEW_OBJECTS, name))
        count += 1
    print(
        f"{count} full messages, at most {largest[0]:.0f} bytes an object: {largest[1]}"
    )
    assert largest[0] < OBJECT_BYTES_MAX, largest


@pytest.mark.long
async def test_messages_of_as_many_objects_as_there_may_be(target: Target) -> None:
    slowest: list[tuple[float, str]] = []
    for name, cls, version, body in full_bodies(OBJECTS):
        head = bytes(encode_request(cls(), version, 7, "fuzz"))
        size = len(head) - 4 - len(b"".join(map(bytes, encoder(cls, version)(cls()))))
        frame = struct.pack(">i", size + len(body)) + head[4 : 4 + size] + body
        await target.send(name, frame)
        slowest.append((target.last_ms, name))
        await target.close()
    slowest.sort(reverse=True)
    print(f"{len(slowest)} messages of {OBJECTS} objects: {slowest[:6]}")
    assert not target.errors, target.errors[:3]
    assert slowest[0][0] * target.turns_a_ms < 3 * TURNS_MAX, slowest[:3]


async def test_a_ping_behind_garbage_is_not_answered(target: Target) -> None:
    transport = FakeTransport()
    transport.connect(Connection(target.server.listeners[0]))
    transport.feed(struct.pack(">i", 8) + b"\xff" * 8 + PING)
    assert transport.is_closing()
    assert not transport.sent
