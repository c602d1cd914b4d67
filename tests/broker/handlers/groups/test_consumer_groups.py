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
from odradek.broker.handlers.groups.group_admin import handle_list_groups
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.requests.context import ConnectionInfo, RequestContext
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.api_keys import ApiKey
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
from odradek.protocol.messages.group_admin import ListGroupsRequest
from tests.fakes.access import entry, fake_authorizer
from tests.fakes.group_client import GroupClient, group_client
from tests.fakes.topics import TopicBroker, topic_broker

OFF = {"group_coordinator_rebalance_protocols": ("classic",)}


def heartbeat(broker: TopicBroker, client_id: str, peer_port: int) -> str:
    """What the client is told."""
    connection = ConnectionInfo(
        peer_port=peer_port,
        client_software_name="librdkafka",
        client_software_version="2.16.0",
    )
    key = ApiKey.CONSUMER_GROUP_HEARTBEAT
    ctx = RequestContext(broker.services, connection, key, 0, 1, client_id)
    request = ConsumerGroupHeartbeatRequest(group_id="readers", member_id="m")
    with pytest.raises(UnsupportedVersion) as refused:
        handle_consumer_group_heartbeat(ctx, request)
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION
    return str(refused.value)


class TestOff:
    async def test_client_and_log_are_told_what_to_set(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with topic_broker(tmp_path, **OFF) as broker:
            assert "group.protocol=classic" in heartbeat(broker, "app", 5000)
        assert [record.getMessage() for record in caplog.records] == [
            "app (librdkafka 2.16.0) at 127.0.0.1:5000 wants to join group readers by "
            "the consumer protocol (KIP-848), which is switched off: set "
            "group.protocol=classic in the client"
        ]

    async def test_each_client_and_connection_has_a_line_of_its_own(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with topic_broker(tmp_path, **OFF) as broker:
            for client_id, port in [("app", 1), ("app", 1), ("app", 2), ("other", 2)]:
                heartbeat(broker, client_id, port)
                broker.services.clock.advance(1000)  # type: ignore[attr-defined]
        beginnings = [
            record.getMessage().split(" wants")[0] for record in caplog.records
        ]
        assert beginnings == [
            "app (librdkafka 2.16.0) at 127.0.0.1:1",
            "app (librdkafka 2.16.0) at 127.0.0.1:2",
            "other (librdkafka 2.16.0) at 127.0.0.1:2",
        ]

    async def test_by_the_level_of_its_feature(self, tmp_path: Path) -> None:
        async with topic_broker(tmp_path) as broker:
            await broker.services.features.update({"group.version": 0})
            heartbeat(broker, "app", 5000)
            asked = ConsumerGroupDescribeRequest(group_ids=["g"])
            (group,) = (await broker.ask(asked, 1)).groups
            assert group.error_code == ErrorCode.UNSUPPORTED_VERSION


class Members:
    """Heartbeats and what follows them, through the handlers."""

    def __init__(self, client: GroupClient) -> None:
        self.client = client
        self.services = client.broker.services

    async def beat(self, version: int = 1, **fields: Any) -> Any:
        fields.setdefault("group_id", "g")
        request = ConsumerGroupHeartbeatRequest(**fields)
        return await self.client.told(handle_consumer_group_heartbeat, request, version)

    async def join(self, member_id: str = "m", version: int = 1, **fields: Any) -> Any:
        fields.setdefault("subscribed_topic_names", ["t"])
        return await self.beat(
            version,
            member_id=member_id,
            member_epoch=0,
            rebalance_timeout_ms=5000,
            topic_partitions=[],
            **fields,
        )

    async def describe(self, *group_ids: str, **fields: Any) -> Any:
        request = ConsumerGroupDescribeRequest(group_ids=list(group_ids), **fields)
        answer = await self.client.told(handle_consumer_group_describe, request, 1)
        return answer.groups


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
        assert (joined.error_code, joined.member_id, joined.member_epoch) == (0, "m", 2)
        (assigned,) = joined.assignment.topic_partitions
        assert assigned.partitions == [0, 1]
        beaten = await group.beat(member_id="m", member_epoch=2, topic_partitions=None)
        assert (beaten.error_code, beaten.assignment) == (0, None)
        left = await group.beat(member_id="m", member_epoch=-1, topic_partitions=None)
        assert (left.error_code, left.member_epoch) == (0, -1)


async def test_before_version_1_the_broker_gives_ids(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        joined = await group.join("", version=0)
        assert len(joined.member_id) == 22
        found = await group.join("", version=0)
        assert found.member_id != joined.member_id


async def test_a_refusal_says_why(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        refused = await group.beat(member_id="m", member_epoch=3, topic_partitions=None)
        assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert refused.error_message == "Consumer group g not found."
        assert refused.member_id is None
        with pytest.raises(InvalidRequest, match=r"MemberId can't be empty\."):
            await group.join("")


async def test_a_group_s_own_options_hold(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        own = {"consumer.heartbeat.interval.ms": "6000"}
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
            (["Consumer"], ["STABLE"], 1),
            (["classic"], [], 0),
            ([], ["Empty"], 0),
        ]:
            request = ListGroupsRequest(types_filter=types, states_filter=states)
            answer = await group.client.told(handle_list_groups, request, 5)
            assert len(answer.groups) == count
            for each in answer.groups:
                assert (each.group_type, each.protocol_type) == ("consumer",) * 2


async def test_a_group_changes_its_type_while_it_is_empty(tmp_path: Path) -> None:
    async with members(tmp_path) as group:
        await group.join()
        refused = await group.client.join(version=3)
        assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        await group.beat(member_id="m", member_epoch=-1, topic_partitions=None)
        joined = await group.client.join(version=3)
        assert (joined.error_code, joined.generation_id) == (0, 1)
        refused = await group.join()
        assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        await group.client.leave(version=2, member_id=joined.member_id)
        assert (await group.join()).error_code == 0


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

    async def test_patterns_match_what_the_client_may_see(self, tmp_path: Path) -> None:
        async with members(tmp_path, READ_G, SEE_T) as group:
            joined = await group.join(
                subscribed_topic_names=None, subscribed_topic_regex=".*"
            )
            assert joined.member_epoch == 1
            group.client.broker.clock.advance(1000)
            beaten = await group.beat(
                member_id="m", member_epoch=1, topic_partitions=None
            )
            (topic,) = beaten.assignment.topic_partitions
            assert topic.partitions == [0, 1]

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
