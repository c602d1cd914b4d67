from pathlib import Path

import pytest

from odradek.broker.handlers.authorized_operations import ALL_ON_TOPIC
from odradek.broker.handlers.topics.describe_topic_partitions import (
    refuse_describe_topic_partitions,
)
from odradek.protocol.errors import ErrorCode, InvalidRequest
from odradek.protocol.messages.metadata import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from tests.fakes.topics import TopicBroker, topic_broker


def asked(
    *names: str, limit: int = 2000, cursor: Cursor | None = None
) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor,
    )


def shown(
    answer: DescribeTopicPartitionsResponse,
) -> list[tuple[str | None, list[int]]]:
    return [
        (topic.name, [each.partition_index for each in topic.partitions])
        for topic in answer.topics
    ]


async def test_a_topic_is_described(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        made = await broker.topics.create_topic("a", 1)
        answer = await broker.ask(asked("a"), 0)
        (topic,) = answer.topics
        assert (topic.name, topic.topic_id) == ("a", made.topic_id)
        assert topic.topic_authorized_operations == 3576
        (partition,) = topic.partitions
        assert (partition.leader_id, partition.leader_epoch) == (1, 0)
        assert partition.replica_nodes == partition.isr_nodes == [1]
        assert partition.eligible_leader_replicas == partition.last_known_elr == []
        assert answer.next_cursor is None


async def test_nothing_named_means_all_by_name(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        for name in "cab":
            await broker.topics.create_topic(name, 1)
        assert shown(await broker.ask(asked(), 0)) == [
            ("a", [0]),
            ("b", [0]),
            ("c", [0]),
        ]


async def all_pages(
    broker: TopicBroker, limit: int
) -> list[list[tuple[str | None, list[int]]]]:
    pages: list[list[tuple[str | None, list[int]]]] = []
    cursor = None
    while not pages or cursor is not None:
        answer = await broker.ask(asked(limit=limit, cursor=cursor), 0)
        pages.append(shown(answer))
        cursor = answer.next_cursor
    return pages


async def test_pages_end_in_the_middle_of_a_topic(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 3)
        await broker.topics.create_topic("b", 2)
        assert await all_pages(broker, 2) == [
            [("a", [0, 1])],
            [("a", [2]), ("b", [0])],
            [("b", [1])],
        ]
        # A page that ends with a topic points to the next one.
        assert await all_pages(broker, 3) == [[("a", [0, 1, 2])], [("b", [0, 1])]]
        assert len(await all_pages(broker, 0)) == 5
        assert len(await all_pages(broker, -1)) == 5


async def test_the_broker_has_a_limit_of_its_own(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, max_request_partition_size_limit=2) as broker:
        await broker.topics.create_topic("a", 3)
        answer = await broker.ask(asked("a"), 0)
        assert shown(answer) == [("a", [0, 1])]
        assert answer.next_cursor == Cursor(topic_name="a", partition_index=2)


async def test_a_cursor_of_a_topic_that_is_gone_goes_on_with_the_next(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("c", 2)
        cursor = Cursor(topic_name="b", partition_index=1)
        assert shown(await broker.ask(asked(cursor=cursor), 0)) == [("c", [0, 1])]


async def test_unknown_and_illegal_names_have_their_codes(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        answer = await broker.ask(asked("nope", "a b"), 0)
        assert {topic.name: topic.error_code for topic in answer.topics} == {
            "nope": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        }
        told = {topic.topic_authorized_operations for topic in answer.topics}
        assert told == {ALL_ON_TOPIC}, "what could be done to it"


async def test_an_impossible_cursor_is_refused(tmp_path: Path) -> None:
    request = asked("a", cursor=Cursor(topic_name="a", partition_index=-1))
    async with topic_broker(tmp_path) as broker:
        with pytest.raises(InvalidRequest):
            await broker.ask(request, 0)
    answer = refuse_describe_topic_partitions(request, InvalidRequest())
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]
