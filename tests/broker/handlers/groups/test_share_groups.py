from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.authorized_operations import ALL_ON_GROUP
from odradek.broker.handlers.groups.consumer_groups import (
    handle_consumer_group_describe,
    handle_consumer_group_heartbeat,
)
from odradek.broker.handlers.groups.group_admin import (
    handle_delete_groups,
    handle_describe_groups,
    handle_list_groups,
)
from odradek.broker.handlers.groups.share_groups import (
    handle_share_group_describe,
    handle_share_group_heartbeat,
)
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import (
    ErrorCode,
    GroupAuthorizationFailed,
    InvalidRequest,
    TopicAuthorizationFailed,
    UnsupportedVersion,
)
from odradek.protocol.messages.consumer_groups import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
)
from odradek.protocol.messages.group_admin import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
)
from odradek.protocol.messages.share_groups import (
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from tests.fakes.access import entry, fake_authorizer
from tests.fakes.group_client import GroupClient, group_client


class Members:
    """Heartbeats and what follows them, through the handlers."""

    def __init__(self, client: GroupClient) -> None:
        self.client = client
        self.services = client.broker.services

    async def beat(self, **fields: Any) -> Any:
        fields.setdefault("group_id", "g")
        fields.setdefault("member_id", "m")
        request = ShareGroupHeartbeatRequest(**fields)
        return await self.client.told(handle_share_group_heartbeat, request, 1)

    async def join(self, member_id: str = "m", **fields: Any) -> Any:
        fields.setdefault("subscribed_topic_names", ["t"])
        return await self.beat(member_id=member_id, member_epoch=0, **fields)

    async def describe(self, *group_ids: str, **fields: Any) -> Any:
        request = ShareGroupDescribeRequest(group_ids=list(group_ids), **fields)
        answer = await self.client.told(handle_share_group_describe, request, 1)
        return answer.groups

    async def delete(self, *group_ids: str) -> list[int]:
        request = DeleteGroupsRequest(groups_names=list(group_ids))
        answer = await self.client.told(handle_delete_groups, request, 2)
        return [each.error_code for each in answer.results]


@asynccontextmanager
async def members(directory: Path, *entries: AclEntry) -> AsyncIterator[Members]:
    """A broker with topics t (2 partitions) and u; entries are lists of ANONYMOUS."""
    async with group_client(directory) as client:
        await client.broker.create_topic("t", 2)
        await client.broker.create_topic("u", 1)
        if entries:
            client.broker.services.authorizer, _ = fake_authorizer(*entries)
        yield Members(client)


async def test_a_member_joins_beats_and_leaves(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        joined = await group.join()
        assert (joined.error_code, joined.member_id, joined.member_epoch) == (0, "m", 3)
        (assigned,) = joined.assignment.topic_partitions
        assert assigned.partitions == [0, 1]
        beaten = await group.beat(member_epoch=3)
        assert (beaten.error_code, beaten.assignment) == (0, None)
        left = await group.beat(member_epoch=-1)
        assert (left.error_code, left.member_epoch) == (0, -1)


async def test_a_refusal_says_why(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        refused = await group.beat(member_epoch=3)
        assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert refused.error_message == "Share group g not found."
        assert refused.member_id is None
        with pytest.raises(InvalidRequest, match="MemberId must have 1 to 36"):
            await group.join("")
        with pytest.raises(InvalidRequest, match="GroupId can't be empty"):
            await group.join(group_id="")


async def test_a_group_s_own_options_hold(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        own = {"share.heartbeat.interval.ms": "6000"}
        resource = Resource(ResourceKind.GROUP, "g")
        await group.services.resources.alter(resource, lambda _: own)
        assert (await group.join()).heartbeat_interval_ms == 6000


async def test_groups_are_described_those_without_a_name_first(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.join()
        found = await group.describe(
            "none", "g", "", include_authorized_operations=True
        )
        assert [each.error_code for each in found] == [
            ErrorCode.INVALID_GROUP_ID,
            ErrorCode.GROUP_ID_NOT_FOUND,
            ErrorCode.NONE,
        ]
        assert found[2].group_state == "Stable"
        assert found[2].authorized_operations == ALL_ON_GROUP
        (member,) = found[2].members
        assert member.assignment.topic_partitions[0].topic_name == "t"


async def test_they_are_listed_with_their_type(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.join()
        group.services.groups.load_all()
        while not group.services.groups.is_loaded:
            await group.client.broker.commit()
        for types, states, count in [
            ([], [], 1),
            (["Share"], ["STABLE"], 1),
            (["consumer", "classic"], [], 0),
            (["share"], ["Empty"], 0),
        ]:
            request = ListGroupsRequest(types_filter=types, states_filter=states)
            answer = await group.client.told(handle_list_groups, request, 5)
            assert len(answer.groups) == count
            for each in answer.groups:
                assert (each.group_type, each.protocol_type) == ("share",) * 2


async def test_it_is_deleted_with_its_states(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.join()
        assert await group.delete("g", "none") == [
            ErrorCode.NON_EMPTY_GROUP,
            ErrorCode.GROUP_ID_NOT_FOUND,
        ]
        await group.beat(member_epoch=-1)
        assert await group.delete("g") == [ErrorCode.NONE]
        (found,) = await group.describe("g")
        assert found.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert (await group.join()).member_epoch == 3, "it begins anew"


async def test_an_id_is_one_group(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.join()
        client = group.client
        refused = await client.join(version=3, group_id="g")
        assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="c",
            rebalance_timeout_ms=5000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        refused = await client.told(handle_consumer_group_heartbeat, request, 1)
        assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert refused.error_message == "Group g is not a consumer group."
        asked = ConsumerGroupDescribeRequest(group_ids=["g"])
        answer = await client.told(handle_consumer_group_describe, asked, 1)
        assert answer.groups[0].error_message == "Group g is not a consumer group."
        classic = DescribeGroupsRequest(groups=["g"])
        answer = await client.told(handle_describe_groups, classic, 6)
        assert answer.groups[0].error_message == "Group g is not a classic group."
        assert (await group.beat(member_epoch=3)).error_code == 0, "nothing has changed"


async def test_by_the_level_of_their_feature_they_are_off(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.services.features.update({"share.version": 0})
        with pytest.raises(UnsupportedVersion, match=r"share\.version to 1"):
            await group.join()
        (found,) = await group.describe("g")
        assert found.error_code == ErrorCode.UNSUPPORTED_VERSION


def may(operation: Operation, name: str, kind: ResourceType) -> AclEntry:
    return entry(operation, name, kind=kind, principal="User:ANONYMOUS")


READ_G = may(Operation.READ, "g", ResourceType.GROUP)
SEE_G = may(Operation.DESCRIBE, "g", ResourceType.GROUP)
SEE_T = may(Operation.DESCRIBE, "t", ResourceType.TOPIC)


class TestRights:
    async def test_who_joins_may_read_the_group_and_see_its_topics(
        self, tmp_path: Path
    ) -> None:
        async with members(tmp_path, READ_G, SEE_T) as group:
            assert (await group.join()).error_code == 0
            with pytest.raises(TopicAuthorizationFailed):
                await group.join(subscribed_topic_names=["t", "u"])
            with pytest.raises(GroupAuthorizationFailed):
                await group.join(group_id="other")

    async def test_who_may_not_see_a_topic_is_not_told_who_reads_it(
        self, tmp_path: Path
    ) -> None:
        async with members(tmp_path, READ_G, SEE_G, SEE_T) as group:
            await group.join()
            (found,) = await group.describe("g")
            assert found.error_code == 0
            group.services.authorizer, _ = fake_authorizer(SEE_G)
            (found,) = await group.describe("g")
            assert found.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
            assert not found.members
            (found,) = await group.describe("other")
            assert found.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
