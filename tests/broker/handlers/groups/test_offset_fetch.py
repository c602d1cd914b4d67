"""OffsetFetch in all its versions: one group or many, by name and by id."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.groups.offset_commit import handle_offset_commit
from odradek.broker.handlers.groups.offset_fetch import (
    handle_offset_fetch,
    refuse_offset_fetch,
)
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.broker.handlers.groups.test_offset_commit import UNKNOWN_ID, codes, topic_id
from tests.broker.handlers.groups.test_offset_commit import asked as committing
from tests.fakes.files import FakeFiles
from tests.fakes.group_client import GROUP, GroupClient, group_client

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
Found = list[tuple[str, int, int, int]]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[GroupClient]:
    async with group_client(tmp_path) as made:
        await made.broker.create_topic("t", 3)
        await codes(made, committing(made, 0, 1, metadata="note"), 9)
        yield made


def of_one(*partitions: int, group_id: str = GROUP) -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopic(name="t", partition_indexes=list(partitions))]
    return OffsetFetchRequest(group_id=group_id, topics=topics)


def of_many(*groups: OffsetFetchRequestGroup, **fields: Any) -> OffsetFetchRequest:
    return OffsetFetchRequest(groups=list(groups), **fields)


def group(
    client: GroupClient, *partitions: int, group_id: str = GROUP, **fields: Any
) -> OffsetFetchRequestGroup:
    fields.setdefault("topic_id", topic_id(client))
    topic = OffsetFetchRequestTopics(
        name="t", partition_indexes=list(partitions), **fields
    )
    return OffsetFetchRequestGroup(group_id=group_id, topics=[topic])


def found(topics: Any) -> Found:
    return [
        (
            getattr(topic, "name", ""),
            each.partition_index,
            each.committed_offset,
            each.error_code,
        )
        for topic in topics
        for each in topic.partitions
    ]


async def told(client: GroupClient, request: OffsetFetchRequest, version: int) -> Any:
    return await client.told(handle_offset_fetch, request, version)


@pytest.mark.parametrize("version", range(1, 8))
async def test_one_group_by_every_version(client: GroupClient, version: int) -> None:
    answer = await told(client, of_one(0, 2), version)
    assert answer.error_code == ErrorCode.NONE
    assert found(answer.topics) == [("t", 0, 7, 0), ("t", 2, -1, 0)]
    assert [each.metadata for each in answer.topics[0].partitions] == ["note", ""]


@pytest.mark.parametrize("version", range(2, 8))
async def test_everything_of_one_group(client: GroupClient, version: int) -> None:
    request = OffsetFetchRequest(group_id=GROUP, topics=None)
    answer = await told(client, request, version)
    assert found(answer.topics) == [("t", 0, 7, 0), ("t", 1, 7, 0)]


@pytest.mark.parametrize("version", [8, 9, 10])
async def test_many_groups_each_with_its_own_answer(
    client: GroupClient, version: int
) -> None:
    everything = OffsetFetchRequestGroup(group_id=GROUP, topics=None)
    other = group(client, 0, group_id="other")
    request = of_many(group(client, 1), other, everything)
    answer = await told(client, request, version)
    name = "t" if version < 10 else ""
    assert [(each.group_id, found(each.topics)) for each in answer.groups] == [
        (GROUP, [(name, 1, 7, 0)]),
        ("other", [(name, 0, -1, 0)]),
        (GROUP, [(name, 0, 7, 0), (name, 1, 7, 0)]),
    ]
    if version >= 10:
        assert answer.groups[0].topics[0].topic_id == topic_id(client)


async def test_an_unknown_id_is_refused_alone(client: GroupClient) -> None:
    request = of_many(group(client, 0, topic_id=UNKNOWN_ID), group(client, 0))
    unknown, known = (await told(client, request, 10)).groups
    assert found(unknown.topics) == [("", 0, -1, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert found(known.topics) == [("", 0, 7, 0)]


async def test_an_unknown_group_has_committed_nothing(client: GroupClient) -> None:
    answer = await told(client, of_one(0, group_id="other"), 7)
    assert found(answer.topics) == [("t", 0, -1, 0)]
    assert answer.error_code == ErrorCode.NONE


async def test_what_another_topic_of_the_name_had_is_not_told(
    client: GroupClient,
) -> None:
    """Its commit names the topic by id, whatever bears the name since."""
    runtime = client.broker.services.groups.runtime
    state = runtime.shard(runtime.partition_of(GROUP)).state
    stored = state.offsets._committed[GROUP]["t", 0]
    other = stored.committed._replace(topic_id=UNKNOWN_ID)
    state.offsets._committed[GROUP]["t", 0] = stored._replace(committed=other)
    answer = await told(client, of_one(0, 1), 7)
    assert found(answer.topics) == [("t", 0, -1, 0), ("t", 1, 7, 0)]


@pytest.mark.parametrize("version", [1, 2, 5, 7, 8, 10])
async def test_while_groups_are_loaded(tmp_path: Path, version: int) -> None:
    """Version 1 says it of every partition, later ones of the answer or group."""
    files = FakeFiles()
    async with group_client(tmp_path, files) as client:
        await client.broker.create_topic("t")
        await codes(client, committing(client, 0), 9)
    async with group_client(tmp_path, files) as client:
        if version >= 8:
            answer = await told(client, of_many(group(client, 0)), version)
            assert [each.error_code for each in answer.groups] == [LOADING]
        else:
            answer = await told(client, of_one(0), version)
            if version == 1:
                assert found(answer.topics) == [("t", 0, -1, LOADING)]
            else:
                assert answer.error_code == LOADING
        await client.broker.services.groups.runtime.loaded()
        answer = await told(client, of_one(0), 7)
        assert found(answer.topics) == [("t", 0, 7, 0)]


async def test_an_answer_waits_for_the_commit_that_it_tells(
    client: GroupClient,
) -> None:
    handle_offset_commit(client.broker.context(9), committing(client, 0, offset=8))
    answer = handle_offset_fetch(client.broker.context(7), of_one(0))
    assert not answer.done()
    await client.broker.commit()
    assert found(answer.result().topics) == [("t", 0, 8, 0)]


def test_what_fails_as_a_whole_fails_for_every_group() -> None:
    request = of_many(OffsetFetchRequestGroup(group_id="g", topics=None))
    answer = refuse_offset_fetch(request, KafkaStorageError())
    code = ErrorCode.KAFKA_STORAGE_ERROR
    assert answer.error_code == code
    assert [each.error_code for each in answer.groups] == [code]
