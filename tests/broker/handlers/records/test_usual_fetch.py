"""The short way and the long one give the same answers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.broker.handlers.records import usual_fetch
from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.replicas import batch_of, marker_of
from tests.fakes.two_ways import LIMITS, TOPIC_ID, Way, two_ways

FIRST, LAST = usual_fetch.FIRST_VERSION, FetchRequest.max_version
VERSIONS = pytest.mark.parametrize("version", range(FIRST, LAST + 1))
OPEN = {"producer_id": 7, "producer_epoch": 0, "is_transactional": True}


def frame_of(
    version: int, asked: FetchRequest, client_id: str | None = "client"
) -> bytes:
    """The request's frame, without its length."""
    for topic in asked.topics:
        topic.topic_id = TOPIC_ID if topic.topic == "t" else bytes(15) + b"\1"
    return encode_request(asked, version, 77, client_id)[4:]


def request(name: str = "t", index: int = 0, offset: int = 0, **fields: Any) -> Any:
    """A fetch of one partition; the partition's own fields by their names."""
    own = {"partition_max_bytes": 1 << 20}
    for field in (
        "partition_max_bytes",
        "current_leader_epoch",
        "last_fetched_epoch",
        "log_start_offset",
    ):
        if field in fields:
            own[field] = fields.pop(field)
    wanted = FetchPartition(partition=index, fetch_offset=offset, **own)
    fields.setdefault("min_bytes", 1)
    fields.setdefault("max_wait_ms", 0)
    return FetchRequest(topics=[FetchTopic(topic=name, partitions=[wanted])], **fields)


async def fill(way: Way) -> None:
    """Batches in partition 0; an aborted and an open transaction in partition 1."""
    appends = way.broker.manager.append_records
    for size in (1, 300, 5000):
        appends({TopicPartition("t", 0): batch_of(b"v" * size)}, acks=1, timeout_ms=1)
    t1 = TopicPartition("t", 1)
    for sequence in (0, 1):
        batch = batch_of(b"v", base_sequence=sequence, **OPEN)
        appends({t1: batch}, acks=1, timeout_ms=1)
        if not sequence:
            appends(
                {t1: marker_of(7, commits=False)},
                acks=1,
                timeout_ms=1,
                terms=OF_A_COORDINATOR,
            )
    await way.broker.commit()


async def ask_both(
    ways: tuple[Way, Way],
    version: int,
    asked: FetchRequest,
    connection: int = 0,
    **header: Any,
) -> bytes | str:
    """The answer that both give."""
    frame = frame_of(version, asked, **header)
    short, long = [await way.ask(frame, connection) for way in ways]
    assert short == long
    assert ways[0].mutes == ways[1].mutes
    return short


SIZES = st.sampled_from([0, 1, 70, 400, 1 << 20])
REQUESTS = st.builds(
    request,
    name=st.sampled_from(["t", "t", "t", "no"]),
    index=st.sampled_from([0, 0, 1, 1, 9]),
    offset=st.integers(-1, 5),
    partition_max_bytes=SIZES | st.just(-1),
    max_bytes=SIZES,
    min_bytes=SIZES,
    max_wait_ms=st.sampled_from([0, 500]),
    isolation_level=st.sampled_from([0, 1, 1, 9]),
    current_leader_epoch=st.sampled_from([-1, -1, 0, 9]),
    last_fetched_epoch=st.sampled_from([-1, -1, 0]),
    log_start_offset=st.sampled_from([-1, 3]),
    rack_id=st.sampled_from(["", "rack"]),
    replica_state=st.just(ReplicaState()) | st.just(ReplicaState(replica_id=4)),
)
CLIENT_IDS = st.sampled_from(["client", "c", "", None, "x" * 600])


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(
    st.integers(FIRST, LAST),
    st.lists(st.tuples(REQUESTS, CLIENT_IDS), min_size=2, max_size=6),
    st.data(),
)
def test_both_ways_give_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    version: int,
    asked: list[tuple[FetchRequest, str | None]],
    data: st.DataObject,
) -> None:
    async def compare() -> None:
        async with two_ways(tmp_path_factory.mktemp("ways")) as ways:
            for way in ways:
                await fill(way)
            for each, client_id in asked:
                for offset in (0, 2):
                    each.topics[0].partitions[0].fetch_offset += offset
                    await ask_both(ways, version, each, client_id=client_id)
            frame = frame_of(version, *asked[0])
            position = data.draw(st.integers(8, len(frame) - 1))
            byte = bytes([data.draw(st.integers(0, 255))])
            mutated = frame[:position] + byte + frame[position + 1 :]
            assert await ways[0].ask(mutated) == await ways[1].ask(mutated)

    asyncio.run(compare())


STEPS = st.tuples(REQUESTS, st.sampled_from(["client", "c", None]), st.integers(0, 2))


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(st.integers(FIRST, LAST), st.lists(LIMITS | STEPS, min_size=4, max_size=12))
def test_both_ways_give_the_same_with_quotas(
    tmp_path_factory: pytest.TempPathFactory, version: int, steps: list[tuple[Any, ...]]
) -> None:
    async def compare() -> None:
        async with two_ways(tmp_path_factory.mktemp("ways")) as ways:
            for way in ways:
                await fill(way)
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


async def test_who_has_a_quota_is_sent_what_its_windows_hold(tmp_path: Path) -> None:
    async with two_ways(tmp_path) as ways:
        for way in ways:
            await fill(way)
            await way.limit({"user": "other"}, {"consumer_byte_rate": "10"})
        for _ in range(3):
            whole = await ask_both(ways, LAST, request(), 0)
            less = await ask_both(ways, LAST, request(), 2)
            assert len(less) < 200 < 5000 < len(whole)
        assert ways[0].short_count == 2 * (3 - 1)
        assert [index for index, _ in ways[0].mutes] == [2, 2, 2]


async def test_a_limit_that_changes_holds_for_what_is_known(tmp_path: Path) -> None:
    async with two_ways(tmp_path) as ways:
        for way in ways:
            await fill(way)
        for _ in range(2):
            assert len(await ask_both(ways, LAST, request())) > 5000
        for way in ways:
            way.broker.services.live.change({"fetch.max.bytes": "1024"}, {})
        for _ in range(3):
            assert len(await ask_both(ways, LAST, request())) < 2000
        assert ways[0].short_count == 1 + 2


@VERSIONS
@pytest.mark.parametrize("isolation_level", [0, 1])
async def test_the_usual_request_takes_the_short_way(
    tmp_path: Path, version: int, isolation_level: int
) -> None:
    async with two_ways(tmp_path) as ways:
        for way in ways:
            await fill(way)
        for offset in range(3):
            asked = request(offset=offset, isolation_level=isolation_level)
            answer = await ask_both(ways, version, asked)
            assert len(answer) > 5000
        assert ways[0].short_count == 3 - 1  # the first one finds the route
        assert ways[1].short_count == 0


@pytest.mark.parametrize(
    "asked",
    [
        request(session_epoch=0),
        request(replica_state=ReplicaState(replica_id=3)),
        request(last_fetched_epoch=0),
        request(isolation_level=7),
        request(
            forgotten_topics_data=[ForgottenTopic(topic_id=TOPIC_ID, partitions=[1])]
        ),
        FetchRequest(),
    ],
)
async def test_what_is_unusual_takes_the_long_way(
    tmp_path: Path, asked: FetchRequest
) -> None:
    async with two_ways(tmp_path) as ways:
        for _ in range(3):
            await ways[0].ask(frame_of(LAST, asked))
        assert ways[0].short_count == 0


async def test_it_waits_for_records_as_any_fetch(tmp_path: Path) -> None:
    async with two_ways(tmp_path) as ways:
        for way in ways:
            await fill(way)
        asked = request(offset=3, max_wait_ms=500)
        for _ in range(2):
            await ask_both(ways, LAST, asked)
        assert ways[0].short_count == 1
        way = ways[0]
        task = asyncio.create_task(way.ask(frame_of(LAST, asked)))
        batch = batch_of(b"new")
        way.broker.manager.append_records(
            {TopicPartition("t", 0): batch}, acks=1, timeout_ms=1
        )
        answer = await task
        assert isinstance(answer, bytes)
        assert bytes(batch) in answer


async def test_a_topic_that_is_gone_is_not_answered_for(tmp_path: Path) -> None:
    async with two_ways(tmp_path) as ways:
        way = ways[0]
        await fill(way)
        frame = frame_of(LAST, request())
        for _ in range(2):
            await way.ask(frame)
        await way.broker.topics.begin_deletions([TOPIC_ID])
        await way.broker.manager.stop([TopicPartition("t", 0)])
        count = way.short_count
        answer = await way.ask(frame)
        assert isinstance(answer, bytes)
        assert ErrorCode.UNKNOWN_TOPIC_ID.to_bytes(2, "big") in answer
        assert way.short_count == count


async def test_what_clients_get_is_counted(tmp_path: Path) -> None:
    async with two_ways(tmp_path) as ways:
        for way in ways:
            await fill(way)
            log = way.broker.log_of(TopicPartition("t", 0))
            for _ in range(2):
                await way.ask(frame_of(LAST, request()))
            size = len(log.read(0, 1 << 20, FetchIsolation.HIGH_WATERMARK).records)
            assert log.fetched_bytes == 2 * size
