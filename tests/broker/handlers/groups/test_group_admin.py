from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.authorized_operations import ALL_ON_GROUP
from odradek.broker.handlers.groups.group_admin import (
    handle_delete_groups,
    handle_describe_groups,
    handle_list_groups,
    handle_offset_delete,
)
from odradek.broker.handlers.groups.offset_commit import handle_offset_commit
from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_admin import (
    OPERATIONS_NOT_ASKED_FOR,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.fakes.replicas import Replicas, replicas

MISSING = ErrorCode.GROUP_ID_NOT_FOUND
ONE_SHARD = {"offsets_topic_num_partitions": 1}


async def settled(broker: Replicas, answer: Any) -> Any:
    """The answer, once what it waits for is durable."""
    if not isinstance(answer, Parked):
        return answer
    while not answer.done():
        await broker.commit()
    return answer.result()


async def with_groups(broker: Replicas, *names: str) -> None:
    """Groups that have committed an offset for topic t, and never had members."""
    groups = broker.services.groups
    await broker.create_topic("t", 2)
    await groups.create_topic()
    groups.load_all()
    while not groups.is_loaded:
        await broker.commit()
    for name in names:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
        request = OffsetCommitRequest(group_id=name, topics=[topic])
        answer = handle_offset_commit(broker.context(8), request)
        answer = await settled(broker, answer)
        assert answer.topics[0].partitions[0].error_code == 0


async def listed(broker: Replicas, **filters: list[str]) -> list[tuple[str, str, str]]:
    answer = handle_list_groups(broker.context(5), ListGroupsRequest(**filters))
    answer = await settled(broker, answer)
    assert answer.error_code == 0
    return [
        (each.group_id, each.group_state, each.group_type) for each in answer.groups
    ]


async def test_groups_are_listed_by_state_and_type(tmp_path: Path) -> None:
    async with replicas(tmp_path, **ONE_SHARD) as broker:
        await with_groups(broker, "a", "b")
        both = [("a", "Empty", "classic"), ("b", "Empty", "classic")]
        assert await listed(broker) == both
        assert await listed(broker, states_filter=["empty"]) == both
        assert await listed(broker, states_filter=["Stable"]) == []
        assert await listed(broker, types_filter=["consumer"]) == []


async def test_nothing_is_listed_before_loading_has_begun(tmp_path: Path) -> None:
    """An empty list would say that there are no groups."""
    async with replicas(tmp_path, **ONE_SHARD) as broker:
        await broker.services.groups.create_topic()
        answer = handle_list_groups(broker.context(5), ListGroupsRequest())
        assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("version", [0, 2, 3, 5, 6])
async def test_each_group_is_described(tmp_path: Path, version: int) -> None:
    async with replicas(tmp_path, **ONE_SHARD) as broker:
        await with_groups(broker, "a")
        request = DescribeGroupsRequest(
            groups=["a", "none"], include_authorized_operations=version >= 3
        )
        answer = handle_describe_groups(broker.context(version), request)
        answer = await settled(broker, answer)
        found, missing = answer.groups
        assert (found.group_id, found.error_code, found.group_state) == (
            "a",
            0,
            "Empty",
        )
        expected = ALL_ON_GROUP if version >= 3 else OPERATIONS_NOT_ASKED_FOR
        assert found.authorized_operations == expected
        assert (missing.group_id, missing.group_state) == ("none", "Dead")
        assert missing.error_code == (MISSING if version >= 6 else 0)
        if version >= 6:
            assert missing.authorized_operations == OPERATIONS_NOT_ASKED_FOR
        assert answer.encode(version)


async def test_each_group_is_deleted_once(tmp_path: Path) -> None:
    async with replicas(tmp_path, **ONE_SHARD) as broker:
        await with_groups(broker, "a", "b")
        request = DeleteGroupsRequest(groups_names=["a", "none", "a"])
        answer = handle_delete_groups(broker.context(2), request)
        assert not answer.done()  # not before it is durable
        answer = await settled(broker, answer)
        codes = [(each.group_id, each.error_code) for each in answer.results]
        assert codes == [("a", 0), ("none", MISSING)]
        assert [name for name, *_ in await listed(broker)] == ["b"]


def offset_delete(group: str, *places: tuple[str, int]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[OffsetDeleteRequestPartition(partition_index=number)],
            )
            for topic, number in places
        ],
    )


async def test_each_offset_is_forgotten_or_says_why_not(tmp_path: Path) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    async with replicas(tmp_path, **ONE_SHARD) as broker:
        await with_groups(broker, "a")
        request = offset_delete("a", ("u", 0), ("t", 0), ("t", 2), ("t", -1), ("t", 1))
        answer = handle_offset_delete(broker.context(0), request)
        answer = await settled(broker, answer)
        assert answer.error_code == 0
        codes = [
            (topic.name, each.partition_index, each.error_code)
            for topic in answer.topics
            for each in topic.partitions
        ]
        assert codes == [
            ("u", 0, unknown),
            ("t", 0, 0),
            ("t", 2, unknown),
            ("t", -1, unknown),
            ("t", 1, 0),
        ]
        assert answer.encode(0)


@pytest.mark.parametrize(
    ("group", "code"), [("none", MISSING), ("", ErrorCode.INVALID_GROUP_ID)]
)
async def test_an_error_of_the_group_says_nothing_of_partitions(
    tmp_path: Path, group: str, code: int
) -> None:
    async with replicas(tmp_path, **ONE_SHARD) as broker:
        await with_groups(broker)
        request = offset_delete(group, ("t", 0))
        answer = handle_offset_delete(broker.context(0), request)
        answer = await settled(broker, answer)
        assert (answer.error_code, answer.topics) == (code, [])


async def test_before_there_is_a_coordinator(tmp_path: Path) -> None:
    async with replicas(tmp_path) as broker:
        assert await listed(broker) == []
        request = DeleteGroupsRequest(groups_names=["a"])
        answer = handle_delete_groups(broker.context(2), request)
        answer = await settled(broker, answer)
        assert answer.results[0].error_code in (
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.NOT_COORDINATOR,
        )
