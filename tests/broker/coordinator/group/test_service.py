"""The coordinator as handlers know it: topics, names, loading, the end."""

import errno
from itertools import chain
from pathlib import Path

import pytest

from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.administration import GroupFilter
from odradek.broker.coordinator.group.classic.join import Joining
from odradek.broker.coordinator.group.state.records import CommittedOffset, OffsetRecord
from odradek.broker.handlers.topics.topic_deletion import (
    delete_topics,
    finish_deletions,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.files.files import DiskFull
from tests.broker.handlers.groups.test_offset_commit import asked, codes, committed
from tests.fakes.files import FakeFiles
from tests.fakes.group_client import GROUP, GroupClient, group_client


def refuse(error: KafkaError) -> int:
    return error.code


async def deleted(client: GroupClient, name: str) -> None:
    topic = client.broker.topics.get(name)
    assert topic is not None
    await client.broker.topics.begin_deletions({topic.topic_id: 0})
    client.broker.services.groups.forget_topic(name)
    await client.broker.commit()


async def test_t151_coordinator_restart_replays_group_and_offsets(
    tmp_path: Path,
) -> None:
    """Tombstones are honoured, too; through records, log and loading."""
    files = FakeFiles()
    async with group_client(tmp_path, files) as client:
        await client.broker.create_topic("t", 2)
        await client.broker.create_topic("u")
        assert await codes(client, asked(client, 0, 1), 9) == [0, 0]
        assert await codes(client, asked(client, 0, name="u"), 9) == [0]
        member_id = await client.member()
        member = {"generation_id_or_member_epoch": 1, "member_id": member_id}
        assert await codes(client, asked(client, 1, offset=8, **member), 9) == [0]
        await deleted(client, "u")
    async with group_client(tmp_path, files) as client:
        groups = client.broker.services.groups
        assert not groups.is_loaded
        groups.load_all()
        await groups.runtime.loaded()
        assert groups.is_loaded
        member = {"member_id": member_id, "generation_id": 1}
        assert await client.beat(**member) == ErrorCode.NONE
        assert (await client.sync(4, **member)).assignment == b"all"
        assert (committed(client, 0), committed(client, 1)) == (7, 8)
        assert committed(client, name="u") == -1


async def test_a_name_is_free_when_its_offsets_could_be_dropped(
    tmp_path: Path,
) -> None:
    """Else a topic of that name would be read from where another one was."""
    async with group_client(tmp_path) as client:
        broker = client.broker
        broker.services.groups.load_all()
        topic = await broker.topics.create_topic("t", 1)
        assert await codes(client, asked(client, 0), 9) == [0]
        for nth in (1, 2, 3):  # on a full disk, also when room was made; and again
            broker.files.fail("append", nth=nth, error=errno.ENOSPC)
        with pytest.raises(DiskFull):
            await delete_topics(broker.services, [topic.topic_id])
        assert broker.topics.is_reserved("t")
        assert committed(client) == 7
        await finish_deletions(broker.services)
        assert not broker.topics.is_reserved("t")
        assert committed(client) == -1
        assert not broker.topics.deletions


async def test_a_deletion_is_over_when_its_offsets_could_be_dropped(
    tmp_path: Path,
) -> None:
    async with group_client(tmp_path) as client:
        broker = client.broker
        broker.services.groups.load_all()
        topic = await broker.topics.create_topic("t", 1)
        await delete_topics(broker.services, [topic.topic_id])
        # Committed by who has not heard of the deletion, and names the topic's id.
        offset = CommittedOffset(7, topic_id=topic.topic_id)
        record = OffsetRecord(GROUP, "t", 0, offset)
        broker.services.groups.runtime.act(
            GROUP, lambda shard: Decision(0, [record]), refuse
        )
        broker.files.fail("append", error=errno.ENOSPC)
        await finish_deletions(broker.services)
        assert list(broker.topics.deletions) == [topic.topic_id]
        await finish_deletions(broker.services)
        assert not broker.topics.deletions
        assert committed(client) == -1


async def test_a_closing_broker_answers_everybody_who_waits(tmp_path: Path) -> None:
    async with group_client(tmp_path) as client:
        member_id = await client.member()
        groups = client.broker.services.groups
        joining = Joining(
            GROUP,
            "",
            None,
            "c",
            "/host",
            60_000,
            10_000,
            "consumer",
            (("range", b"r"),),
            must_know_its_id=False,
            knows_skip_assignment=True,
        )
        waiting = groups.join(joining, refuse)
        assert isinstance(waiting, Parked)
        assert not waiting.done()
        await groups.close()
        assert waiting.result().error_code == ErrorCode.NOT_COORDINATOR
        beat = await client.beat(member_id=member_id, generation_id=1)
        assert beat == ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_a_deleted_topic_takes_its_offsets_along(tmp_path: Path) -> None:
    async with group_client(tmp_path) as client:
        for name in ("t", "u"):
            await client.broker.create_topic(name)
            assert await codes(client, asked(client, 0, name=name), 9) == [0]
        await deleted(client, "t")
        assert committed(client, name="t") == -1
        assert committed(client, name="u") == 7


async def test_without_their_topic_groups_begin_with_nothing(tmp_path: Path) -> None:
    async with group_client(tmp_path) as client:
        await client.broker.create_topic("t")
        await codes(client, asked(client, 0), 9)
        groups = client.broker.services.groups
        await deleted(client, "__consumer_offsets")
        assert not groups.has_topic
        assert await codes(client, asked(client, 0), 9) == [ErrorCode.NOT_COORDINATOR]
        assert groups.list_groups(GroupFilter(), list) == []


async def test_a_group_without_a_name_has_no_offsets_to_forget(
    tmp_path: Path,
) -> None:
    async with group_client(tmp_path) as client:
        groups = client.broker.services.groups
        answer = groups.delete_offsets("", [("t", 0)], list, refuse)
        assert answer == ErrorCode.INVALID_GROUP_ID


async def test_all_shards_list_their_groups(tmp_path: Path) -> None:
    async with group_client(tmp_path) as client:
        await client.broker.create_topic("t")
        names = {f"g{number}" for number in range(9)}
        for name in names:
            await codes(client, asked(client, 0, group_id=name), 9)
        groups = client.broker.services.groups
        listed = groups.list_groups(GroupFilter(), lambda found: [*chain(*found)])
        assert {each.group_id for each in listed} == names


async def test_offsets_expire_from_time_to_time(tmp_path: Path) -> None:
    async with group_client(tmp_path, offsets_retention_minutes=10) as client:
        await client.broker.create_topic("t")
        await codes(client, asked(client, 0), 9)
        groups = client.broker.services.groups
        client.broker.clock.advance(9 * 60_000)
        groups.expire_offsets()
        assert committed(client) == 7
        client.broker.clock.advance(60_000)
        groups.expire_offsets()
        assert committed(client) == -1
        await client.broker.commit()


async def test_a_topic_of_groups_that_is_made_anew_begins_anew(tmp_path: Path) -> None:
    files = FakeFiles()
    async with group_client(tmp_path, files) as client:
        broker, groups = client.broker, client.broker.services.groups
        await broker.create_topic("t")
        await codes(client, asked(client, 0), 9)
        topic = broker.topics.get("__consumer_offsets")
        assert topic is not None
        await delete_topics(broker.services, [topic.topic_id])
        await groups.create_topic()
        assert committed(client) == -1
        assert await codes(client, asked(client, 0, offset=1), 9) == [0]
    async with group_client(tmp_path, files) as client:
        client.broker.services.groups.load_all()
        await client.broker.services.groups.runtime.loaded()
        assert committed(client) == 1
