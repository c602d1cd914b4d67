from pathlib import Path

import pytest

from odradek.broker.config.options.listener import Listener
from odradek.broker.handlers.topics.metadata import refuse_metadata
from odradek.protocol.errors import ErrorCode, InvalidRequest, UnknownServerError
from odradek.protocol.messages.metadata import (
    OPERATIONS_NOT_ASKED,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponseTopic,
    TopicRequest,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import ZERO_UUID, random_uuid
from tests.fakes.topics import topic_broker

VERSIONS = range(14)


def named(*names: str) -> list[MetadataRequestTopic]:
    return [MetadataRequestTopic(name=name) for name in names]


def codes(topics: list[MetadataResponseTopic]) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in topics}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_is_described_in_every_version(
    tmp_path: Path, version: int
) -> None:
    async with topic_broker(tmp_path, broker_rack="r1") as broker:
        made = await broker.topics.create_topic("m1", 2)
        answer = await broker.ask(MetadataRequest(topics=named("m1")), version)
        (node,) = answer.brokers
        assert (node.node_id, node.host, node.port) == (1, "127.0.0.1", 29692)
        assert node.rack == ("r1" if version >= 1 else None)
        (topic,) = answer.topics
        assert (topic.error_code, topic.name) == (0, "m1")
        assert topic.topic_id == (made.topic_id if version >= 10 else ZERO_UUID)
        assert [p.partition_index for p in topic.partitions] == [0, 1]
        for partition in topic.partitions:
            assert partition.leader_id == 1
            assert partition.leader_epoch == (0 if version >= 7 else -1)
            assert partition.replica_nodes == partition.isr_nodes == [1]
            assert partition.offline_replicas == []
        assert topic.topic_authorized_operations == OPERATIONS_NOT_ASKED
        assert answer.cluster_authorized_operations == OPERATIONS_NOT_ASKED
        if version >= 1:
            assert answer.controller_id == 1
        if version >= 2:
            assert answer.cluster_id == broker.topics.cluster_id


async def test_all_topics_are_an_empty_list_in_version_0_and_null_later(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        await broker.topics.create_topic("b", 1)
        every = await broker.ask(MetadataRequest(topics=[]), 0)
        assert codes(every.topics) == {"a": 0, "b": 0}
        for version in VERSIONS[1:]:
            nothing = await broker.ask(MetadataRequest(topics=[]), version)
            assert nothing.topics == []
            every = await broker.ask(MetadataRequest(topics=None), version)
            assert codes(every.topics) == {"a": 0, "b": 0}


@pytest.mark.parametrize("version", [3, 12])
async def test_an_unknown_topic_is_made_before_the_answer(
    tmp_path: Path, version: int
) -> None:
    async with topic_broker(tmp_path, num_partitions=3) as broker:
        answer = await broker.ask(MetadataRequest(topics=named("new")), version)
        (topic,) = answer.topics
        assert topic.error_code == ErrorCode.NONE
        assert len(topic.partitions) == 3
        assert broker.topics.get("new") is not None


async def test_that_it_is_made_is_told_and_audited(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "odradek")
    async with topic_broker(tmp_path, num_partitions=3) as broker:
        await broker.topics.create_topic("old", 1)
        request = MetadataRequest(topics=named("old", "new", "a b"))
        for _ in range(2):
            await broker.ask(request, 12)
    audit, line = caplog.records
    assert audit.name == "odradek.audit"
    assert vars(audit)["api"] == "AutoCreateTopics"
    assert vars(audit)["request"] == {"topics": [{"name": "new", "num_partitions": 3}]}
    assert line.getMessage() == (
        "topic new is made with 3 partitions: a client at 127.0.0.1:0 asked for it, "
        "and auto.create.topics.enable is on"
    )


async def test_it_is_not_made_when_the_request_says_so(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        request = MetadataRequest(topics=named("new"), allow_auto_topic_creation=False)
        answer = await broker.ask(request, 12)
        assert codes(answer.topics) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert len(broker.topics) == 0


async def test_it_is_not_made_when_the_broker_says_so(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, auto_create_topics_enable=False) as broker:
        request = MetadataRequest(topics=named("new", "a b", "__consumer_offsets"))
        for version in (3, 12):
            answer = await broker.ask(request, version)
            assert codes(answer.topics) == {
                "new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                "a b": ErrorCode.INVALID_TOPIC_EXCEPTION,
                "__consumer_offsets": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            }
            assert [topic.is_internal for topic in answer.topics] == [
                False,
                False,
                True,
            ]
        assert len(broker.topics) == 0


async def test_illegal_names_are_not_made(tmp_path: Path) -> None:
    illegal = ["a b", "", ".", "..", "x" * 250, "a/b", "č", "a:b"]
    async with topic_broker(tmp_path) as broker:
        answer = await broker.ask(MetadataRequest(topics=named(*illegal, "good")), 12)
        assert codes(answer.topics) == {
            **dict.fromkeys(illegal, ErrorCode.INVALID_TOPIC_EXCEPTION),
            "good": ErrorCode.NONE,
        }


async def test_names_that_collide_are_not_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("m.1", 1)
        answer = await broker.ask(MetadataRequest(topics=named("m_1")), 12)
        assert codes(answer.topics) == {"m_1": ErrorCode.INVALID_TOPIC_EXCEPTION}
        assert "collides with existing topic: m.1" in caplog.text


async def test_topics_of_the_coordinators_are_made_their_way(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        answer = await broker.ask(
            MetadataRequest(topics=named("__consumer_offsets")), 12
        )
        (topic,) = answer.topics
        assert topic.is_internal
        assert len(topic.partitions) == 50
        made = broker.topics.known("__consumer_offsets")
        assert made.options["cleanup.policy"] == "compact"


async def test_a_topic_that_is_asked_for_twice_is_answered_once(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        answer = await broker.ask(MetadataRequest(topics=named("a", "a")), 12)
        assert codes(answer.topics) == {"a": 0}
        assert len(answer.topics) == 1


@pytest.mark.parametrize("version", [12, 13])
async def test_topics_can_be_asked_for_by_id(tmp_path: Path, version: int) -> None:
    async with topic_broker(tmp_path) as broker:
        made = await broker.topics.create_topic("a", 1)
        unknown = random_uuid()
        topics = [
            MetadataRequestTopic(name=None, topic_id=made.topic_id),
            MetadataRequestTopic(name=None, topic_id=unknown),
        ]
        answer = await broker.ask(MetadataRequest(topics=topics), version)
        found, missing = answer.topics
        assert (found.name, found.error_code) == ("a", 0)
        assert missing.name is None
        assert missing.topic_id == unknown
        assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("version", [12, 13])
@pytest.mark.parametrize("name", [None, "", "b", "made"])
async def test_an_id_counts_whatever_name_stands_beside_it(
    tmp_path: Path, version: int, name: str | None
) -> None:
    async with topic_broker(tmp_path) as broker:
        made = await broker.topics.create_topic("a", 1)
        await broker.topics.create_topic("b", 1)
        unknown = random_uuid()
        for topic_id, expected in (
            (made.topic_id, ("a", ErrorCode.NONE)),
            (unknown, (None, ErrorCode.UNKNOWN_TOPIC_ID)),
        ):
            asked = [MetadataRequestTopic(name=name, topic_id=topic_id)]
            answer = await broker.ask(MetadataRequest(topics=asked), version)
            (topic,) = answer.topics
            assert (topic.name, topic.error_code) == expected
            assert topic.topic_id == topic_id
        assert broker.topics.get("made") is None


async def test_a_request_with_ids_is_one_by_ids_alone(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        a = await broker.topics.create_topic("a", 1)
        await broker.topics.create_topic("b", 1)
        by_id = MetadataRequestTopic(name=None, topic_id=a.topic_id)
        for topics in (
            [by_id, *named("a")],
            [*named("a"), by_id],
            [*named("a", "b", "made"), by_id, by_id],
        ):
            answer = await broker.ask(MetadataRequest(topics=topics), 13)
            assert codes(answer.topics) == {"a": 0}
            assert len(answer.topics) == 1
        assert broker.topics.get("made") is None


async def test_ids_are_refused_where_versions_have_no_room_for_them(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        for version in (10, 11):
            for name, topic_id in ((None, ZERO_UUID), ("a", random_uuid())):
                topic = MetadataRequestTopic(name=name, topic_id=topic_id)
                with pytest.raises(InvalidRequest):
                    await broker.ask(MetadataRequest(topics=[topic]), version)
        nothing = MetadataRequestTopic(name=None)
        with pytest.raises(UnknownServerError):
            await broker.ask(MetadataRequest(topics=[nothing]), 12)


def test_a_refused_request_has_the_error_at_every_topic() -> None:
    topic_id = random_uuid()
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=None, topic_id=topic_id)]
    )
    answer = refuse_metadata(request, InvalidRequest("no"))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    (topic,) = answer.topics
    assert (topic.error_code, topic.topic_id) == (ErrorCode.INVALID_REQUEST, topic_id)
    for version in VERSIONS:
        answer.encode(version)


async def test_operations_are_told_to_those_who_ask(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        request = MetadataRequest(
            topics=named("a"),
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=True,
        )
        answer = await broker.ask(request, 8)
        assert answer.topics[0].topic_authorized_operations == 3576
        assert answer.cluster_authorized_operations == 8096


async def test_the_address_is_the_advertised_one_where_there_is_one(
    tmp_path: Path,
) -> None:
    advertised = (Listener("PLAINTEXT", "example.org", 99),)
    async with topic_broker(tmp_path, advertised_listeners=advertised) as broker:
        answer = await broker.ask(MetadataRequest(topics=[]), 12)
        assert (answer.brokers[0].host, answer.brokers[0].port) == ("example.org", 99)


async def test_a_partition_without_its_files_has_no_leader(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        topic = await broker.topics.create_topic("a", 2)
        broker.topics.offline.add(TopicPartition("a", 1))
        request = MetadataRequest(topics=[MetadataRequestTopic(name="a")])
        (described,) = (await broker.ask(request, 12)).topics
        assert described.error_code == ErrorCode.NONE
        there, gone = described.partitions
        assert (there.error_code, there.leader_id, there.offline_replicas) == (0, 1, [])
        assert gone.error_code == ErrorCode.LEADER_NOT_AVAILABLE
        assert (gone.leader_id, gone.offline_replicas) == (-1, [1])
        pages = DescribeTopicPartitionsRequest(topics=[TopicRequest(name="a")])
        (described,) = (await broker.ask(pages, 0)).topics
        assert [each.leader_id for each in described.partitions] == [1, -1]
        await broker.topics.begin_deletions([topic.topic_id])
        assert not broker.topics.offline
