"""Commits on the short way and on the long one: the same answers, logs and offsets."""

import asyncio
import errno
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from odradek.broker.handlers.groups import usual_commit
from odradek.broker.handlers.groups.offset_commit import FIRST_VERSION_WITH_TOPIC_IDS
from odradek.broker.metadata.topic_names import CONSUMER_OFFSETS
from odradek.broker.replica.waiting.awaited_appends import AwaitedAppend
from odradek.broker.requests import known_requests
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.short_ways import ShortWays
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import (
    decode_request_header,
    decode_response,
    encode_request,
)
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.groups import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.recorded import recorded
from tests.fakes.replicas import replicas
from tests.fakes.two_ways import LIMITS, Way, two_ways

FIRST, LAST = usual_commit.FIRST_VERSION, OffsetCommitRequest.max_version
VERSIONS = pytest.mark.parametrize("version", range(FIRST, LAST + 1))
OTHER_ID = bytes(15) + b"\1"
Ways = tuple[Way, Way]


@asynccontextmanager
async def ways_of(folder: Path, **options: Any) -> AsyncIterator[Ways]:
    """Two brokers with ``t`` of two partitions, ``u`` of one, and groups."""
    options |= {
        "offsets_topic_num_partitions": 1,
        "group_initial_rebalance_delay_ms": 0,
    }
    async with two_ways(folder, **options) as ways:
        for way in ways:
            patch = pytest.MonkeyPatch()
            target = "odradek.broker.metadata.topics.random_uuid"
            numbers = itertools.count(2)
            patch.setattr(target, lambda at=numbers: bytes(15) + bytes([next(at)]))
            await way.broker.create_topic("u", 1)
            await way.broker.services.groups.create_topic()
            patch.undo()
        yield ways
        for way in ways:
            await way.broker.services.groups.close()
            assert not way.broker.bugs, way.broker.bugs


def request(
    *partitions: tuple[str, int, int, int, str | None],
    group_id: str = "g",
    epoch: int = -1,
    member_id: str = "",
    **fields: Any,
) -> OffsetCommitRequest:
    """``partitions`` are topic, index, offset, leader epoch and metadata."""
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=epoch,
        member_id=member_id,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=leader_epoch,
                        committed_metadata=metadata,
                    )
                    for _, index, offset, leader_epoch, metadata in some
                ],
            )
            for topic, some in itertools.groupby(partitions, lambda each: each[0])
        ],
        **fields,
    )


def frame_of(
    way: Way, version: int, asked: OffsetCommitRequest, client_id: str | None = "client"
) -> bytes:
    """The request's frame, without its length."""
    for topic in asked.topics:
        known = way.broker.topics.get(topic.name)
        topic.topic_id = OTHER_ID if known is None else known.topic_id
    if version < 6:
        for each in itertools.chain(*(topic.partitions for topic in asked.topics)):
            each.committed_leader_epoch = -1
    return encode_request(asked, version, 77, client_id)[4:]


def offsets(way: Way, group_id: str = "g") -> dict[tuple[str, int], Any]:
    (shard,) = way.broker.services.groups.runtime.shards()
    return shard.state.offsets.of_group(group_id)


async def ask_both(
    ways: Ways,
    version: int,
    asked: OffsetCommitRequest,
    connection: int = 0,
    client_id: str | None = "client",
) -> bytes | str:
    """The answer that both give."""
    short, long = [
        await way.ask(frame_of(way, version, asked, client_id), connection)
        for way in ways
    ]
    assert short == long
    assert ways[0].mutes == ways[1].mutes
    assert ways[0].log(0, CONSUMER_OFFSETS) == ways[1].log(0, CONSUMER_OFFSETS)
    assert offsets(ways[0], asked.group_id) == offsets(ways[1], asked.group_id)
    return short


def codes(version: int, answer: bytes | str) -> list[int]:
    assert isinstance(answer, bytes)
    _, response = decode_response(answer[4:], OffsetCommitResponse, version)
    return [each.error_code for topic in response.topics for each in topic.partitions]


PARTITIONS = st.tuples(
    st.sampled_from(["t", "t", "t", "u", "no"]),
    st.sampled_from([0, 0, 1, 9, -1]),
    st.sampled_from([0, 1, 7, (1 << 63) - 1, -1]),
    st.sampled_from([-1, -1, 0, 5]),
    st.sampled_from(["", "", "", "", None, "a note", "x" * 5000]),
)
USUAL = st.tuples(
    st.sampled_from(["t", "u"]), st.just(0), st.integers(0, 9), st.just(-1), st.just("")
)
REQUESTS = st.builds(
    lambda some, **fields: request(*sorted(some, key=lambda each: each[0]), **fields),
    st.lists(USUAL, max_size=3) | st.lists(PARTITIONS, max_size=4),
    group_id=st.sampled_from(["g", "g", "consumers", "other", ""]),
    epoch=st.sampled_from([-1, -1, 0, 1, 2, 99]),
    member_id=st.sampled_from(["", "", "m", "stranger"]),
    group_instance_id=st.sampled_from([None, None, None, "static"]),
    retention_time_ms=st.sampled_from([-1, -1, 5000]),
)
CLIENT_IDS = st.sampled_from(["client", "c", "", None, "x" * 5000])


async def join_consumers(ways: Ways) -> None:
    """The member ``m`` of a group whose partitions the broker assigns."""
    joining = ConsumerGroupHeartbeatRequest(
        group_id="consumers",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    for way in ways:
        await way.ask(encode_request(joining, 1, 1, "client")[4:])


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    st.integers(FIRST, LAST),
    st.lists(
        LIMITS | st.tuples(REQUESTS, CLIENT_IDS, st.integers(0, 2)),
        min_size=2,
        max_size=8,
    ),
    st.sampled_from(["none", "commit"]),
    st.data(),
)
def test_both_ways_lead_to_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    version: int,
    steps: list[tuple[Any, ...]],
    durability: str,
    data: st.DataObject,
) -> None:
    async def compare() -> None:
        folder = tmp_path_factory.mktemp("ways")
        async with ways_of(folder, durability=durability) as ways:
            await join_consumers(ways)
            for step in steps:
                if len(step) == 2:
                    for way in ways:
                        await way.limit(*step)
                    continue
                asked, client_id, connection = step
                for _ in range(3):
                    await ask_both(ways, version, asked, connection, client_id)
                frame = frame_of(ways[0], version, asked, client_id)
                position = data.draw(st.integers(8, len(frame) - 1))
                byte = bytes([data.draw(st.integers(0, 255))])
                frame = frame[:position] + byte + frame[position + 1 :]
                assert await ways[0].ask(frame) == await ways[1].ask(frame)

    asyncio.run(compare())


@pytest.mark.parametrize("durability", ["none", "commit"])
@VERSIONS
async def test_the_usual_request_takes_the_short_way(
    tmp_path: Path, version: int, durability: str
) -> None:
    async with ways_of(tmp_path, durability=durability) as ways:
        for offset in (1, 2, 3, 1 << 40):
            usual = [("t", 0, offset, -1, ""), ("t", 1, offset + 1, 3, "")]
            answer = await ask_both(ways, version, request(*usual, ("u", 0, 5, -1, "")))
            assert codes(version, answer) == [0, 0, 0]
        # The first one finds the route, the second is learnt.
        assert ways[0].short_count == 4 - 2
        assert ways[1].short_count == 0
        assert [each.offset for each in offsets(ways[0]).values()] == [
            1 << 40,
            (1 << 40) + 1,
            5,
        ]


async def test_it_is_not_answered_before_the_sync(tmp_path: Path) -> None:
    async with ways_of(tmp_path, durability="commit") as ways:
        way = ways[0]
        frame = frame_of(way, LAST, request(("t", 0, 1, -1, "")))
        for _ in range(2):
            await way.ask(frame)
        asked = memoryview(bytearray(frame))
        answer: Any = way.dispatcher.dispatch(way.connections[0], asked).answer
        assert isinstance(answer, AwaitedAppend)
        assert not answer.done()
        await way.ask(frame)
        assert answer.done()


async def test_members_are_known_and_stay_alive(tmp_path: Path) -> None:
    async with ways_of(tmp_path) as ways:
        for way in ways:
            await join_classic(way)
        for _ in range(4):
            for way in ways:
                way.broker.clock.advance(4000)  # of six
            asked = request(("t", 0, 1, -1, ""), epoch=1, member_id=MEMBER)
            assert codes(LAST, await ask_both(ways, LAST, asked)) == [0]
        assert ways[0].short_count >= 2
        asked = request(("t", 0, 1, -1, ""), epoch=0, member_id=MEMBER)
        for _ in range(3):
            (code,) = codes(LAST, await ask_both(ways, LAST, asked))
            assert code == ErrorCode.ILLEGAL_GENERATION
        for way in ways:
            way.broker.clock.advance(7000)
        asked = request(("t", 0, 1, -1, ""), epoch=1, member_id=MEMBER)
        (code,) = codes(LAST, await ask_both(ways, LAST, asked))
        assert code == ErrorCode.UNKNOWN_MEMBER_ID


MEMBER = "client-00000000-0000-0000-0000-000000000007"


async def join_classic(way: Way) -> None:
    """A member of the group ``g``, in its first generation."""
    with pytest.MonkeyPatch.context() as patch:
        target = "odradek.broker.coordinator.group.classic.join.random_uuid"
        patch.setattr(target, lambda: bytes(15) + b"\7")
        joining = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=6000,
            rebalance_timeout_ms=6000,
            member_id="",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        await send(way, encode_request(joining, 3, 1, "client")[4:])
    assignment = SyncGroupRequestAssignment(member_id=MEMBER, assignment=b"all")
    syncing = SyncGroupRequest(
        group_id="g", generation_id=1, member_id=MEMBER, assignments=[assignment]
    )
    await way.ask(encode_request(syncing, 3, 1, "client")[4:])


async def send(way: Way, frame: bytes) -> None:
    """Let it be done, however long the answer takes."""
    way.dispatcher.dispatch(way.connections[0], memoryview(bytearray(frame)))
    way.broker.clock.advance(1)
    await way.broker.commit()


async def test_a_topic_that_was_made_anew_is_not_taken_for_the_old_one(
    tmp_path: Path,
) -> None:
    async with ways_of(tmp_path) as ways:
        way = ways[0]
        frame = frame_of(way, 9, request(("t", 0, 1, -1, "")))
        for _ in range(3):
            await way.ask(frame)
        count = way.short_count
        topic = way.broker.topics.known("t")
        await way.broker.topics.begin_deletions([topic.topic_id])
        await way.broker.manager.stop([TopicPartition("t", 0)])
        unknown = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert codes(9, await way.ask(frame)) == unknown
        assert way.short_count == count
        known = way.connections[0].short_ways.by_api[bytes([0, 8, 0, 9])]
        assert known is not None
        assert not known[1]._heads  # type: ignore[attr-defined]


async def test_a_full_disk_is_told_and_forgotten(tmp_path: Path) -> None:
    async with ways_of(tmp_path) as ways:
        usual = request(("t", 0, 1, -1, ""))
        for _ in range(3):
            await ask_both(ways, LAST, usual)
        for nth in (1, 2):  # the short way leaves it to the long one
            ways[0].broker.files.fail("append", nth=nth, error=errno.ENOSPC)
        full, free = request(("t", 0, 9, -1, "")), request(("t", 0, 8, -1, ""))
        assert codes(LAST, await ways[0].ask(frame_of(ways[0], LAST, full))) == [15]
        assert [each.offset for each in offsets(ways[0]).values()] == [1]
        ways[0].broker.files.heal()
        assert codes(LAST, await ways[0].ask(frame_of(ways[0], LAST, free))) == [0]
        assert [each.offset for each in offsets(ways[0]).values()] == [8]


async def test_few_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_requests, "KEPT_MAX", 3)
    async with ways_of(tmp_path) as ways:
        for place in range(60):
            usual = request(("t", 0, place, -1, ""), group_id=f"g{place // 3 % 7}")
            await ask_both(ways, LAST, usual)
        known = ways[0].connections[0].short_ways.by_api[bytes([0, 8, 0, LAST])]
        assert known is not None
        assert len(known[1]._heads) <= 3  # type: ignore[attr-defined]
        assert ways[0].short_count > 0


async def test_what_clients_commit_is_usual(tmp_path: Path) -> None:
    known = Counter[str]()
    async with replicas(tmp_path) as broker:
        services, connection = broker.services, ConnectionInfo()
        for client, version, frame in recorded(ApiKey.OFFSET_COMMIT):
            _, position = decode_request_header(frame)
            asked, _ = decoder(OffsetCommitRequest, version)(frame, position)
            for topic in asked.topics:
                with pytest.MonkeyPatch.context() as patch:
                    if services.metadata.by_id(topic.topic_id) is None:
                        name, chosen = topic.name, topic.topic_id
                        if version >= FIRST_VERSION_WITH_TOPIC_IDS:
                            name = f"by-id-{chosen.hex()}"
                            target = "odradek.broker.metadata.topics.random_uuid"
                            patch.setattr(target, lambda it=chosen: it)
                        if services.metadata.get(name) is None:
                            await broker.create_topic(name, 12)
            short = usual_commit.UsualCommit(services, version, ShortWays(""))
            assert short(connection, frame) is None, "it is learnt"
            known[client] += len(short._heads)
    assert known == {
        "aiokafka": 1,
        "franz-go": 1,
        "java-clients": 2,
        "kafka-python": 1,
        "librdkafka": 1,
    }


async def test_a_note_that_is_too_long_is_refused_each_time(tmp_path: Path) -> None:
    async with ways_of(tmp_path, offset_metadata_max_bytes=4) as ways:
        for note in ["1234", "12345"] * 3:
            answer = await ask_both(ways, LAST, request(("t", 0, 7, -1, note)))
            too_long = ErrorCode.OFFSET_METADATA_TOO_LARGE
            assert codes(LAST, answer) == [too_long if len(note) > 4 else 0]
        assert ways[0].short_count
