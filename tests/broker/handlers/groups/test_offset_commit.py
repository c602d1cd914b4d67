"""OffsetCommit in all its versions: per partition, by name and by id."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.groups.offset_commit import (
    handle_offset_commit,
    refuse_offset_commit,
)
from odradek.protocol.errors import ErrorCode, KafkaStorageError
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.fakes.files import FakeFiles
from tests.fakes.group_client import GROUP, GroupClient, group_client

UNKNOWN_ID = bytes(range(16))


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[GroupClient]:
    async with group_client(tmp_path) as made:
        await made.broker.create_topic("t", 2)
        yield made


def topic_id(client: GroupClient, name: str = "t") -> bytes:
    topic = client.broker.topics.get(name)
    assert topic is not None
    return topic.topic_id


def asked(
    client: GroupClient, *partitions: int, name: str = "t", **fields: Any
) -> OffsetCommitRequest:
    offset = fields.pop("offset", 7)
    metadata = fields.pop("metadata", "")
    known = client.broker.topics.get(name)
    topic = OffsetCommitRequestTopic(
        name=name,
        topic_id=UNKNOWN_ID if known is None else known.topic_id,
        partitions=[
            OffsetCommitRequestPartition(
                partition_index=each,
                committed_offset=offset,
                committed_metadata=metadata,
            )
            for each in partitions
        ],
    )
    fields.setdefault("group_id", GROUP)
    return OffsetCommitRequest(topics=[topic], **fields)


async def codes(
    client: GroupClient, request: OffsetCommitRequest, version: int
) -> list[int]:
    answer = await client.told(handle_offset_commit, request, version)
    (topic,) = answer.topics
    assert [each.partition_index for each in topic.partitions] == [
        each.partition_index for each in request.topics[0].partitions
    ]
    return [each.error_code for each in topic.partitions]


def committed(client: GroupClient, partition: int = 0, name: str = "t") -> int:
    runtime = client.broker.services.groups.runtime
    state = runtime.shard(runtime.partition_of(GROUP)).state
    found = state.offsets.get(GROUP, name, partition)
    return -1 if found is None else found.offset


@pytest.mark.parametrize("version", range(2, 11))
async def test_a_commit_by_every_version(client: GroupClient, version: int) -> None:
    assert await codes(client, asked(client, 0, 1), version) == [0, 0]
    assert (committed(client, 0), committed(client, 1)) == (7, 7)


@pytest.mark.parametrize(("version", "refusal"), [(9, 3), (10, 100)])
async def test_an_unknown_topic(
    client: GroupClient, version: int, refusal: int
) -> None:
    request = asked(client, 0, name="none")
    assert await codes(client, request, version) == [refusal]


async def test_an_unknown_partition_is_refused_alone(client: GroupClient) -> None:
    assert await codes(client, asked(client, 0, 2, -1, 1), 9) == [0, 3, 3, 0]
    assert (committed(client, 0), committed(client, 1)) == (7, 7)


async def test_a_long_note_is_refused_alone(client: GroupClient) -> None:
    request = asked(client, 0, metadata="x" * 4097)
    assert await codes(client, request, 9) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert committed(client) == -1


async def test_strangers_are_refused_for_every_partition_that_exists(
    client: GroupClient,
) -> None:
    await client.member()
    request = asked(client, 0, 5, generation_id_or_member_epoch=1, member_id="x")
    assert await codes(client, request, 9) == [ErrorCode.UNKNOWN_MEMBER_ID, 3]


async def test_a_member_commits(client: GroupClient) -> None:
    member_id = await client.member()
    fields = {"generation_id_or_member_epoch": 1, "member_id": member_id}
    assert await codes(client, asked(client, 0, **fields), 9) == [0]
    fields["generation_id_or_member_epoch"] = 2
    refused = await codes(client, asked(client, 0, **fields), 9)
    assert refused == [ErrorCode.ILLEGAL_GENERATION]


async def test_a_group_without_a_name_commits_all_the_same(
    client: GroupClient,
) -> None:
    assert await codes(client, asked(client, 0, group_id=""), 9) == [0]


async def test_an_answer_waits_for_the_disk(client: GroupClient) -> None:
    answer = handle_offset_commit(client.broker.context(9), asked(client, 0))
    assert not answer.done()
    await client.broker.commit()
    assert answer.result().topics[0].partitions[0].error_code == ErrorCode.NONE


async def test_a_commit_while_groups_are_loaded(tmp_path: Path) -> None:
    files = FakeFiles()
    async with group_client(tmp_path, files) as client:
        await client.broker.create_topic("t")
        await codes(client, asked(client, 0), 9)
    async with group_client(tmp_path, files) as client:
        refused = await codes(client, asked(client, 0, offset=8), 9)
        assert refused == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
        await client.broker.services.groups.runtime.loaded()
        assert committed(client) == 7


async def test_what_fails_as_a_whole_fails_for_every_partition(
    client: GroupClient,
) -> None:
    request = asked(client, 0, 1)
    answer = refuse_offset_commit(request, KafkaStorageError())
    assert isinstance(answer, OffsetCommitResponse)
    found = [each.error_code for each in answer.topics[0].partitions]
    assert found == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
