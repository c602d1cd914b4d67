from pathlib import Path
from typing import Any

from odradek.broker.control.waiting.assignments import Assignments
from odradek.broker.control.waiting.fetch_watch import Fetching, FetchWatch
from odradek.broker.control.waiting.group_conditions import (
    AllRead,
    Committed,
    HasAssigned,
)
from odradek.broker.handlers.groups.consumer_groups import (
    handle_consumer_group_heartbeat,
)
from odradek.protocol.consumer_protocol import encode_assignment, encode_subscription
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.groups import JoinGroupRequestProtocol
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.control.asked import append, commit
from tests.fakes.group_client import GROUP, GroupClient, group_client
from tests.fakes.replicas import batch_of

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Rig:
    def __init__(self, client: GroupClient) -> None:
        self.client, self.broker = client, client.broker
        services = self.broker.services
        watch = FetchWatch(services, [])
        self.assignments = Assignments(services.metadata, watch, lambda: None)
        services.groups.watchers.append(self.assignments.note_group)

    async def member(self, *places: TopicPartition) -> None:
        """The only member of a stable group, which subscribes to ``t``."""
        protocol = JoinGroupRequestProtocol(
            name="range", metadata=encode_subscription(["t"])
        )
        joined = await self.client.join(version=3, protocols=[protocol])
        await self.client.sync(
            version=2,
            member_id=joined.member_id,
            generation_id=joined.generation_id,
            given={joined.member_id: encode_assignment(places)},
        )

    def fetch(self, **offsets: int) -> None:
        """By partition, ``p0`` and ``p1``."""
        at = {TopicPartition("t", int(name[1:])): of for name, of in offsets.items()}
        self.assignments.note_fetch(Fetching(("127.0.0.1", 1), "test", at))

    def assigned(self, members: int = 1, must_read: bool = True) -> str:
        return HasAssigned(
            self.broker.services,
            self.assignments,
            GROUP,
            members,
            must_read=must_read,
            tell=lambda: None,
        ).missing()

    def lag(self, topic: str | None = None) -> str:
        return AllRead(self.broker.services, self.assignments, GROUP, topic).missing()


async def test_an_assignment_holds_when_all_is_read(tmp_path: Path) -> None:
    async with group_client(tmp_path, durability="none") as client:
        rig = Rig(client)
        assert rig.assigned() == "there is no group g"
        await rig.member()
        assert rig.assigned(2).startswith("g has 1 of 2 members")
        assert rig.assigned() == "g is stable, and there is no topic t"
        await rig.broker.create_topic("t", 2)
        # As of a client that did not know the topic yet when it joined.
        assert rig.assigned() == "g is stable, and nobody is assigned t-0, t-1 yet"
        assert rig.assigned(must_read=False) == ""


async def test_members_must_have_begun_to_read(tmp_path: Path) -> None:
    async with group_client(tmp_path, durability="none") as client:
        rig = Rig(client)
        await rig.broker.create_topic("t", 2)
        await rig.member(T0, T1)
        rig.fetch(p0=0)
        assert rig.assigned() == ("g is stable, and its members do not read t-1 yet")
        rig.fetch(p1=0)
        assert rig.assigned() == ""
        (member_id,) = (
            client.broker.services.groups.runtime.shard(
                client.broker.services.groups.partition_of(GROUP).partition
            )
            .state.groups[GROUP]
            .members
        )
        await client.leave(version=2, member_id=member_id)
        assert rig.assigned() == "g has 0 of 1 members (Empty)"
        assert rig.assigned(0) == ""


async def test_a_group_that_the_broker_assigns(tmp_path: Path) -> None:
    async with group_client(tmp_path, durability="none") as client:
        rig = Rig(client)
        await rig.broker.create_topic("t", 2)
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id="m",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        await client.told(handle_consumer_group_heartbeat, request, 1)
        assert rig.assigned(2) == "g has 1 of 2 members (Stable)"
        assert rig.assigned(must_read=False) == ""
        rig.fetch(p0=0)
        assert rig.assigned() == "g is stable, and its members do not read t-1 yet"
        rig.fetch(p1=0)
        assert rig.assigned() == ""
        assert rig.lag() == ""
        request.member_epoch = -1
        await client.told(handle_consumer_group_heartbeat, request, 1)
        assert rig.assigned(0) == ""


async def test_an_offset_is_committed(tmp_path: Path) -> None:
    async with group_client(tmp_path, durability="none") as client:
        broker = client.broker
        await broker.create_topic("t", 2)
        condition = Committed(broker.services, GROUP, T0, 5)
        assert condition.missing() == "there is no group g"
        commit(broker, GROUP, T1, 9)
        assert condition.missing() == "g has committed nothing of t-0, not 5"
        commit(broker, GROUP, T0, 4)
        assert condition.missing() == "g has committed 4 of t-0, not 5"
        commit(broker, GROUP, T0, 6)
        assert condition.missing() == ""
        (place,) = condition.places()
        assert place == broker.services.groups.partition_of(GROUP)
        near = Committed(broker.services, "gg", T0, 5).missing()
        assert near == "there is no group gg; did you mean g?"


async def test_what_is_committed_is_synced_before_it_counts(tmp_path: Path) -> None:
    async with group_client(tmp_path) as client:
        broker = client.broker
        await broker.create_topic()
        condition = Committed(broker.services, GROUP, T0, 5)
        commit(broker, GROUP, T0, 5)
        assert condition.missing() == "what g has committed is not synced yet"
        await broker.commit()
        commit(broker, GROUP, T0, 6)  # what comes later need not be
        assert condition.missing() == ""


async def test_a_group_lags_until_it_has_committed_all(tmp_path: Path) -> None:
    async with group_client(tmp_path, durability="none") as client:
        rig, broker = Rig(client), client.broker
        await broker.create_topic("t", 2)
        assert rig.lag() == "there is no group g"
        append(broker, T0, batch_of(b"a", b"b", b"c"))
        commit(broker, GROUP, T0, 1)
        assert rig.lag() == "g lags behind: t-0 by 2"
        append(broker, T1, batch_of(b"a"))
        assert rig.lag("t") == "g lags behind: t-0 by 2, t-1 by 1"
        commit(broker, GROUP, T0, 3)
        assert rig.lag() == ""
        assert rig.lag("t") == "g lags behind: t-1 by 1"
        assert rig.lag("tt") == "there is no topic tt; did you mean t?"


async def test_what_was_there_before_a_member_came_is_no_lag(tmp_path: Path) -> None:
    async with group_client(tmp_path, durability="none") as client:
        rig, broker = Rig(client), client.broker
        await broker.create_topic("t", 2)
        append(broker, T0, batch_of(b"old", b"old"))
        await rig.member(T0, T1)
        assert rig.lag() == "g lags behind: t-0 by 2"
        rig.fetch(p0=2, p1=0)  # it has begun at the end
        assert rig.lag() == ""
        append(broker, T0, batch_of(b"new"))
        assert rig.lag() == "g lags behind: t-0 by 1"


async def test_a_group_that_reads_nothing_has_not_read_all(tmp_path: Path) -> None:
    async with group_client(tmp_path, durability="none") as client:
        rig: Any = Rig(client)
        await rig.member()
        assert rig.lag() == "g has committed nothing, and is assigned nothing"
