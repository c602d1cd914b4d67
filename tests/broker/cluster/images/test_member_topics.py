import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cluster.images.member_topics import MemberTopics
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.auto_create import new_topic
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.topic import NewTopic, Topic
from odradek.broker.quorum.image.image import MetadataImage
from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    KafkaError,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from odradek.protocol.messages.brokers import AllocateProducerIdsResponse
from odradek.protocol.messages.topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.broker.cluster.cluster_state import topic_id


class FakeController:
    """Makes topics, but for those whose names it does not like."""

    node_id = 1
    broker_epoch = 100

    def __init__(self, topics: MemberTopics) -> None:
        self.topics = topics
        self.asked: list[Any] = []
        self.made: list[NewTopic] = []
        self.id_error = 0
        self.is_away = False
        self.gate: asyncio.Event | None = None  # topics are made when it is set

    async def ask_controller(self, request: Any, response_class: Any) -> Any:
        self.asked.append(request)
        if self.is_away:
            raise RequestTimedOut("no controller has answered")
        if self.gate is not None:
            await self.gate.wait()
        if not isinstance(request, CreateTopicsRequest):
            return AllocateProducerIdsResponse(
                producer_id_start=4000, producer_id_len=1000, error_code=self.id_error
            )
        results = []
        for each in request.topics:
            code = 38 if each.name == "bad" else 0
            results.append(
                CreatableTopicResult(name=each.name, error_code=code, configs=[])
            )
            if not code:
                options = {x.name: x.value or "" for x in each.configs}
                new = NewTopic(each.name, 3, options, topic_id(each.name))
                self.made.append(new)
        return CreateTopicsResponse(topics=results)

    async def applied_until(
        self, is_there: Callable[[MetadataImage], bool], timeout_ms: int
    ) -> bool:
        await self.topics.take_topics(self.made)
        return True


@asynccontextmanager
async def member(
    directory: Path, config: BrokerConfig | None = None
) -> AsyncIterator[tuple[MemberTopics, FakeController]]:
    catalog = Catalog.open(directory)
    topics = MemberTopics(catalog, config or BrokerConfig())
    topics.controller = FakeController(topics)
    try:
        yield topics, topics.controller
    finally:
        await catalog.close()


async def test_topics_are_made_by_the_controllers(tmp_path: Path) -> None:
    async with member(tmp_path) as (topics, controller):
        wanted = [NewTopic("a", -1, {"retention.ms": "1"}), NewTopic("bad", 1, {})]
        made, refused = await topics.create_topics(wanted)
        assert isinstance(made, Topic)
        assert (made.topic_id, len(made.partitions)) == (topic_id("a"), 3)
        assert isinstance(refused, KafkaError)
        assert refused.code == 38
        asked = controller.asked[0].topics[0]
        assert (asked.num_partitions, asked.replication_factor) == (-1, -1)
        assert asked.configs[0].value == "1"
        assert await topics.create_topics([]) == []


@pytest.mark.parametrize(
    ("name", "options", "factor", "least"),
    [
        ("__consumer_offsets", {}, 3, None),
        ("__consumer_offsets", {"offsets_topic_replication_factor": 2}, 2, None),
        ("__transaction_state", {}, 3, "2"),
        ("__transaction_state", {"transaction_state_log_min_isr": 1}, 3, "1"),
        ("__share_group_state", {}, 3, "2"),
        ("a", {}, -1, None),
        ("a", {"default_replication_factor": 2}, 2, None),
    ],
)
async def test_how_many_copies_are_asked_for(
    tmp_path: Path, name: str, options: dict[str, Any], factor: int, least: str | None
) -> None:
    explicit = frozenset(each.replace("_", ".") for each in options)
    config = BrokerConfig(**options, explicit=explicit)
    async with member(tmp_path, config) as (topics, controller):
        await topics.create_topics([new_topic(name, config)])
        asked = controller.asked[0].topics[0]
        assert asked.replication_factor == factor
        given = {each.name: each.value for each in asked.configs}
        assert given.get("min.insync.replicas") == least


async def test_producer_ids_are_those_of_the_controllers(tmp_path: Path) -> None:
    async with member(tmp_path) as (topics, controller):
        assert await topics.allocate_producer_id_block() == range(4000, 5000)
        (asked,) = controller.asked
        assert (asked.broker_id, asked.broker_epoch) == (1, 100)
        controller.id_error = 77
        with pytest.raises(CoordinatorNotAvailable):
            await topics.allocate_producer_id_block()


async def test_what_is_being_made_is_not_asked_for_again(tmp_path: Path) -> None:
    async with member(tmp_path) as (topics, controller):
        controller.gate = asyncio.Event()
        a, b = NewTopic("a", -1, {}), NewTopic("b", -1, {})
        waiting = [
            asyncio.create_task(topics.create_topics(wanted))
            for wanted in ([a], [a], [a, b])
        ]
        await asyncio.sleep(0)
        controller.gate.set()
        made = [topic for task in waiting for topic in await task]
        assert [getattr(each, "name", None) for each in made] == ["a", "a", "a", "b"]
        names = [topic.name for asked in controller.asked for topic in asked.topics]
        assert names == ["a", "b"]


async def test_nobody_waits_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.broker.cluster.images.member_topics._PATIENCE_S", 0)
    async with member(tmp_path) as (topics, controller):
        controller.gate = asyncio.Event()
        for _ in range(2):
            (unknown,) = await topics.create_topics([NewTopic("a", -1, {})])
            assert isinstance(unknown, UnknownTopicOrPartition)
        assert len(controller.asked) == 1
        controller.gate.set()
        monkeypatch.undo()
        (made,) = await topics.create_topics([NewTopic("a", -1, {})])
        assert isinstance(made, Topic)
        assert len(controller.asked) == 1


async def test_the_log_says_why_there_is_no_topic(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with member(tmp_path) as (topics, controller):
        for _ in range(3):
            await topics.create_topics([NewTopic("bad", 1, {})])
        controller.is_away = True
        (away,) = await topics.create_topics([NewTopic("a", 1, {})])
        assert isinstance(away, RequestTimedOut)
    first, second = [each.getMessage() for each in caplog.records]
    assert "default.replication.factor says how many copies it gets" in first
    assert "no topic a: no controller has answered" in second
