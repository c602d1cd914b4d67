from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.groups.group_admin import (
    handle_delete_groups,
    handle_list_groups,
)
from odradek.broker.handlers.groups.streams_groups import (
    handle_streams_group_describe,
    handle_streams_group_heartbeat,
)
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    ErrorCode,
    GroupAuthorizationFailed,
    InvalidRequest,
    StreamsInvalidTopology,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from odradek.protocol.messages.group_admin import (
    DeleteGroupsRequest,
    ListGroupsRequest,
)
from odradek.protocol.messages.streams_groups import (
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
)
from tests.broker.coordinator.group.streams.rig import counting, mapping
from tests.fakes.access import entry, fake_authorizer
from tests.fakes.group_client import GroupClient, group_client

GROUP, TOPIC = ResourceType.GROUP, ResourceType.TOPIC
READ, DESCRIBE = Operation.READ, Operation.DESCRIBE


def allow(operation: Operation, kind: ResourceType, name: str) -> AclEntry:
    """A right of everybody who does not log in."""
    return entry(operation, name, kind=kind, principal="User:ANONYMOUS")


class Members:
    """Heartbeats and what follows them, through the handlers."""

    def __init__(self, client: GroupClient) -> None:
        self.client = client
        self.services = client.broker.services

    async def beat(self, **fields: Any) -> Any:
        fields.setdefault("group_id", "g")
        fields.setdefault("member_id", "m")
        request = StreamsGroupHeartbeatRequest(**fields)
        answer = await self.client.told(handle_streams_group_heartbeat, request, 0)
        await self.services.groups.streams.internal_topics.close()
        return answer

    async def join(self, **fields: Any) -> Any:
        fields.setdefault("topology", mapping("t"))
        return await self.beat(
            rebalance_timeout_ms=5000,
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            **fields,
        )

    async def describe(self, *group_ids: str, **fields: Any) -> Any:
        request = StreamsGroupDescribeRequest(group_ids=list(group_ids), **fields)
        answer = await self.client.told(handle_streams_group_describe, request, 0)
        return answer.groups

    async def list(self, asked: ListGroupsRequest) -> Any:
        self.services.groups.load_all()
        while not self.services.groups.is_loaded:
            await self.client.broker.commit()
        return (await self.client.told(handle_list_groups, asked, 5)).groups

    def status(self, answer: Any) -> str:
        """What an answer says of the topics that are missing."""
        (found,) = (each for each in answer.status if each.status_code == 3)
        return str(found.status_detail)


@asynccontextmanager
async def members(directory: Path, *entries: AclEntry) -> AsyncIterator[Members]:
    """A broker with topic t (2 partitions), and a group that does not wait."""
    async with group_client(directory) as client:
        await client.broker.create_topic("t", 2)
        own = {
            "streams.initial.rebalance.delay.ms": "0",
            "streams.assignment.interval.ms": "0",
        }
        resource = Resource(ResourceKind.GROUP, "g")
        await client.broker.services.resources.alter(resource, lambda _: own)
        if entries:
            client.broker.services.authorizer, _ = fake_authorizer(*entries)
        yield Members(client)


async def test_a_member_joins_beats_and_leaves(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        joined = await group.join()
        assert (joined.error_code, joined.member_epoch, joined.status) == (0, 2, [])
        assert [each.partitions for each in joined.active_tasks] == [[0, 1]]
        beaten = await group.beat(member_epoch=2)
        assert (beaten.error_code, beaten.active_tasks) == (0, None)
        left = await group.beat(member_epoch=-1)
        assert (left.error_code, left.member_epoch) == (0, -1)


async def test_topics_that_are_missing_are_made(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        joined = await group.join(topology=counting())
        assert group.status(joined) == "Internal topics are missing: again, store"
        topic = group.services.metadata.get("store")
        assert topic is not None
        assert len(topic.partitions) == 2
        beaten = await group.beat(member_epoch=2)
        assert beaten.status == []
        assert [each.partitions for each in beaten.active_tasks] == [[0, 1], [0, 1]]


async def test_g043_who_may_not_make_topics_is_told_so(tmp_path: Path) -> None:
    allowed = (allow(READ, GROUP, "g"), allow(DESCRIBE, TOPIC, "*"))
    async with members(tmp_path, *allowed) as group:
        joined = await group.join(topology=counting())
        assert group.status(joined) == (
            "Internal topics are missing: again, store; Unauthorized to CREATE on "
            "topics again, store."
        )
        assert group.services.metadata.get("store") is None


async def test_why_topics_were_not_made_is_told_with_the_next_answer(
    tmp_path: Path,
) -> None:
    async with members(tmp_path) as group:
        topology = counting()
        topology.subtopologies[1].state_changelog_topics[0].replication_factor = 3
        await group.join(topology=topology)
        beaten = await group.beat(member_epoch=2)
        assert group.status(beaten).startswith(
            "Internal topics are missing: store; Creation failed: store (Unable to "
            "replicate the partition 3 time(s)"
        )
        assert len(beaten.status) == 1


async def test_a_refusal_says_why(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        refused = await group.beat(member_epoch=3)
        assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert refused.error_message == "Streams group g not found."
        with pytest.raises(InvalidRequest, match="GroupId can't be empty"):
            await group.join(group_id="")
        with pytest.raises(StreamsInvalidTopology, match="__consumer_offsets"):
            await group.join(topology=mapping("__consumer_offsets"))


async def test_without_the_rights_nobody_joins(tmp_path: Path) -> None:
    async with members(tmp_path, allow(READ, GROUP, "g")) as group:
        with pytest.raises(TopicAuthorizationFailed):
            await group.join()
        with pytest.raises(GroupAuthorizationFailed):
            await group.join(group_id="other")


async def test_groups_are_described_listed_and_deleted(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.join()
        found, missing = await group.describe("g", "none")
        assert (found.group_id, found.group_state) == ("g", "Stable")
        assert missing.error_message == "Group none not found."
        for states in ([], ["Stable"]):
            asked = ListGroupsRequest(types_filter=["Streams"], states_filter=states)
            (listed,) = await group.list(asked)
            assert (listed.group_type, listed.protocol_type) == ("streams", "streams")
        delete = DeleteGroupsRequest(groups_names=["g"])
        (refused,) = (await group.client.told(handle_delete_groups, delete, 2)).results
        assert refused.error_code == ErrorCode.NON_EMPTY_GROUP
        await group.beat(member_epoch=-1)
        (gone,) = (await group.client.told(handle_delete_groups, delete, 2)).results
        assert gone.error_code == 0


@pytest.mark.parametrize("state", ["NotReady", "not_ready"])
async def test_groups_that_wait_for_topics_are_found(
    tmp_path: Path, state: str
) -> None:
    async with members(tmp_path) as group:
        await group.join(topology=mapping("nowhere"))
        asked = ListGroupsRequest(states_filter=[state])
        (listed,) = await group.list(asked)
        assert listed.group_state == "NotReady"


async def test_topics_that_a_client_may_not_know_hide_the_group(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.join()
        authorizer, _ = fake_authorizer(allow(DESCRIBE, GROUP, "g"))
        group.services.authorizer = authorizer
        (hidden,) = await group.describe("g")
        assert hidden.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert hidden.error_message == (
            "The described group uses topics that the client is not authorized to "
            "describe."
        )
        assert (hidden.topology, hidden.members) == (None, [])


async def test_where_they_are_off_nobody_joins(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.services.features.update({"streams.version": 0})
        with pytest.raises(UnsupportedVersion, match="are off: set the feature"):
            await group.join()
        (refused,) = await group.describe("g")
        assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_where_the_protocol_is_off_nobody_joins(tmp_path: Path) -> None:
    off = {"group_coordinator_rebalance_protocols": ("classic", "consumer")}
    async with group_client(tmp_path, **off) as client:
        with pytest.raises(UnsupportedVersion, match="add streams to"):
            await Members(client).join()
