"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup in all their versions."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import MemberIdentity
from tests.fakes.files import FakeFiles
from tests.fakes.group_client import GROUP, GroupClient, group_client


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[GroupClient]:
    async with group_client(tmp_path) as made:
        yield made


@pytest.mark.parametrize("version", range(10))
async def test_a_member_joins_by_every_version(
    client: GroupClient, version: int
) -> None:
    answer = await client.join(version)
    if version >= 4:
        assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
        answer = await client.join(version, member_id=answer.member_id)
    assert answer.error_code == ErrorCode.NONE
    assert (answer.generation_id, answer.protocol_name) == (1, "range")
    assert answer.leader == answer.member_id
    assert [each.metadata for each in answer.members] == [b"r"]


@pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None), (9, None)])
async def test_who_is_refused_is_in_no_protocol(
    client: GroupClient, version: int, name: str | None
) -> None:
    answer = await client.join(version, member_id="stranger")
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (answer.protocol_name, answer.generation_id) == (name, -1)
    assert answer.member_id == "stranger"


async def test_the_host_of_a_member_is_written_as_java_does(
    client: GroupClient,
) -> None:
    await client.member()
    groups = client.broker.services.groups.runtime
    group = groups.shard(groups.partition_of(GROUP)).state.group(GROUP)
    assert group is not None
    (member,) = group.members.values()
    assert (member.client_id, member.client_host) == ("test", "/127.0.0.1")


async def test_before_version_1_the_session_is_the_rebalance_timeout(
    client: GroupClient,
) -> None:
    await client.join(0, session_timeout_ms=7000)
    groups = client.broker.services.groups.runtime
    group = groups.shard(groups.partition_of(GROUP)).state.group(GROUP)
    assert group is not None
    assert group.rebalance_timeout_ms == 7000


@pytest.mark.parametrize("version", range(6))
async def test_an_assignment_by_every_version(
    client: GroupClient, version: int
) -> None:
    joined = await client.join(3)
    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    answer = await client.sync(
        version,
        member_id=joined.member_id,
        generation_id=1,
        given={joined.member_id: b"all"},
        **(protocol if version >= 5 else {}),
    )
    assert (answer.error_code, answer.assignment) == (ErrorCode.NONE, b"all")


@pytest.mark.parametrize(
    "said",
    [{}, {"protocol_type": "consumer"}, {"protocol_name": "range"}],
)
async def test_from_version_5_on_the_protocol_must_be_named(
    client: GroupClient, said: dict[str, str]
) -> None:
    member_id = await client.member()
    answer = await client.sync(5, member_id=member_id, generation_id=1, **said)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    older = await client.sync(4, member_id=member_id, generation_id=1)
    assert older.error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", range(5))
async def test_a_heartbeat_by_every_version(client: GroupClient, version: int) -> None:
    member_id = await client.member()
    asked = {"member_id": member_id, "generation_id": 1}
    assert await client.beat(version, **asked) == ErrorCode.NONE
    asked["generation_id"] = 2
    assert await client.beat(version, **asked) == ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize("version", range(6))
async def test_a_member_leaves_by_every_version(
    client: GroupClient, version: int
) -> None:
    member_id = await client.member()
    for expected in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID):
        if version < 3:
            answer = await client.leave(version, member_id=member_id)
            assert answer.error_code == expected
            continue
        leaving = [MemberIdentity(member_id=member_id)]
        answer = await client.leave(version, members=leaving)
        assert answer.error_code == ErrorCode.NONE
        assert [each.error_code for each in answer.members] == [expected]


async def test_a_group_has_a_name(client: GroupClient) -> None:
    refused = ErrorCode.INVALID_GROUP_ID
    assert (await client.join(group_id="")).error_code == refused
    named = {"protocol_type": "consumer", "protocol_name": "range"}
    assert (await client.sync(group_id="", **named)).error_code == refused
    assert await client.beat(group_id="") == refused
    assert (await client.leave(group_id="")).error_code == refused


async def test_while_groups_are_loaded(tmp_path: Path) -> None:
    """A heartbeat is told that all is well: clients would give up otherwise."""
    files = FakeFiles()
    async with group_client(tmp_path, files) as client:
        member_id = await client.member()
    async with group_client(tmp_path, files) as client:
        asked = {"member_id": member_id, "generation_id": 1}
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert (await client.join(member_id=member_id)).error_code == loading
        assert (await client.sync(4, **asked)).error_code == loading
        assert (await client.leave(member_id=member_id)).error_code == loading
        assert await client.beat(**asked) == ErrorCode.NONE
        assert await client.beat(member_id="x", generation_id=9) == ErrorCode.NONE
        groups = client.broker.services.groups
        groups.load_all()
        await groups.runtime.loaded()
        assert await client.beat(**asked) == ErrorCode.NONE
        unknown = await client.beat(member_id="x", generation_id=1)
        assert unknown == ErrorCode.UNKNOWN_MEMBER_ID


async def test_without_the_topic_of_groups_nobody_coordinates(
    client: GroupClient,
) -> None:
    """Clients look for their coordinator anew then, which makes the topic."""
    topics = client.broker.topics
    topic = topics.get("__consumer_offsets")
    assert topic is not None
    member_id = await client.member()
    await topics.begin_deletions({topic.topic_id: 0})
    client.broker.services.groups.forget_topic(topic.name)
    asked = {"member_id": member_id, "generation_id": 1}
    assert await client.beat(**asked) == ErrorCode.NOT_COORDINATOR
    assert (await client.join()).error_code == ErrorCode.NOT_COORDINATOR
