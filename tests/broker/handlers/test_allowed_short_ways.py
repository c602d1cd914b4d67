"""Short ways, waiting fetches and what answers leave out, with an authorizer."""

import asyncio
from pathlib import Path
from typing import Any

from odradek.broker.handlers.authorized_operations import ALL_ON_TOPIC
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import Request
from tests.fakes.access import entry
from tests.fakes.guarded_broker import (
    ALICE,
    ROOT,
    GuardedBroker,
    codes_in,
    guarded_broker,
)
from tests.fakes.requests_by_name import request_of

from .needs_of_apis import BATCH, fetch, produce

BOB = "User:bob"
READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE
NO_TOPIC = 29
ONE, OTHER = "10.0.0.1", "10.0.0.2"


def producing() -> Request:
    return request_of(ApiKey.PRODUCE, produce(BATCH))


def fetching(**more: Any) -> Request:
    return request_of(ApiKey.FETCH, fetch(**more))


async def codes(
    broker: GuardedBroker,
    request: Request,
    principal: str,
    host: str = ONE,
    version: int = 12,
) -> list[int]:
    return codes_in(await broker.ask(request, version, principal, host))


def short_ways_of(broker: GuardedBroker, principal: str, host: str = ONE) -> Any:
    """What is known of requests there, by the bytes of API and version."""
    ways = broker.connection(principal, host).short_ways.by_api.values()
    known = (shortcut for way in ways if way is not None for shortcut in way[1:])
    return [
        each._known.by_bytes for each in known if any(each._known.by_bytes.values())
    ]


async def test_the_same_bytes_of_two_users_are_decided_for_each(
    tmp_path: Path,
) -> None:
    """S024"""
    async with guarded_broker(tmp_path, "t") as broker:
        broker.become(entry(WRITE, "t"), entry(READ, "t", principal=BOB))
        for _ in range(4):
            assert await codes(broker, producing(), ALICE, version=9) == []
            assert await codes(broker, producing(), BOB, version=9) == [NO_TOPIC]
            assert await codes(broker, fetching(), BOB) == []
            assert await codes(broker, fetching(), ALICE) == [NO_TOPIC]
        assert len(short_ways_of(broker, ALICE)) == 1, "the allowed one is short"
        assert len(short_ways_of(broker, BOB)) == 1


async def test_hosts_of_one_user_share_nothing_where_an_entry_names_one(
    tmp_path: Path,
) -> None:
    async with guarded_broker(tmp_path, "t") as broker:
        broker.become(entry(READ, "t", host=ONE))
        for _ in range(4):
            assert await codes(broker, fetching(), ALICE, ONE) == []
            assert await codes(broker, fetching(), ALICE, OTHER) == [NO_TOPIC]
        mine, others = (
            broker.connection(ALICE, host).short_ways for host in (ONE, OTHER)
        )
        assert mine is not others
        broker.become(entry(READ, "t"))
        for host in (ONE, OTHER, ONE, OTHER):
            assert await codes(broker, fetching(), ALICE, host) == []
        mine, others = (
            broker.connection(ALICE, host).short_ways for host in (ONE, OTHER)
        )
        assert mine is others


async def test_a_change_is_in_force_for_the_next_request_on_short_ways(
    tmp_path: Path,
) -> None:
    async with guarded_broker(tmp_path, "t") as broker:
        for _ in range(3):
            broker.become(entry(WRITE, "t"), entry(READ, "t"))
            for _ in range(3):
                assert await codes(broker, producing(), ALICE, version=9) == []
                assert await codes(broker, fetching(), ALICE) == []
            broker.become()
            assert await codes(broker, producing(), ALICE, version=9) == [NO_TOPIC]
            assert await codes(broker, fetching(), ALICE) == [NO_TOPIC]


async def test_who_has_a_quota_is_asked_too(tmp_path: Path) -> None:
    """S025"""
    async with guarded_broker(tmp_path, "t") as broker:
        quota = request_of(
            ApiKey.ALTER_CLIENT_QUOTAS,
            {
                "entries": [
                    {
                        "entity": [{"entity_type": "user", "entity_name": "alice"}],
                        "ops": [{"key": "consumer_byte_rate", "value": 1e9}],
                    }
                ]
            },
        )
        assert await codes(broker, quota, ROOT, version=1) == []
        broker.become(entry(READ, "t", host=ONE))
        for _ in range(4):
            assert await codes(broker, fetching(), ALICE, ONE) == []
            assert await codes(broker, fetching(), ALICE, OTHER) == [NO_TOPIC]
        broker.become()
        assert await codes(broker, fetching(), ALICE, ONE) == [NO_TOPIC]


async def test_a_fetch_that_waits_is_asked_again_when_it_answers(
    tmp_path: Path,
) -> None:
    async with guarded_broker(tmp_path, "t") as broker:
        broker.become(entry(READ, "t"))
        waiting = fetching(max_wait_ms=60_000, min_bytes=1)
        by_session = fetching(max_wait_ms=60_000, min_bytes=1, session_epoch=0)
        assert await codes(broker, fetching(), ALICE) == []  # the log is open
        exchanges = [
            (request, broker.begin(request, 12, ALICE))
            for request in (waiting, waiting, by_session)
        ]
        answers = [
            asyncio.ensure_future(broker.finish(exchange, request, 12))
            for request, exchange in exchanges
        ]
        await asyncio.sleep(0)
        broker.become()
        assert await codes(broker, producing(), ROOT, version=9) == []
        for answer in await asyncio.gather(*answers):
            assert codes_in(answer) == [NO_TOPIC]
            [topic] = answer.responses
            assert not topic.partitions[0].records


async def test_those_who_wait_for_the_same_are_asked_again_each_by_its_host(
    tmp_path: Path,
) -> None:
    async with guarded_broker(tmp_path, "t") as broker:
        for rules, expected in (
            ([entry(READ, "t", host=OTHER)], {ONE: [NO_TOPIC], OTHER: []}),
            ([entry(READ, "t")], {ONE: [], OTHER: []}),
        ):
            broker.become(entry(READ, "t"))  # hosts are not known apart
            waiting = fetching(max_wait_ms=60_000, min_bytes=1)
            begun = [
                (host, broker.begin(waiting, 12, ALICE, host))
                for host in (ONE, OTHER, ONE, OTHER)
            ]
            answers = [
                (host, asyncio.ensure_future(broker.finish(each, waiting, 12)))
                for host, each in begun
            ]
            await asyncio.sleep(0)
            broker.become(*rules)
            assert await codes(broker, producing(), ROOT, version=9) == []
            for host, answer in answers:
                found = await answer
                assert codes_in(found) == expected[host]
                [topic] = found.responses
                assert bool(topic.partitions[0].records) is not expected[host]


async def test_what_one_may_not_see_looks_the_same_whether_it_is_there(
    tmp_path: Path,
) -> None:
    async with guarded_broker(tmp_path, "t") as broker:
        broker.become()
        names = [{"name": "t"}, {"name": "not-there"}]
        asking = request_of(ApiKey.METADATA, {"topics": names})
        there, missing = (await broker.ask(asking, 12)).topics
        for topic in (there, missing):
            assert topic.error_code == NO_TOPIC
            assert topic.topic_id == bytes(16)
            assert not topic.partitions
            assert not topic.is_internal
        root = await broker.ask(asking, 12, ROOT)
        topic_id = root.topics[0].topic_id
        ids = [{"name": None, "topic_id": each} for each in (topic_id, b"\1" * 16)]
        by_id = request_of(ApiKey.METADATA, {"topics": ids})
        denied, unknown = (await broker.ask(by_id, 12)).topics
        assert (denied.name, denied.error_code) == (None, NO_TOPIC)
        assert unknown.error_code == 100, "ids are no secret"
        deleting = request_of(
            ApiKey.DELETE_TOPICS, {"topics": [{"name": None, "topic_id": topic_id}]}
        )
        [refused] = (await broker.ask(deleting, 6)).responses
        assert (refused.name, refused.error_code) == (None, NO_TOPIC)
        broker.become(entry(DESCRIBE, "t"))
        [refused] = (await broker.ask(deleting, 6)).responses
        assert (refused.name, refused.error_code) == ("t", NO_TOPIC)
        broker.become(entry(DESCRIBE, "t"), entry(DESCRIBE, "nowhere"))
        names = [{"name": "t"}, {"name": "nowhere"}]
        both = request_of(ApiKey.DELETE_TOPICS, {"topics": names})
        there, missing = (await broker.ask(both, 6)).responses
        assert (there.error_code, there.topic_id) == (NO_TOPIC, bytes(16))
        assert missing.error_code == 3, "who may describe it may know"


async def test_operations_are_those_that_the_client_may_do(tmp_path: Path) -> None:
    """S020"""
    async with guarded_broker(tmp_path, "t") as broker:
        asking = request_of(
            ApiKey.METADATA,
            {
                "topics": [{"name": "t"}],
                "include_topic_authorized_operations": True,
                "include_cluster_authorized_operations": True,
            },
        )
        broker.become(entry(READ, "t"))
        answer = await broker.ask(asking, 10)
        assert answer.topics[0].topic_authorized_operations == 1 << READ | 1 << DESCRIBE
        assert answer.cluster_authorized_operations == 0, "it may not be described"
        cluster = ResourceType.CLUSTER
        broker.become(
            entry(Operation.ALTER, "kafka-cluster", kind=cluster),
            entry(Operation.ALL, "t"),
        )
        answer = await broker.ask(asking, 10)
        assert answer.topics[0].topic_authorized_operations == ALL_ON_TOPIC
        assert answer.cluster_authorized_operations == (
            1 << Operation.ALTER | 1 << DESCRIBE
        )
        describing = request_of(
            ApiKey.DESCRIBE_CLUSTER, {"include_cluster_authorized_operations": True}
        )
        answer = await broker.ask(describing, 1)
        assert answer.cluster_authorized_operations == (
            1 << Operation.ALTER | 1 << DESCRIBE
        )


async def test_denials_are_counted_and_filters_are_none(tmp_path: Path) -> None:
    async with guarded_broker(tmp_path, "t") as broker:
        broker.become()
        authorizer = broker.server.services.authorizer
        assert authorizer is not None
        everything = request_of(ApiKey.METADATA, {"topics": None})
        assert (await broker.ask(everything, 12)).topics == []
        assert authorizer.denials.count == 0
        assert await codes(broker, fetching(), ALICE) == [NO_TOPIC]
        assert authorizer.denials.count >= 1
