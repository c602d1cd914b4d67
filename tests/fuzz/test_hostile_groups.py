"""G050: hostile heartbeats, share fetches and acknowledgements; memory stays flat.

Each connection sends some, as members of a few groups of one topic: so they come far,
and there are groups, sessions and records that they may spoil for each other.
"""

import asyncio
import os
from collections import Counter
from pathlib import Path

from odradek.broker import handlers
from odradek.broker.network.connection import Connection
from odradek.broker.requests.registry import registered_handlers
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import Request
from tests.broker.node.test_server import create_topic, produce, running, with_client
from tests.fakes.network import FakeTransport
from tests.fuzz.hostile_messages import HostileMessages
from tests.fuzz.strangers import resident_bytes

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
COUNT = int(os.environ.get("ODRADEK_FUZZED", 10_000_000 if IS_LONG else 2_000))
A_CONNECTION = 10
WARM = COUNT // 5  # by then there is one of everything
# What the log of groups has in memory may grow a little with what is written.
GROWTH_MAX = 32 << 20
KEYS = (
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
)


def kinds() -> list[tuple[type[Request], int]]:
    handlers.load()
    found = (registered_handlers()[key] for key in KEYS)
    return [
        (handler.request_class, version)
        for handler in found
        for version in range(handler.min_version, handler.max_version + 1)
    ]


async def test_g050_hostile_members_are_answered_or_closed(tmp_path: Path) -> None:
    every, outcomes, errors = kinds(), Counter[str](), list[str]()
    warm = 0
    async with running(tmp_path) as server:
        await with_client(server, create_topic)
        await with_client(server, produce)
        server.bugs.hook = lambda error: errors.append(repr(error))
        topic = server.services.metadata.get("t")
        assert topic is not None
        messages = HostileMessages(COUNT, topic.topic_id)
        open_ones: list[FakeTransport] = []
        for number in range(COUNT):
            if number % A_CONNECTION == 0:
                open_ones.append(FakeTransport())
                open_ones[-1].connect(Connection(server.listeners[0]))
                if len(open_ones) > A_CONNECTION:
                    gone = open_ones.pop(0)
                    outcome = "answered" if gone.sent else "waits"
                    outcomes["closed" if gone.is_closing() else outcome] += 1
                    gone.lose()
            if number == WARM:
                warm = resident_bytes(os.getpid())
            cls, version = every[number % len(every)]
            if not open_ones[-1].is_closing():
                open_ones[-1].feed(messages.frame(cls, version, number))
            for _ in range(2):
                await asyncio.sleep(0)
            assert not errors, (number, errors[:3])
        grown = resident_bytes(os.getpid()) - warm
        for each in open_ones:
            each.lose()
        await with_client(server, lambda connection: connection.api_versions)
    print(f"{COUNT} messages, {grown >> 10} KiB more, connections: {dict(outcomes)}")
    assert outcomes["answered"] > outcomes.total() // 2
    assert grown < GROWTH_MAX
