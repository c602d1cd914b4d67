"""G050: hostile heartbeats, share fetches and acknowledgements; memory stays flat.

They are made of what members of real groups are about to send: so they come far, and
there are groups, sessions and records that they may spoil. The members go on among
them.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker import handlers
from odradek.broker.node.server import Server
from odradek.broker.requests.registry import registered_handlers
from odradek.client.connection import Connection
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.group_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from odradek.protocol.schema import Request
from tests.broker.node.test_server import config, create_topic, produce, with_client
from tests.fuzz.group_members import (
    ConsumerMember,
    Member,
    ShareMember,
    StreamsMember,
)
from tests.fuzz.hostile_crowd import HostileCrowd, SweptClock
from tests.fuzz.hostile_messages import HostileMessages
from tests.fuzz.strangers import resident_bytes

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
COUNT = int(os.environ.get("ODRADEK_FUZZED", 10_000_000 if IS_LONG else 5_000))
WARM = COUNT // 5  # by then there is one of everything
MADE = min(COUNT // 20, 5_000)  # messages that fit their schema; they are dear
TIDIED = 50_000
PRODUCED = 320
# What the log of groups has in memory may grow a little with what is written.
GROWTH_MAX = 32 << 20
KEYS = (
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
)
GROUPS = ("consumers", "sharers", "streamers")
OPTIONS = {
    "durability": "none",
    "num_partitions": 2,
    "offsets_topic_num_partitions": 2,
    "share_coordinator_state_topic_num_partitions": 2,
    "log_tail_max_bytes": 1 << 20,
    "group_streams_initial_rebalance_delay_ms": 0,
}


def kinds() -> list[tuple[type[Request], int]]:
    handlers.load()
    found = (registered_handlers()[key] for key in KEYS)
    return [
        (handler.request_class, version)
        for handler in found
        for version in range(handler.min_version, handler.max_version + 1)
    ]


def made(count: int, topic_id: bytes) -> list[bytes]:
    every, messages = kinds(), HostileMessages(count, topic_id)
    return [
        messages.frame(*every[number % len(every)], number) for number in range(count)
    ]


def members(topic_id: bytes) -> list[Member]:
    found: list[Member] = []
    for number in range(1, 4):
        found.append(ConsumerMember("consumers", f"c-{number}", "t"))
        found.append(ShareMember("sharers", f"s-{number}", "t", topic_id))
        found.append(StreamsMember("streamers", f"k-{number}", "t"))
    return found


@contextlib.contextmanager
def no_warnings() -> Iterator[None]:
    """Of strangers; pytest would keep them all."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def delete_what_strangers_made(connection: Connection) -> None:
    listed = connection.request(ListGroupsRequest(), ListGroupsResponse)
    strange = [each.group_id for each in listed.groups if each.group_id not in GROUPS]
    connection.request(DeleteGroupsRequest(groups_names=strange), DeleteGroupsResponse)


def delete_topics(server: Server, connection: Connection) -> None:
    kept = ("t", "__", "streamers-words-repartition", "streamers-counts-changelog")
    strange = [
        DeleteTopicState(name=each.name)
        for each in server.services.metadata
        if each.name not in kept and not each.name.startswith("__")
    ]
    request = DeleteTopicsRequest(topics=strange, timeout_ms=60_000)
    connection.request(request, DeleteTopicsResponse)


def find_coordinators(connection: Connection) -> None:
    """From then on there are the topics that groups are kept in."""
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=list(GROUPS))
    found = connection.request(request, FindCoordinatorResponse)
    assert not any(each.error_code for each in found.coordinators)


@pytest.mark.timeout(14_400)  # 25 minutes of CPU time for all ten million
async def test_g050_hostile_members_are_answered_or_closed(tmp_path: Path) -> None:
    clock, errors = SweptClock(), list[str]()
    server = Server(config(tmp_path, **OPTIONS), clock=clock)
    await server.start()
    try:
        with no_warnings():
            await attack(server, clock, errors)
    finally:
        await stop(server, clock)
    assert server.bugs.count == 0


async def stop(server: Server, clock: SweptClock) -> None:
    """Without an answer after a failure, the broker waits for it by its clock."""
    stopping = asyncio.ensure_future(server.stop())
    while not stopping.done():
        await asyncio.wait((stopping,), timeout=0.01)
        clock.advance(1000)
    await stopping


async def attack(server: Server, clock: SweptClock, errors: list[str]) -> None:
    await with_client(server, create_topic)
    await with_client(server, find_coordinators)
    server.bugs.hook = lambda error: errors.append(repr(error))
    topic = server.services.metadata.get("t")
    assert topic is not None
    known = members(topic.topic_id)
    crowd = HostileCrowd(server, clock, known, made(MADE, topic.topic_id), COUNT)
    await crowd.settle()
    sent = warm = tidied = produced = 0
    began_s = time.process_time()
    while sent < COUNT:
        if not warm and sent >= WARM:
            warm = resident_bytes(os.getpid())
        if sent >= produced:
            produced += PRODUCED
            await with_client(server, produce)
        if sent >= tidied:
            tidied += TIDIED
            await with_client(server, delete_what_strangers_made)
            await with_client(server, lambda client: delete_topics(server, client))
            mib = resident_bytes(os.getpid()) >> 20
            took_s = time.process_time() - began_s
            print(f"{sent} sent, {took_s:.0f} s, {mib} MiB, {dict(crowd.outcomes)}")
        sent += await crowd.attack()
        assert not errors, (sent, errors[:3])
    grown = resident_bytes(os.getpid()) - warm
    await crowd.end()
    await with_client(server, lambda connection: connection.api_versions)
    told = crowd.errors
    took_s = time.process_time() - began_s
    print(f"{sent} messages, {took_s:.0f} s: {dict(crowd.outcomes)}")
    print(f"{(warm + grown) >> 20} MiB, {grown >> 10} KiB more than at {WARM}")
    print(f"members were told: {dict(told.most_common())}")
    assert crowd.outcomes.total() == sent
    # Else they would not come far, and the members would not be there to be spoiled.
    assert crowd.outcomes["answered"] > sent * 2 // 5
    assert told[0] > told.total() // 2
    assert grown < GROWTH_MAX
