from pathlib import Path
from typing import Any

import pytest

from odradek.broker.handlers.topics.delete_topics import refuse_delete_topics
from odradek.protocol.errors import (
    ErrorCode,
    InvalidRequest,
    KafkaStorageError,
    TopicDeletionDisabled,
)
from odradek.protocol.messages.topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import ZERO_UUID, random_uuid
from tests.fakes.topics import TopicBroker, topic_broker


async def deleted(
    broker: TopicBroker, version: int, *names: str
) -> list[DeletableTopicResult]:
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name) for name in names], topic_names=list(names)
    )
    answer: Any = await broker.ask(request, version)
    return list(answer.responses)


@pytest.mark.parametrize("version", range(1, 7))
async def test_a_topic_is_deleted_in_every_version(
    tmp_path: Path, version: int
) -> None:
    async with topic_broker(tmp_path) as broker:
        made = await broker.topics.create_topic("a", 2)
        (result,) = await deleted(broker, version, "a")
        assert (result.name, result.error_code) == ("a", 0)
        assert result.topic_id == (made.topic_id if version >= 6 else ZERO_UUID)
        assert result.error_message is None
        assert broker.topics.get("a") is None
        assert broker.replica_manager.stopped == [
            TopicPartition("a", 0),
            TopicPartition("a", 1),
        ]


async def test_its_name_can_be_used_at_once(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        await deleted(broker, 6, "a")
        await broker.topics.create_topic("a", 1)


async def test_a_topic_is_deleted_by_id(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        made = await broker.topics.create_topic("a", 1)
        unknown = random_uuid()
        states = [
            DeleteTopicState(name=None, topic_id=made.topic_id),
            DeleteTopicState(name=None, topic_id=unknown),
        ]
        answer = await broker.ask(DeleteTopicsRequest(topics=states), 6)
        found, missing = answer.responses
        assert (found.name, found.error_code) == ("a", 0)
        assert (missing.name, missing.topic_id) == (None, unknown)
        assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_ID


async def test_bad_entries_are_refused_one_by_one(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        made = await broker.topics.create_topic("a", 1)
        states = [
            DeleteTopicState(name="nope"),
            DeleteTopicState(name="twice"),
            DeleteTopicState(name="twice"),
            DeleteTopicState(name=None),
            DeleteTopicState(name="both", topic_id=made.topic_id),
            DeleteTopicState(name="a"),
        ]
        answer = await broker.ask(DeleteTopicsRequest(topics=states), 6)
        assert [(each.name, each.error_code) for each in answer.responses] == [
            ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            ("twice", ErrorCode.INVALID_REQUEST),
            (None, ErrorCode.INVALID_REQUEST),
            ("both", ErrorCode.INVALID_REQUEST),
            ("a", 0),
        ]
        assert "Duplicate topic name." in (answer.responses[1].error_message or "")


@pytest.mark.parametrize("order", ["name id", "id name", "id name id", "name id name"])
async def test_one_topic_by_name_and_by_id(tmp_path: Path, order: str) -> None:
    async with topic_broker(tmp_path) as broker:
        made = await broker.topics.create_topic("a", 1)
        state = {
            "name": DeleteTopicState(name="a"),
            "id": DeleteTopicState(name=None, topic_id=made.topic_id),
        }
        states = [state[each] for each in order.split()]
        answer = await broker.ask(DeleteTopicsRequest(topics=states), 6)
        found = {
            (each.name, each.topic_id): (each.error_code, each.error_message)
            for each in answer.responses
        }
        refused, twice = ErrorCode.INVALID_REQUEST, "Duplicate topic "
        both = (
            refused,
            ("The provided topic name maps to an ID that was already supplied."),
        )
        # As Apache Kafka 4.3.1 answers each of them.
        assert (
            found
            == {
                "name id": {("a", made.topic_id): both},
                "id name": {("a", made.topic_id): both},
                "id name id": {
                    ("a", made.topic_id): both,
                    (None, made.topic_id): (refused, f"{twice}id."),
                },
                "name id name": {
                    ("a", made.topic_id): (ErrorCode.NONE, None),
                    ("a", ZERO_UUID): (refused, f"{twice}name."),
                },
            }[order]
        )
        is_there = broker.topics.get("a") is not None
        assert is_there == (order != "name id name")


async def test_deletion_can_be_switched_off(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, delete_topic_enable=False) as broker:
        await broker.topics.create_topic("a", 1)
        with pytest.raises(TopicDeletionDisabled, match=r"delete\.topic\.enable is"):
            await deleted(broker, 6, "a")
        with pytest.raises(InvalidRequest):
            await deleted(broker, 2, "a")
        assert broker.topics.get("a") is not None


async def test_a_directory_that_cannot_be_renamed_is_told(tmp_path: Path) -> None:
    def fail(topic_partition: TopicPartition, removal_ms: int = 0) -> None:
        raise KafkaStorageError("cannot rename a-0")

    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        broker.log_manager.names.add(TopicPartition("a", 0))
        broker.log_manager.delete = fail  # type: ignore[method-assign]
        (result,) = await deleted(broker, 6, "a")
        assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert result.error_message == "cannot rename a-0"
        assert broker.topics.is_reserved("a")


@pytest.mark.parametrize("version", range(1, 7))
def test_a_refused_request_has_the_error_at_every_topic(version: int) -> None:
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name="a")] if version >= 6 else [], topic_names=["a"]
    )
    answer = refuse_delete_topics(request, InvalidRequest("no"))
    assert [each.error_code for each in answer.responses] == [ErrorCode.INVALID_REQUEST]
    answer.encode(version)
