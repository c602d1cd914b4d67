import asyncio
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.topics.create_topics import (
    refuse_create_partitions,
    refuse_create_topics,
)
from odradek.protocol.errors import ErrorCode, NotEnoughReplicas
from odradek.protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.uuids import ZERO_UUID
from tests.fakes.topics import TopicBroker, topic_broker


def a_topic(name: str = "t", **more: Any) -> CreatableTopic:
    given = {"num_partitions": 1, "replication_factor": 1, **more}
    return CreatableTopic(name=name, **given)


def with_options(**options: str | None) -> CreatableTopic:
    return a_topic(
        configs=[
            CreatableTopicConfig(name=name.replace("_", "."), value=value)
            for name, value in options.items()
        ]
    )


async def created(
    broker: TopicBroker, *topics: CreatableTopic, version: int = 7, **more: Any
) -> CreateTopicsResponse:
    request = CreateTopicsRequest(topics=list(topics), **more)
    answer: CreateTopicsResponse = await broker.ask(request, version)
    return answer


@pytest.mark.parametrize("version", range(2, 8))
async def test_a_topic_is_made_in_every_version(tmp_path: Path, version: int) -> None:
    async with topic_broker(tmp_path) as broker:
        answer = await created(broker, a_topic(num_partitions=3), version=version)
        (result,) = answer.topics
        assert (result.name, result.error_code, result.error_message) == ("t", 0, None)
        made = broker.topics.known("t")
        assert len(made.partitions) == 3
        if version >= 5:
            assert (result.num_partitions, result.replication_factor) == (3, 1)
            assert result.configs is not None
            assert len(result.configs) == 33
        assert result.topic_id == (made.topic_id if version >= 7 else ZERO_UUID)


async def test_the_answer_says_which_options_are_the_topics_own(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        answer = await created(broker, with_options(retention_ms="1000"))
        configs = {each.name: each for each in answer.topics[0].configs or ()}
        own = [name for name, each in configs.items() if each.config_source == 1]
        assert own == ["retention.ms"]
        assert configs["retention.ms"].value == "1000"
        assert configs["segment.ms"].config_source == 5


async def test_minus_one_means_the_brokers_defaults(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, num_partitions=5) as broker:
        topic = a_topic(num_partitions=-1, replication_factor=-1)
        (result,) = (await created(broker, topic)).topics
        assert (result.num_partitions, result.replication_factor) == (5, 1)


async def test_of_an_option_that_comes_twice_the_last_counts(tmp_path: Path) -> None:
    twice = [CreatableTopicConfig(name="retention.ms", value=v) for v in ("1", "2")]
    async with topic_broker(tmp_path) as broker:
        await created(broker, a_topic(configs=twice))
        assert broker.topics.known("t").options == {"retention.ms": "2"}


async def test_validate_only_makes_nothing(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await created(broker, a_topic("there"))
        answer = await created(
            broker, a_topic("new"), a_topic("there"), validate_only=True
        )
        new, there = answer.topics
        assert (new.error_code, new.num_partitions) == (0, 1)
        assert new.topic_id != ZERO_UUID
        assert there.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert broker.topics.get("new") is None


BAD_INPUT = {
    "illegal name": (
        a_topic("a b"),
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "'a b' contains",
    ),
    "over-long name": (
        a_topic("x" * 250),
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        "longer than the max allowed length 249",
    ),
    "no name": (a_topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION, "empty string"),
    "too alike": (a_topic("a_b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "topic: a.b"),
    "exists": (a_topic("a.b"), ErrorCode.TOPIC_ALREADY_EXISTS, "already exists"),
    "replication factor 3": (
        a_topic(replication_factor=3),
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "only 1 broker(s) are registered. Use 1, or -1 for the default.",
    ),
    "0 partitions": (
        a_topic(num_partitions=0),
        ErrorCode.INVALID_PARTITIONS,
        "non-positive",
    ),
    "too many partitions": (
        a_topic(num_partitions=2_000_000_000),
        ErrorCode.POLICY_VIOLATION,
        "at most 10000 (create.topics.max.partitions)",
    ),
    "unknown option": (
        with_options(retention_sm="1"),
        ErrorCode.INVALID_CONFIG,
        "Unknown topic config name: retention.sm; did you mean retention.ms?",
    ),
    "option without a value": (
        with_options(retention_ms=None),
        ErrorCode.INVALID_CONFIG,
        "Null value not supported for topic configs: retention.ms",
    ),
    "option of another type": (
        with_options(retention_ms="abc"),
        ErrorCode.INVALID_CONFIG,
        "Invalid value abc for configuration retention.ms",
    ),
    "segments below a mebibyte": (
        with_options(segment_bytes="10"),
        ErrorCode.INVALID_CONFIG,
        "Value must be at least 1048576",
    ),
    "another broker": (
        a_topic(
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[9])],
        ),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "includes broker 9",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
async def test_bad_input_gets_kafkas_code_and_what_to_do(
    tmp_path: Path, case: str
) -> None:
    topic, code, message = BAD_INPUT[case]
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a.b", 1)
        (result,) = (await created(broker, topic)).topics
        assert (result.name, result.error_code) == (topic.name, code)
        assert message in (result.error_message or "")
        assert (result.num_partitions, result.replication_factor) == (-1, -1)
        assert result.topic_id == ZERO_UUID
        assert result.configs == []
        assert len(broker.topics) == 1


async def test_one_bad_topic_does_not_stop_the_others(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        answer = await created(
            broker,
            a_topic("good"),
            a_topic("bad", num_partitions=0),
            a_topic("twice"),
            a_topic("twice"),
        )
        assert [(each.name, each.error_code) for each in answer.topics] == [
            ("good", 0),
            ("bad", ErrorCode.INVALID_PARTITIONS),
            ("twice", ErrorCode.INVALID_REQUEST),
        ]
        assert answer.topics[2].error_message == "Duplicate topic name."
        assert [topic.name for topic in broker.topics] == ["good"]


async def test_the_partitions_of_a_request_are_counted_together(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, create_topics_max_partitions=5) as broker:
        answer = await created(
            broker, *(a_topic(name, num_partitions=3) for name in "ab")
        )
        assert [each.error_code for each in answer.topics] == [
            0,
            ErrorCode.POLICY_VIOLATION,
        ]


async def test_two_requests_for_one_topic_make_it_once(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        answers = await asyncio.gather(*(created(broker, a_topic()) for _ in range(5)))
        codes = sorted(answer.topics[0].error_code for answer in answers)
        assert codes == [0] + [ErrorCode.TOPIC_ALREADY_EXISTS] * 4


async def test_an_empty_request_is_answered(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        assert (await created(broker)).topics == []


def test_a_refused_request_has_the_error_at_every_topic() -> None:
    request = CreateTopicsRequest(topics=[a_topic("a"), a_topic("b"), a_topic("b")])
    answer = refuse_create_topics(request, NotEnoughReplicas("no"))
    assert [(each.name, each.error_message) for each in answer.topics] == [
        ("a", "no"),
        ("b", "no"),
    ]
    widening = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="a")])
    results = refuse_create_partitions(widening, NotEnoughReplicas("no")).results
    assert [each.error_code for each in results] == [ErrorCode.NOT_ENOUGH_REPLICAS]


def wider(
    name: str, count: int, *brokers: list[int], assigned: bool = False
) -> CreatePartitionsTopic:
    assignments = [CreatePartitionsAssignment(broker_ids=ids) for ids in brokers]
    return CreatePartitionsTopic(
        name=name, count=count, assignments=assignments if assigned or brokers else None
    )


async def widened(
    broker: TopicBroker, *topics: CreatePartitionsTopic, version: int = 3, **more: Any
) -> list[tuple[str, int, str | None]]:
    request = CreatePartitionsRequest(topics=list(topics), **more)
    answer = await broker.ask(request, version)
    return [(each.name, each.error_code, each.error_message) for each in answer.results]


@pytest.mark.parametrize("version", range(4))
async def test_a_topic_gets_wider(tmp_path: Path, version: int) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("cp", 2)
        assert await widened(broker, wider("cp", 4), version=version) == [
            ("cp", 0, None)
        ]
        assert len(broker.topics.known("cp").partitions) == 4


async def test_it_gets_wider_where_the_client_says(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("cp", 2)
        assert await widened(broker, wider("cp", 3, [1])) == [("cp", 0, None)]


async def test_validate_only_makes_nothing_wider(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("cp", 2)
        assert await widened(broker, wider("cp", 3), validate_only=True) == [
            ("cp", 0, None)
        ]
        assert len(broker.topics.known("cp").partitions) == 2


@pytest.mark.parametrize(
    ("topic", "code", "message"),
    [
        (
            wider("cp", 1),
            ErrorCode.INVALID_PARTITIONS,
            "The topic cp currently has 2 partition(s); 1 would not be an increase.",
        ),
        (
            wider("cp", 2),
            ErrorCode.INVALID_PARTITIONS,
            "Topic already has 2 partition(s).",
        ),
        (
            wider("cp", -1),
            ErrorCode.INVALID_PARTITIONS,
            "The topic cp currently has 2 partition(s); -1 would not be an increase.",
        ),
        (wider("nope", 3), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
        (
            wider("cp", 3, [1], [1]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Attempted to add 1 additional partition(s), but only 2 assignment(s) were "
            "specified.",
        ),
        (
            wider("cp", 3, [8]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "The manual partition assignment includes broker 8, but no such broker is "
            "registered.",
        ),
        (
            wider("cp", 2_000_000_000),
            ErrorCode.POLICY_VIOLATION,
            "Excessively large number of partitions per request: at most 10000 "
            "(create.topics.max.partitions).",
        ),
    ],
)
async def test_what_cannot_get_wider_says_why(
    tmp_path: Path, topic: CreatePartitionsTopic, code: int, message: str | None
) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("cp", 2)
        for validate_only in (True, False):
            assert await widened(broker, topic, validate_only=validate_only) == [
                (topic.name, code, message)
            ]
        assert len(broker.topics.known("cp").partitions) == 2


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
async def test_topics_of_coordinators_stay_as_they_are(
    tmp_path: Path, name: str
) -> None:
    """Or groups and transactions would be looked for where they are not."""
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic(name, 2)
        for validate_only in (True, False):
            ((_, code, _),) = await widened(
                broker, wider(name, 4), validate_only=validate_only
            )
            assert code == ErrorCode.POLICY_VIOLATION
        assert len(broker.topics.known(name).partitions) == 2


async def test_the_same_topic_twice_is_refused_once(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("cp", 2)
        assert await widened(broker, wider("cp", 6), wider("cp", 7)) == [
            ("cp", ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        ]
