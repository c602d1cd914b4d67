"""The short way and the long one give the same answers, and sessions end alike."""

import contextlib
import itertools
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers import load as load_handlers
from odradek.broker.handlers.groups.consumer_groups import UsualConsumerBeat
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.requests import known_requests
from odradek.broker.requests.context import ConnectionInfo
from odradek.broker.requests.dispatch import Dispatcher
from odradek.broker.requests.registry import registered_handlers
from odradek.broker.requests.short_ways import ShortWays
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest
from odradek.protocol.schema import RESPONSES, Request
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, replicas

SESSION_MS = 45_000
HOSTS = ("10.0.0.1", "10.0.0.2")


class Side:
    """A broker; one without short ways forgets them before each request."""

    def __init__(self, broker: Replicas, *, is_short: bool) -> None:
        self.broker = broker
        self.dispatcher = Dispatcher(broker.services, registered_handlers())
        self.short_count = 0
        self.connections = [ConnectionInfo(peer_host=host) for host in HOSTS]
        self._is_short = is_short

    async def ask(self, request: Request, version: int, connection: int) -> Any:
        if not self._is_short:
            self.dispatcher.short_ways.forget()
        frame = memoryview(bytearray(encode_request(request, version, 7, "c")[4:]))
        exchange = self.dispatcher.dispatch(self.connections[connection], frame)
        response_class = RESPONSES[int(request.api_key)]
        if isinstance(exchange, bytes):
            self.short_count += 1
            assert int.from_bytes(exchange[:4], "big") == len(exchange) - 4
            correlation_id, answer = decode_response(
                exchange[4:], response_class, version
            )
            assert correlation_id == 7
            return answer
        answer = exchange.answer
        if isinstance(answer, Parked):
            for _ in range(10):  # timers, disks and what follows them
                await self.broker.clock.tick()
                await self.broker.commit()
                if answer.done():
                    break
            answer = answer.result()
        return response_class.decode(answer.encode(version), version)


class Pair:
    """Two of them that are told the same."""

    def __init__(self, short: Side, long: Side) -> None:
        self.short, self.long = short, long
        self.sides = short, long

    async def ask(self, request: Request, version: int = 1, connection: int = 0) -> Any:
        """The answer that both give."""
        one, other = [
            await side.ask(request, version, connection) for side in self.sides
        ]
        assert one == other, request
        return one

    async def is_short(self, request: Request, version: int = 1, **on: Any) -> bool:
        before = self.short.short_count
        await self.ask(request, version, **on)
        return self.short.short_count > before

    async def advance(self, by_ms: int) -> None:
        for side in self.sides:
            side.broker.clock.advance(by_ms)
            await side.broker.commit()
            await side.broker.clock.tick()

    async def make_topic(self, name: str) -> None:
        for side in self.sides:
            await side.broker.create_topic(name)

    async def set_option(self, name: str, value: str) -> None:
        resource = Resource(ResourceKind.GROUP, "g")
        for side in self.sides:
            await side.broker.services.resources.alter(
                resource, lambda known: {**known, name: value}
            )


@pytest.fixture
async def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pair]:
    """With the topics t and u, and the same ids of topics."""
    load_handlers()
    made = itertools.count(2)
    monkeypatch.setattr(
        "odradek.broker.metadata.topics.random_uuid",
        lambda: (next(made) // 2).to_bytes(16, "big"),
    )
    async with contextlib.AsyncExitStack() as stack:
        sides = []
        for is_short in (True, False):
            folder = tmp_path / str(is_short)
            folder.mkdir()
            opened = replicas(folder, FakeFiles(), offsets_topic_num_partitions=3)
            broker = await stack.enter_async_context(opened)
            stack.push_async_callback(broker.services.groups.close)
            sides.append(Side(broker, is_short=is_short))
        both = Pair(*sides)
        for side in sides:
            await side.broker.services.groups.create_topic()
        for name in "tu":
            await both.make_topic(name)
        yield both
        for side in sides:
            assert not side.broker.bugs, side.broker.bugs


def consumer(member_id: str = "m", epoch: int = 0, **fields: Any) -> Request:
    if not epoch:
        fields.setdefault("subscribed_topic_names", ["t"])
        fields |= {"rebalance_timeout_ms": 5000, "topic_partitions": []}
    fields.setdefault("topic_partitions", None)
    return ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=member_id, member_epoch=epoch, **fields
    )


def share(member_id: str = "m", epoch: int = 0, **fields: Any) -> Request:
    if not epoch:
        fields.setdefault("subscribed_topic_names", ["t"])
    return ShareGroupHeartbeatRequest(
        group_id="g", member_id=member_id, member_epoch=epoch, **fields
    )


BOTH = pytest.mark.parametrize("beat", [consumer, share])


async def settled(pair: Pair, beat: Any, **fields: Any) -> Request:
    """The heartbeat of a member that is alone, known by its bytes."""
    joined = await pair.ask(beat(**fields))
    bare = beat(epoch=joined.member_epoch)
    await becomes_short(pair, bare)
    return bare


async def becomes_short(pair: Pair, request: Request, version: int = 1) -> None:
    """Topics are looked at, the bytes are learnt, and then they are known."""
    found = [await pair.is_short(request, version) for _ in range(3)]
    assert not found[0]
    assert found[-1]


@BOTH
async def test_a_session_goes_on_and_ends(pair: Pair, beat: Any) -> None:
    bare = await settled(pair, beat)
    for _ in range(3):
        await pair.advance(SESSION_MS - 1)
        assert await pair.is_short(bare)
    await pair.advance(SESSION_MS)
    answer = await pair.ask(bare)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


@BOTH
async def test_what_happens_to_the_group_is_told_by_the_long_way(
    pair: Pair, beat: Any
) -> None:
    bare = await settled(pair, beat)
    await pair.ask(beat("other"))
    assert not await pair.is_short(bare), "the group is in another epoch"
    await pair.advance(1000)
    answer = await pair.ask(bare)
    assert answer.member_epoch > bare.member_epoch  # type: ignore[attr-defined]


@BOTH
async def test_topics_are_looked_at_when_any_has_changed(pair: Pair, beat: Any) -> None:
    bare = await settled(pair, beat)
    await pair.make_topic("v")
    assert not await pair.is_short(bare)
    assert await pair.is_short(bare)


async def test_options_of_the_group_are_told_at_once(pair: Pair) -> None:
    bare = await settled(pair, consumer)
    await pair.set_option("consumer.heartbeat.interval.ms", "6000")
    await pair.set_option("consumer.session.timeout.ms", "50000")
    for _ in range(3):
        assert (await pair.ask(bare)).heartbeat_interval_ms == 6000
    await pair.advance(SESSION_MS + 1)
    assert await pair.is_short(bare)


async def test_a_switched_off_protocol_is_refused_at_once(pair: Pair) -> None:
    bare = await settled(pair, consumer)
    for side in pair.sides:
        await side.broker.services.features.update({"group.version": 0})
    for _ in range(3):
        answer = await pair.ask(bare)
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


@BOTH
async def test_from_another_host_the_member_is_described_anew(
    pair: Pair, beat: Any
) -> None:
    bare = await settled(pair, beat)
    assert not await pair.is_short(bare, connection=1)
    await pair.ask(bare, connection=1)
    assert not await pair.is_short(bare, connection=0), "it is at the other one now"


async def test_patterns_are_matched_again_when_it_is_time(pair: Pair) -> None:
    fields: dict[str, Any] = {"subscribed_topic_regex": "v.*"}
    joined = await pair.ask(consumer(subscribed_topic_names=None, **fields))
    await pair.advance(0)
    bare = consumer(epoch=joined.member_epoch)
    await becomes_short(pair, bare)
    await pair.make_topic("v1")
    await pair.advance(11_000)
    epoch = joined.member_epoch
    for _ in range(4):
        await pair.advance(1)
        epoch = (await pair.ask(consumer(epoch=epoch))).member_epoch
    assert epoch > joined.member_epoch


async def test_a_static_member_that_was_replaced_is_fenced(pair: Pair) -> None:
    joined = await pair.ask(consumer(instance_id="i"))
    epoch = joined.member_epoch
    bare = consumer(epoch=epoch, instance_id="i")
    await becomes_short(pair, bare)
    await pair.ask(consumer(epoch=-2, instance_id="i"))
    await pair.ask(consumer("m2", instance_id="i"))
    answer = await pair.ask(bare)
    assert answer.error_code == ErrorCode.FENCED_INSTANCE_ID


class TestClassic:
    async def test_a_session_goes_on_and_ends(self, pair: Pair) -> None:
        bare = await self.joined(pair, "i")
        await becomes_short(pair, bare, 4)
        for _ in range(3):
            await pair.advance(9999)
            assert await pair.is_short(bare, 4)
        await pair.advance(10_000)
        answer = await pair.ask(bare, 4)
        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID

    async def test_a_rebalance_is_told(self, pair: Pair) -> None:
        bare = await self.joined(pair, "i")
        await becomes_short(pair, bare, 4)
        for side in pair.sides:
            joining = side.dispatcher.dispatch(
                side.connections[0], frame_of(self.join("j"), 7)
            )
            assert not isinstance(joining, bytes)
            assert isinstance(joining.answer, Parked)
        for _ in range(2):
            answer = await pair.ask(bare, 4)
            assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS

    def join(self, instance: str) -> Request:
        return JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=5000,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"r")],
        )

    async def joined(self, pair: Pair, instance: str) -> Request:
        """The heartbeat of a static member, whose id is made to be the same."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "odradek.broker.coordinator.group.classic.join.random_uuid",
                lambda: bytes(16),
            )
            answer = await pair.ask(self.join(instance), 7)
        assert not answer.error_code, answer
        fields = {
            "group_id": "g",
            "generation_id": answer.generation_id,
            "member_id": answer.member_id,
            "group_instance_id": instance,
        }
        given = SyncGroupRequestAssignment(
            member_id=answer.member_id, assignment=b"all"
        )
        synced = await pair.ask(
            SyncGroupRequest(
                **fields,
                protocol_type="consumer",
                protocol_name="range",
                assignments=[given],
            ),
            5,
        )
        assert not synced.error_code
        return HeartbeatRequest(**fields)


def frame_of(request: Request, version: int) -> memoryview:
    return memoryview(bytearray(encode_request(request, version, 7, "c")[4:]))


@BOTH
async def test_whatever_three_members_do(pair: Pair, beat: Any) -> None:
    chance = random.Random(848)
    epochs = {"m1": 0, "m2": 0, "m3": 0}
    for step in range(400):
        member_id = chance.choice(list(epochs))
        match chance.choices(range(7), [60, 10, 4, 3, 3, 1, 1])[0]:
            case 0:
                asked = beat(member_id, epochs[member_id])
            case 1:
                await pair.advance(chance.choice([10, 1000, 20_000]))
                continue
            case 2:
                asked = beat(member_id, chance.randrange(1, 40))
            case 3:
                asked = beat(member_id, -1)
            case 4:
                topics = chance.choice([["t"], ["u"], ["t", "u"]])
                asked = beat(
                    member_id, epochs[member_id], subscribed_topic_names=topics
                )
            case 5:
                await pair.make_topic(f"new-{step}")
                continue
            case _:
                prefix = "consumer" if beat is consumer else "share"
                await pair.set_option(
                    f"{prefix}.heartbeat.interval.ms", str(5000 + step)
                )
                continue
        answer = await pair.ask(asked, connection=chance.choice([0, 0, 0, 0, 1]))
        is_out = answer.error_code or answer.member_epoch < 0
        epochs[member_id] = 0 if is_out else answer.member_epoch
    assert pair.short.short_count > 20
    assert not pair.long.short_count


async def test_what_is_too_long_or_no_request_is_left_alone(pair: Pair) -> None:
    way = UsualConsumerBeat(pair.short.broker.services, 1, ShortWays("ANONYMOUS"))
    bare = await settled(pair, consumer)
    connection = pair.short.connections[0]
    sound = bytes(frame_of(bare, 1))
    for frame in (sound[:-1], sound + b"\0" * 1024, sound[:9], sound[:12]):
        for _ in range(2):
            assert way(connection, memoryview(bytearray(frame))) is None
    assert not way._beats


async def test_members_that_are_gone_make_room(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_requests, "_LEARNT_BETWEEN", 2)
    await settled(pair, consumer)
    ways = pair.short.connections[0].short_ways
    (known,) = [
        way[1]._known  # type: ignore[attr-defined]
        for way in ways.by_api.values()
        if way is not None
    ]
    for number in range(10):
        joined = await pair.ask(consumer(f"m{number}"))
        await pair.advance(1000)
        epoch = (
            await pair.ask(consumer(f"m{number}", joined.member_epoch))
        ).member_epoch
        for _ in range(2):
            epoch = (await pair.ask(consumer(f"m{number}", epoch))).member_epoch
        await pair.ask(consumer(f"m{number}", -1))
    assert len(known.by_bytes) <= 4
