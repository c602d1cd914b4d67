"""Where share groups are: told, moved and forgotten by administrators."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from odradek.broker.coordinator.share.state import (
    NO_EPOCH,
    ShareKey,
    StateBatch,
    StateUpdate,
)
from odradek.broker.handlers.groups import share_offsets
from odradek.broker.handlers.groups.share_groups import handle_share_group_heartbeat
from odradek.broker.runtime.parked import Parked
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import ClusterAuthorizationFailed, CoordinatorNotAvailable
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest
from odradek.protocol.messages.share_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import ZERO_UUID
from tests.fakes.access import entry, fake_authorizer
from tests.fakes.replicas import Replicas, batch_of, replicas
from tests.patience import PATIENCE_S

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
Places = list[tuple[int, int, int, int]]


class Client:
    """Answers are decoded from their bytes."""

    def __init__(self, broker: Replicas) -> None:
        self.broker = broker
        self.states = broker.services.share_states

    async def told(self, handle: Any, request: Any, version: int = 0) -> Any:
        answer = handle(self.broker.context(version), request)
        if isinstance(answer, Parked):
            answer = _of(answer)
        if inspect.isawaitable(answer):
            task = asyncio.ensure_future(answer)
            async with asyncio.timeout(PATIENCE_S):
                while not task.done():
                    await self.broker.clock.tick()
                    await self.broker.commit()
            answer = task.result()
        data = memoryview(answer.encode(version))
        return decoder(type(answer), version)(data, 0)[0]

    def topic_id(self, name: str = "t") -> bytes:
        return self.broker.topics.known(name).topic_id

    async def write(self, place: TopicPartition, count: int) -> None:
        entries = {place: batch_of(*[b"v"] * count)}
        answer = self.broker.manager.append_records(entries, acks=-1, timeout_ms=1000)
        await self.broker.commit()
        assert not (await answer)[place].error_code

    async def done(self, place: TopicPartition, start: int, *done: int) -> None:
        """The group begins there now, and has finished these behind it."""
        key = ShareKey("g", self.topic_id(place.topic), place.partition)
        batches = tuple(StateBatch(offset, offset, 2, 1) for offset in done)
        answer = self.states.write(key, StateUpdate(NO_EPOCH, NO_EPOCH, start, batches))
        assert isinstance(answer, Parked)
        await self.broker.commit()
        assert answer.result() is None

    async def join(self, *, epoch: int = 0) -> None:
        request = ShareGroupHeartbeatRequest(
            group_id="g",
            member_id="m",
            member_epoch=epoch,
            subscribed_topic_names=["t"],
        )
        answer = await self.told(handle_share_group_heartbeat, request, 1)
        assert not answer.error_code

    async def move(self, *places: tuple[str, int, int], group: str = "g") -> Any:
        """Each with its topic, partition and offset."""
        topics = [
            AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(
                        partition_index=number, start_offset=offset
                    )
                ],
            )
            for name, number, offset in places
        ]
        request = AlterShareGroupOffsetsRequest(group_id=group, topics=topics)
        return await self.told(share_offsets.handle_alter_share_group_offsets, request)

    async def describe(
        self, *topics: tuple[str, list[int]], group: str = "g", version: int = 1
    ) -> Any:
        """Of all topics, if none are named."""
        wanted = [
            DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=numbers)
            for name, numbers in topics
        ]
        asked = DescribeShareGroupOffsetsRequestGroup(
            group_id=group, topics=wanted or None
        )
        request = DescribeShareGroupOffsetsRequest(groups=[asked])
        handle = share_offsets.handle_describe_share_group_offsets
        (answer,) = (await self.told(handle, request, version)).groups
        return answer

    async def places(self, *topics: tuple[str, list[int]]) -> dict[str, Places]:
        """Partition, start, lag and error, by topic."""
        answer = await self.describe(*topics)
        assert not answer.error_code
        return {
            topic.topic_name: [
                (each.partition_index, each.start_offset, each.lag, each.error_code)
                for each in topic.partitions
            ]
            for topic in answer.topics
        }

    async def forget(self, *names: str, group: str = "g") -> Any:
        topics = [
            DeleteShareGroupOffsetsRequestTopic(topic_name=each) for each in names
        ]
        request = DeleteShareGroupOffsetsRequest(group_id=group, topics=topics)
        return await self.told(share_offsets.handle_delete_share_group_offsets, request)


async def _of(answer: Parked) -> Any:
    return await answer


def codes(answer: Any) -> list[int]:
    return [each.error_code for topic in answer.responses for each in topic.partitions]


@asynccontextmanager
async def client(directory: Path) -> AsyncIterator[Client]:
    """A broker with topics t (2 partitions) and u."""
    async with replicas(directory) as broker:
        await broker.create_topic("t", 2)
        await broker.create_topic("u")
        await broker.services.groups.create_topic()
        broker.services.groups.load_all()
        yield Client(broker)
        await broker.services.share_states.close()
        await broker.services.groups.close()


async def test_a_group_is_made_where_it_shall_begin(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.write(T0, 6)
        moved = await it.move(("t", 0, 4), ("t", 1, 0))
        assert (moved.error_code, codes(moved)) == (0, [0, 0])
        assert {each.topic_id for each in moved.responses} == {it.topic_id()}
        assert await it.places() == {"t": [(0, 4, 2, 0), (1, 0, 0, 0)]}


async def test_what_is_done_behind_the_start_is_no_lag(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.write(T0, 6)
        await it.move(("t", 0, 0))
        await it.done(T0, 1, 3, 4)
        assert await it.places() == {"t": [(0, 1, 3, 0)]}
        answer = await it.describe(version=0)
        assert answer.topics[0].partitions[0].start_offset == 1
        await it.done(T0, 9)
        assert await it.places() == {"t": [(0, 9, 0, 0)]}, "past the end"


async def test_what_is_not_there_has_no_place(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.move(("t", 0, 0))
        asked = ("u", [0]), ("no", [0, 7]), ("t", [1, 0, 9])
        assert await it.places(*asked) == {
            "u": [(0, -1, -1, 0)],
            "no": [(0, -1, -1, 0), (7, -1, -1, 0)],
            "t": [(1, -1, -1, 0), (0, 0, 0, 0), (9, -1, -1, 3)],
        }
        answer = await it.describe(*asked)
        ids = [each.topic_id for each in answer.topics]
        assert ids == [it.topic_id("u"), ZERO_UUID, it.topic_id()]
        none = await it.describe(group="none")
        assert (none.error_code, none.topics) == (0, [])
        await it.broker.topics.begin_deletions([it.topic_id()])
        assert await it.places() == {}


async def test_what_cannot_be_moved_says_so(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        moved = await it.move(
            ("t", 0, 4), ("t", 8, 0), ("no", 0, 0), ("t", 1, -1), ("t", -1, 0)
        )
        assert codes(moved) == [0, 3, 3, 42, 3]
        assert moved.responses[2].topic_id == ZERO_UUID
        assert "-1 is no offset" in moved.responses[3].partitions[0].error_message
        assert await it.places() == {"t": [(0, 4, 0, 0)]}


async def test_nothing_is_done_where_nothing_can_be(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        assert codes(await it.move(("no", 0, 4))) == [3]
        (forgotten,) = (await it.forget("no")).responses
        assert forgotten.error_code == 3
        assert not it.broker.services.groups.shares.states("g", str).initialized


async def test_nobody_is_moved_under_its_members(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.join()
        assert await it.places() == {"t": [(0, -1, -1, 0), (1, -1, -1, 0)]}
        moved = await it.move(("t", 0, 4))
        assert (moved.error_code, moved.responses) == (68, [])
        assert moved.error_message == "The group is not empty."
        forgotten = await it.forget("t")
        assert (forgotten.error_code, forgotten.responses) == (68, [])
        await it.join(epoch=-1)
        assert codes(await it.move(("t", 0, 4))) == [0]
        assert await it.places() == {"t": [(0, 4, 0, 0), (1, -1, -1, 0)]}


async def test_who_has_it_in_memory_is_told(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.move(("t", 0, 4))
        told: list[ShareKey] = []
        it.states.watchers.append(told.append)
        await it.move(("t", 0, 2))
        await it.forget("t")
        assert told == [ShareKey("g", it.topic_id(), 0)] * 2


async def test_places_are_forgotten(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.move(("t", 0, 4), ("t", 1, 4))
        forgotten = await it.forget("t", "u", "no")
        assert [
            (each.topic_name, each.topic_id, each.error_code)
            for each in forgotten.responses
        ] == [("t", it.topic_id(), 0), ("u", ZERO_UUID, 3), ("no", ZERO_UUID, 3)]
        assert await it.places() == {}
        again = await it.forget("t")
        assert [each.error_code for each in again.responses] == [3]
        assert codes(await it.move(("t", 0, 1))) == [0]
        assert await it.places() == {"t": [(0, 1, 0, 0)]}


async def test_a_group_that_is_not_there(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        assert (await it.forget("t", group="none")).error_code == 69
        for answer in (
            await it.describe(group=""),
            await it.move(("t", 0, 0), group=""),
            await it.forget("t", group=""),
        ):
            assert answer.error_code == 24


async def test_where_share_groups_are_off(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.broker.services.features.update({"share.version": 0})
        for answer in (
            await it.describe(),
            await it.move(("t", 0, 0)),
            await it.forget("t"),
        ):
            assert answer.error_code == 35
            assert "share.version" in answer.error_message


async def test_topics_that_the_client_may_not_see(tmp_path: Path) -> None:
    who = "User:ANONYMOUS"
    group = entry(Operation.ALL, "g", kind=ResourceType.GROUP, principal=who)
    topic = entry(Operation.READ, "t", principal=who)
    async with client(tmp_path) as it:
        await it.move(("t", 0, 0), ("u", 0, 0))
        services = it.broker.services
        services.authorizer, _ = fake_authorizer(group, topic)
        assert list(await it.places()) == ["t"]
        named = await it.places(("u", [0]), ("t", [0]))
        assert named == {"u": [(0, -1, -1, 29)], "t": [(0, 0, 0, 0)]}
        assert codes(await it.move(("u", 0, 0), ("t", 0, 5))) == [29, 0]
        forgotten = await it.forget("u", "t")
        assert [each.error_code for each in forgotten.responses] == [29, 0]


async def test_what_the_share_coordinator_refuses_is_told(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.move(("t", 0, 0))
        shard = it.states.runtime.shard(
            it.states.partition_of(ShareKey("g", it.topic_id(), 0)).partition
        )
        shard.fail(CoordinatorNotAvailable())
        assert await it.places() == {"t": [(0, -1, -1, 15)]}
        assert codes(await it.move(("t", 0, 5))) == [15]
        forgotten = await it.forget("t")
        assert [each.error_code for each in forgotten.responses] == [15]


def test_a_refusal_of_all_is_told_for_each_group() -> None:
    groups = [
        DescribeShareGroupOffsetsRequestGroup(group_id=each, topics=None)
        for each in ("g", "h")
    ]
    request = DescribeShareGroupOffsetsRequest(groups=groups)
    answer = share_offsets.refuse_describe_share_group_offsets(
        request, ClusterAuthorizationFailed()
    )
    assert [(each.group_id, each.error_code) for each in answer.groups] == [
        ("g", 31),
        ("h", 31),
    ]
