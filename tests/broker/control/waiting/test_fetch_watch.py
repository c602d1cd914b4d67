from pathlib import Path
from typing import Any

from odradek.broker.control.waiting.fetch_watch import Fetching, FetchWatch
from odradek.client.connection import Connection
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.control.served import controlled, with_client

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def fetch(*places: tuple[int, int], **fields: Any) -> FetchRequest:
    """Of partitions of ``t``, each with its offset."""
    partitions = [
        FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1000)
        for number, offset in places
    ]
    topics = [FetchTopic(topic="t", partitions=partitions)] if places else []
    return FetchRequest(max_wait_ms=0, topics=topics, **fields)


def ask(connection: Connection, request: FetchRequest) -> FetchResponse:
    return connection.request(request, FetchResponse, 11)


async def test_fetches_are_seen_while_somebody_wants_to(tmp_path: Path) -> None:
    async with controlled(tmp_path) as server:
        await server.services.metadata.create_topic("t", 3)
        watch = FetchWatch(server.services, server.listeners)
        dispatcher = server.listeners[0].network.dispatcher
        before = dispatcher.dispatch
        seen: list[Fetching] = []

        def talk(connection: Connection) -> None:
            ask(connection, fetch((0, 0)))
            watch.begin(seen.append)
            for _ in range(3):  # the first way, and the short one
                ask(connection, fetch((0, 0)))
            ask(connection, fetch((1, 0), (2, 5), (7, 0)))
            watch.end()
            ask(connection, fetch((0, 0)))

        await with_client(server, talk, "me")
        assert [each.offsets for each in seen] == [{T0: 0}] * 3 + [{T1: 0}]
        assert {each.client_id for each in seen} == {"me"}
        assert len({each.peer for each in seen}) == 1
        assert dispatcher.dispatch == before
        assert not watch.is_watching


async def test_a_session_stands_for_its_partitions(tmp_path: Path) -> None:
    async with controlled(tmp_path) as server:
        await server.services.metadata.create_topic("t", 3)
        watch = FetchWatch(server.services, server.listeners)
        seen: list[Fetching] = []
        watch.begin(seen.append)

        def talk(connection: Connection) -> None:
            begun = ask(connection, fetch((0, 0), (1, 0), session_epoch=0))
            ask(connection, fetch(session_id=begun.session_id, session_epoch=1))
            more = fetch((2, 0), session_id=begun.session_id, session_epoch=2)
            ask(connection, more)

        await with_client(server, talk)
        watch.end()
        assert [sorted(each.offsets) for each in seen] == [
            [T0, T1],
            [T0, T1],
            [T0, T1, T2],
        ]


async def test_who_ends_it_from_inside_gets_the_next_request_answered(
    tmp_path: Path,
) -> None:
    """Requests that came together are given to what was asked first."""
    async with controlled(tmp_path) as server:
        await server.services.metadata.create_topic("t", 1)
        watch = FetchWatch(server.services, server.listeners)
        seen: list[Fetching] = []

        def see_one(fetching: Fetching) -> None:
            seen.append(fetching)
            watch.end()

        watch.begin(see_one)

        def talk(connection: Connection) -> None:
            for _ in range(2):
                connection.send(fetch((0, 0)), 11)
            for _ in range(2):
                connection.receive(ApiKey.FETCH, 11)

        await with_client(server, talk)
        assert len(seen) == 1
