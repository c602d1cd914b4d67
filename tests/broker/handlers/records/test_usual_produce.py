"""The short way and the long one give the same answers, and leave the same logs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.broker.handlers.records import usual_produce
from odradek.broker.replica.waiting.awaited_appends import AwaitedAppend
from odradek.broker.requests import known_requests
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.replicas import batch_of
from tests.fakes.two_ways import LIMITS, TOPIC_ID, Way, two_ways

FIRST, LAST = usual_produce.FIRST_VERSION, ProduceRequest.max_version
VERSIONS = pytest.mark.parametrize("version", range(FIRST, LAST + 1))
SOUND = bytes(batch_of(b"v"))
IDEMPOTENT = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
TRANSACTIONAL: dict[str, Any] = {**IDEMPOTENT, "is_transactional": True}


def frame_of(
    version: int, asked: ProduceRequest, client_id: str | None = "client"
) -> bytes:
    """The request's frame, without its length."""
    for topic in asked.topic_data:
        topic.topic_id = TOPIC_ID if topic.name == "t" else bytes(15) + b"\1"
    return encode_request(asked, version, 77, client_id)[4:]


def request(
    *batches: tuple[str, int, Any], acks: int = -1, **fields: Any
) -> ProduceRequest:
    return ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(
                name=name,
                partition_data=[PartitionProduceData(index=index, records=records)],
            )
            for name, index, records in batches
        ],
        **fields,
    )


async def ask_both(
    ways: tuple[Way, Way],
    version: int,
    asked: ProduceRequest,
    connection: int = 0,
    **header: Any,
) -> bytes | str:
    """The answer that both give."""
    frame = frame_of(version, asked, **header)
    short, long = [await way.ask(frame, connection) for way in ways]
    assert short == long
    assert ways[0].mutes == ways[1].mutes
    assert [ways[0].log(index) for index in (0, 1)] == [
        ways[1].log(index) for index in (0, 1)
    ]
    return short


BATCHES = st.sampled_from(
    [
        bytes(batch_of(b"value")),
        bytes(batch_of(b"value" * 40, b"second")),
        bytes(batch_of(b"x" * 20_000)),
        bytes(batch_of(b"value"))[:-1],
        bytes(batch_of(b"value")) + b"x",
        bytes(batch_of(b"value"))[:20],
        bytes(batch_of(b"value"))[:-1] + b"\xff",
        bytes(batch_of(b"value", compression=4)),
        bytes(batch_of(b"value", **TRANSACTIONAL)),
        bytes(batch_of(b"more", **(TRANSACTIONAL | {"base_sequence": 1}))),
        bytes(batch_of(b"one", **IDEMPOTENT)),
        bytes(batch_of(b"two", **(IDEMPOTENT | {"base_sequence": 1}))),
        b"",
        None,
    ]
)
REQUESTS = st.builds(
    request,
    st.tuples(
        st.sampled_from(["t", "t", "t", "no"]), st.sampled_from([0, 1, 9]), BATCHES
    ),
    acks=st.sampled_from([-1, 1, 0, 7]),
    transactional_id=st.sampled_from([None, None, None, "id"]),
)
WIDE_REQUESTS = st.builds(
    request,
    st.tuples(st.just("t"), st.integers(0, 1), BATCHES),
    st.tuples(st.sampled_from(["t", "no"]), st.integers(0, 1), BATCHES),
)
CLIENT_IDS = st.sampled_from(["client", "c", "", None, "x" * 600, "__admin_client"])


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(
    st.integers(FIRST, LAST),
    st.lists(st.tuples(REQUESTS | WIDE_REQUESTS, CLIENT_IDS), min_size=2, max_size=8),
    st.sampled_from(["none", "commit"]),
    st.data(),
)
def test_both_ways_lead_to_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    version: int,
    asked: list[tuple[ProduceRequest, str | None]],
    durability: str,
    data: st.DataObject,
) -> None:
    async def compare() -> None:
        folder = tmp_path_factory.mktemp("ways")
        async with two_ways(folder, durability=durability) as ways:
            for each, client_id in asked:
                await ask_both(ways, version, each, client_id=client_id)
            each, client_id = asked[0]
            frame = frame_of(version, each, client_id)
            position = data.draw(st.integers(8, len(frame) - 1))
            byte = bytes([data.draw(st.integers(0, 255))])
            frame = frame[:position] + byte + frame[position + 1 :]
            assert await ways[0].ask(frame) == await ways[1].ask(frame)

    asyncio.run(compare())


STEPS = st.tuples(REQUESTS, st.sampled_from(["client", "c", None]), st.integers(0, 2))


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(
    st.integers(FIRST, LAST),
    st.lists(LIMITS | STEPS, min_size=4, max_size=12),
    st.sampled_from(["none", "commit"]),
)
def test_both_ways_lead_to_the_same_with_quotas(
    tmp_path_factory: pytest.TempPathFactory,
    version: int,
    steps: list[tuple[Any, ...]],
    durability: str,
) -> None:
    async def compare() -> None:
        folder = tmp_path_factory.mktemp("ways")
        async with two_ways(folder, durability=durability) as ways:
            for step in steps:
                if len(step) == 2:
                    for way in ways:
                        await way.limit(*step)
                    continue
                asked, client_id, connection = step
                for _ in range(3):
                    await ask_both(
                        ways, version, asked, connection, client_id=client_id
                    )

    asyncio.run(compare())


async def test_what_is_remembered_of_one_user_is_not_used_for_another(
    tmp_path: Path,
) -> None:
    asked = request(("t", 0, SOUND))
    async with two_ways(tmp_path) as ways:
        for _ in range(2):
            for connection in (0, 1, 2):
                await ask_both(ways, LAST, asked, connection)
        assert ways[0].short_count == 4  # each user's first one finds the route
        for way in ways:
            await way.limit({"user": "other"}, {"producer_byte_rate": "1"})
        for _ in range(3):
            for connection in (0, 1, 2):
                await ask_both(ways, LAST, asked, connection)
        assert ways[0].short_count == 4 + 7
        assert [index for index, _ in ways[0].mutes] == [2, 2, 2]


async def test_a_quota_holds_from_the_next_request_on(tmp_path: Path) -> None:
    asked = request(("t", 0, SOUND))
    async with two_ways(tmp_path) as ways:
        for quotas, count in (({}, 0), ({"producer_byte_rate": "1"}, 3), ({}, 3)):
            for way in ways:
                await way.limit({"client-id": "client"}, quotas)
            for _ in range(3):
                await ask_both(ways, LAST, asked)
            assert len(ways[0].mutes) == count
        assert ways[0].short_count == 6


async def test_clients_that_share_a_connection_have_their_own_quotas(
    tmp_path: Path,
) -> None:
    asked = request(("t", 0, SOUND))
    async with two_ways(tmp_path) as ways:
        for way in ways:
            await way.limit({"client-id": "c"}, {"producer_byte_rate": "1"})
        for _ in range(3):
            await ask_both(ways, LAST, asked, client_id="c")
            count = len(ways[0].mutes)
            for _ in range(3):  # the last one takes the short way
                await ask_both(ways, LAST, asked, client_id="free")
            assert len(ways[0].mutes) == count
        assert count == 3


@pytest.mark.parametrize("durability", ["none", "commit"])
@VERSIONS
async def test_the_usual_request_takes_the_short_way(
    tmp_path: Path, version: int, durability: str
) -> None:
    async with two_ways(tmp_path, durability=durability) as ways:
        for _ in range(3):
            await ask_both(ways, version, request(("t", 0, bytes(batch_of(b"v")))))
        assert ways[0].short_count == 3 - 1  # the first one finds the route
        assert ways[1].short_count == 0


async def test_acks_all_is_not_answered_before_the_sync_on_the_short_way(
    tmp_path: Path,
) -> None:
    frame = frame_of(LAST, request(("t", 0, SOUND)))
    async with two_ways(tmp_path, durability="commit") as ways:
        dispatcher, connection = ways[0].dispatcher, ways[0].connections[0]
        await ways[0].ask(frame)  # finds the route
        request_frame = memoryview(bytearray(frame))
        answer: Any = dispatcher.dispatch(connection, request_frame).answer
        assert isinstance(answer, AwaitedAppend)
        assert not answer.done()  # nothing was synced, as nobody has waited
        await ways[0].ask(frame)
        assert answer.done()
        assert ways[0].short_count == 1  # the last one


@pytest.mark.parametrize(
    "asked",
    [
        request(("t", 0, bytes(batch_of(b"v"))), acks=0),
        request(("t", 0, bytes(batch_of(b"v"))), ("t", 1, bytes(batch_of(b"v")))),
        request(("t", 0, bytes(batch_of(b"v"))), transactional_id="id"),
        request(("t", 0, None)),
    ],
)
async def test_what_is_unusual_takes_the_long_way(
    tmp_path: Path, asked: ProduceRequest
) -> None:
    async with two_ways(tmp_path) as ways:
        for _ in range(3):
            await ask_both(ways, LAST, asked)
        assert ways[0].short_count == 0


async def test_a_topic_that_was_made_anew_is_not_taken_for_the_old_one(
    tmp_path: Path,
) -> None:
    async with two_ways(tmp_path) as ways:
        way = ways[0]
        asked = request(("t", 0, bytes(batch_of(b"v"))))
        old = frame_of(LAST, asked)
        for _ in range(2):
            assert await way.ask(old) != "malformed"
        topic = way.broker.topics.known("t")
        await way.broker.topics.begin_deletions([topic.topic_id])
        await way.broker.manager.stop([TopicPartition("t", 0)])
        count = way.short_count
        answer = await way.ask(old)
        assert isinstance(answer, bytes)
        assert ErrorCode.UNKNOWN_TOPIC_ID.to_bytes(2, "big") in answer
        assert way.short_count == count


async def test_few_heads_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_requests, "KEPT_MAX", 3)
    asked = request(("t", 0, bytes(batch_of(b"v"))))
    async with two_ways(tmp_path) as ways:
        for place in range(20):
            await ask_both(ways, 9, asked, client_id=f"client-{place % 7}")
        learnt = usual_produce.UsualProduce._head_of
        calls: list[None] = []

        def counted(*arguments: Any) -> Any:
            calls.append(None)
            return learnt(*arguments)

        monkeypatch.setattr(usual_produce.UsualProduce, "_head_of", counted)
        for place in range(70):
            await ask_both(ways, 9, asked, client_id=f"client-{place % 7}")
        known = ways[0].connections[0].short_ways.by_api[bytes([0, 0, 0, 9])]
        assert known is not None
        assert len(known[1]._heads) <= 3  # type: ignore[attr-defined]
        assert 0 < len(calls) < 50
