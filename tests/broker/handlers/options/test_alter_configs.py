import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.broker.handlers.options.alter_configs import (
    refuse_alter_configs,
    refuse_incremental_alter_configs,
)
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.protocol.errors import ErrorCode, NotEnoughReplicas
from odradek.protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    ReplacedConfigsResource,
    ReplacingConfig,
)
from tests.fakes.topics import TopicBroker, topic_broker

if TYPE_CHECKING:
    from odradek.broker.config.options.broker_config import BrokerConfig

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def a_change(
    *configs: tuple[str, int, str | None], name: str = "a", resource_type: int = TOPIC
) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=resource_type,
        resource_name=name,
        configs=[
            AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in configs
        ],
    )


async def changed(
    broker: TopicBroker,
    *resources: AlterConfigsResource,
    version: int = 1,
    **more: bool,
) -> list[AlterConfigsResourceResponse]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), **more)
    answer: Any = await broker.ask(request, version)
    return list(answer.responses)


@pytest.mark.parametrize("version", [0, 1])
async def test_options_of_a_topic_change(tmp_path: Path, version: int) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1, {"flush.ms": "1", "segment.ms": "2"})
        (result,) = await changed(
            broker,
            a_change(
                ("retention.ms", SET, "5"),
                ("flush.ms", DELETE, None),
                ("cleanup.policy", APPEND, "compact"),
            ),
            version=version,
        )
        assert (result.error_code, result.error_message) == (0, None)
        assert (result.resource_type, result.resource_name) == (TOPIC, "a")
        assert broker.topics.known("a").options == {
            "segment.ms": "2",
            "retention.ms": "5",
            "cleanup.policy": "delete,compact",
        }
        await changed(broker, a_change(("cleanup.policy", SUBTRACT, "delete")))
        assert broker.topics.known("a").options["cleanup.policy"] == "compact"


async def test_validate_only_changes_nothing(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        good = a_change(("retention.ms", SET, "5"))
        bad = a_change(("retention.ms", SET, "x"))
        (result,) = await changed(broker, good, validate_only=True)
        assert result.error_code == 0
        (result,) = await changed(broker, bad, validate_only=True)
        assert result.error_code == ErrorCode.INVALID_CONFIG
        assert broker.topics.known("a").options == {}


BAD_CHANGES = {
    "operation 9": (
        a_change(("retention.ms", 9, "1")),
        ErrorCode.INVALID_REQUEST,
        "Unknown operation 9 for retention.ms: it can be 0 (set)",
    ),
    "no value": (
        a_change(("retention.ms", SET, None)),
        ErrorCode.INVALID_REQUEST,
        "Null value",
    ),
    "an unknown option": (
        a_change(("retention.sm", SET, "1")),
        ErrorCode.INVALID_CONFIG,
        "Unknown topic config name: retention.sm; did you mean retention.ms?",
    ),
    "one good and one bad": (
        a_change(("retention.ms", SET, "1"), ("segment.bytes", SET, "10")),
        ErrorCode.INVALID_CONFIG,
        "at least 1048576",
    ),
    "options that contradict each other": (
        a_change(
            ("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "1")
        ),
        ErrorCode.INVALID_CONFIG,
        "conflict topic config setting",
    ),
    "a topic that is not there": (
        a_change(("retention.ms", SET, "1"), name="nope"),
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "does not exist",
    ),
    "the broker": (
        a_change(("num.partitions", SET, "1"), name="1", resource_type=BROKER),
        ErrorCode.INVALID_REQUEST,
        "Cannot update these configs dynamically: [num.partitions]",
    ),
    "another broker": (
        a_change(("log.roll.ms", SET, "1"), name="2", resource_type=BROKER),
        ErrorCode.INVALID_REQUEST,
        "Unexpected broker id, expected 1, but received 2",
    ),
    "a broker that is no number": (
        a_change(("log.roll.ms", SET, "1"), name="x", resource_type=BROKER),
        ErrorCode.INVALID_REQUEST,
        "must be an integer",
    ),
    "an option that brokers have not": (
        a_change(("log.roll.mss", SET, "1"), name="", resource_type=BROKER),
        ErrorCode.INVALID_CONFIG,
        "did you mean log.roll.ms?",
    ),
    "a value that the broker cannot have": (
        a_change(("log.segment.bytes", SET, "1"), name="", resource_type=BROKER),
        ErrorCode.INVALID_REQUEST,
        "at least 1048576",
    ),
    "no topic": (
        a_change(("retention.ms", SET, "1"), name=""),
        ErrorCode.INVALID_REQUEST,
        "Default topic resources are not allowed.",
    ),
    "no group": (
        a_change(("x", SET, "1"), name="", resource_type=GROUP),
        ErrorCode.INVALID_REQUEST,
        "Default group resources are not allowed.",
    ),
    "no subscription": (
        a_change(("x", SET, "1"), name="", resource_type=METRICS),
        ErrorCode.INVALID_REQUEST,
        "Subscription name can't be empty",
    ),
    "an option that groups have not": (
        a_change(("x", SET, "1"), name="g", resource_type=GROUP),
        ErrorCode.INVALID_CONFIG,
        "Unknown group config name: x",
    ),
    "an option that subscriptions have not": (
        a_change(("x", SET, "1"), name="s", resource_type=METRICS),
        ErrorCode.INVALID_REQUEST,
        "Unknown client metrics configuration: x",
    ),
    "a logger that is not there": (
        a_change(("no.such", SET, "INFO"), name="1", resource_type=LOGGER),
        ErrorCode.INVALID_CONFIG,
        "Logger no.such does not exist!",
    ),
    "to append to a level": (
        a_change(("root", APPEND, "INFO"), name="1", resource_type=LOGGER),
        ErrorCode.INVALID_REQUEST,
        "APPEND operation is not allowed",
    ),
    "a type that there is not": (
        a_change(("x", SET, "1"), name="1", resource_type=3),
        ErrorCode.INVALID_REQUEST,
        "Unknown resource type 3",
    ),
}


@pytest.mark.parametrize("case", BAD_CHANGES)
async def test_bad_changes_are_refused_and_change_nothing(
    tmp_path: Path, case: str
) -> None:
    resource, code, message = BAD_CHANGES[case]
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        (result,) = await changed(broker, resource)
        assert result.error_code == code
        assert message in (result.error_message or "")
        assert broker.topics.known("a").options == {}


async def test_a_log_of_increments_cannot_be_compacted(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        name = "__share_group_state"
        await broker.topics.create_topic(name, 1)
        compact = a_change(("cleanup.policy", SET, "compact"), name=name)
        (result,) = await changed(broker, compact)
        assert result.error_code == ErrorCode.INVALID_CONFIG


async def test_a_topic_that_comes_twice_is_refused_twice(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        await broker.topics.create_topic("b", 1)
        change = a_change(("retention.ms", SET, "1"))
        other = a_change(("retention.ms", SET, "1"), name="b")
        results = await changed(broker, change, other, change)
        assert [each.error_code for each in results] == [
            ErrorCode.INVALID_REQUEST,
            0,
            ErrorCode.INVALID_REQUEST,
        ]
        assert broker.topics.known("a").options == {}


def test_a_refused_request_has_the_error_at_every_resource() -> None:
    change = IncrementalAlterConfigsRequest(resources=[a_change()])
    responses = refuse_incremental_alter_configs(
        change, NotEnoughReplicas("no")
    ).responses
    assert [each.error_message for each in responses] == ["no"]
    whole = AlterConfigsRequest(resources=[a_whole({})])
    responses = refuse_alter_configs(whole, NotEnoughReplicas("no")).responses
    assert [each.error_message for each in responses] == ["no"]


async def test_options_of_the_broker_change_while_it_runs(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, log_retention_ms=9) as broker:
        seen: list[BrokerConfig] = []
        broker.services.live.watch(seen.append)

        async def change(name: str, *configs: tuple[str, int, str | None]) -> int:
            resource = a_change(*configs, name=name, resource_type=BROKER)
            (result,) = await changed(broker, resource)
            return result.error_code

        assert not await change("", ("log.retention.ms", SET, "5"))
        assert broker.services.config.retention_ms == 5
        assert not await change("1", ("log.retention.ms", SET, "6"))
        assert broker.services.config.retention_ms == 6
        assert not await change("1", ("log.cleanup.policy", APPEND, "compact"))
        assert broker.services.config.log_cleanup_policy == ("delete", "compact")
        assert not await change("1", ("num.io.threads", SET, "3"))
        assert await change("1", ("log.retention.ms", SET, "0"))
        assert not await change("1", ("log.retention.ms", DELETE, None))
        assert broker.services.config.retention_ms == 5
        assert not await change("", ("log.retention.ms", DELETE, None))
        assert broker.services.config.retention_ms == 9
        assert seen[-1] is broker.services.config
        assert len(seen) == 6


async def test_what_is_set_for_all_brokers_stays_so(tmp_path: Path) -> None:
    name = "min.insync.replicas"
    async with topic_broker(tmp_path) as broker:
        for change in (
            a_change((name, DELETE, None), name="", resource_type=BROKER),
            a_change((name, DELETE, None), name="1", resource_type=BROKER),
            a_change((name, SET, "1"), name="1", resource_type=BROKER),
        ):
            (refused,) = await changed(broker, change)
            assert refused.error_code == ErrorCode.INVALID_CONFIG
            assert "not removed" in (refused.error_message or "")
        of_one = Resource(ResourceKind.BROKER, "1")
        await broker.services.resources.alter(of_one, lambda _: {name: "1"})
        for change in (
            a_change((name, SET, "1"), name="", resource_type=BROKER),
            a_change((name, DELETE, None), name="1", resource_type=BROKER),
        ):
            (taken,) = await changed(broker, change)
            assert taken.error_code == ErrorCode.NONE
        assert broker.services.resources.of(of_one) == {}


async def test_a_level_changes(tmp_path: Path) -> None:
    name = "odradek.broker.handlers.test_a_level_changes"
    logger = logging.getLogger(name)
    async with topic_broker(tmp_path) as broker:
        change = a_change((name, SET, "TRACE"), name="1", resource_type=LOGGER)
        (result,) = await changed(broker, change, validate_only=True)
        assert result.error_code == 0
        assert logger.level == logging.NOTSET
        await changed(broker, change)
        assert logger.level == 5
        logger.setLevel(logging.NOTSET)


async def test_groups_and_subscriptions_change(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        of_group = a_change(
            ("share.isolation.level", SET, "read_committed"),
            name="g",
            resource_type=GROUP,
        )
        of_metrics = a_change(
            ("interval.ms", SET, "1000"),
            ("metrics", APPEND, "a,b"),
            name="s",
            resource_type=METRICS,
        )
        results = await changed(broker, of_group, of_metrics)
        assert [each.error_code for each in results] == [0, 0]
        assert set_options(broker, "group", "g") == {
            "share.isolation.level": "read_committed"
        }
        assert set_options(broker, "client-metrics", "s") == {
            "interval.ms": "1000",
            "metrics": "a,b",
        }


def set_options(broker: TopicBroker, kind: str, name: str) -> Mapping[str, str]:
    return broker.services.resources.of((kind, name))  # type: ignore[arg-type]


def a_whole(
    options: Mapping[str, str | None], name: str = "a", resource_type: int = TOPIC
) -> ReplacedConfigsResource:
    configs = [ReplacingConfig(name=key, value=text) for key, text in options.items()]
    return ReplacedConfigsResource(
        resource_type=resource_type, resource_name=name, configs=configs
    )


async def replaced(
    broker: TopicBroker,
    *resources: ReplacedConfigsResource,
    version: int = 2,
    **more: bool,
) -> list[AlterConfigsResourceResponse]:
    request = AlterConfigsRequest(resources=list(resources), **more)
    answer: Any = await broker.ask(request, version)
    return list(answer.responses)


@pytest.mark.parametrize("version", range(3))
async def test_all_options_of_a_topic_are_replaced(
    tmp_path: Path, version: int
) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1, {"flush.ms": "1", "segment.ms": "2"})
        whole = a_whole({"retention.ms": "3", "segment.ms": "4"})
        await replaced(broker, whole, version=version, validate_only=True)
        assert broker.topics.known("a").options == {"flush.ms": "1", "segment.ms": "2"}
        (result,) = await replaced(broker, whole, version=version)
        assert (result.error_code, result.error_message) == (0, None)
        assert broker.topics.known("a").options == {
            "retention.ms": "3",
            "segment.ms": "4",
        }
        await replaced(broker, a_whole({}), version=version)
        assert broker.topics.known("a").options == {}


@pytest.mark.parametrize(
    ("whole", "code"),
    [
        (a_whole({"retention.ms": None}), ErrorCode.INVALID_REQUEST),
        (a_whole({"retention.ms": "x"}), ErrorCode.INVALID_CONFIG),
        (a_whole({"nope": "x"}), ErrorCode.INVALID_CONFIG),
        (a_whole({}, "zz"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (a_whole({"num.partitions": "7"}, "1", BROKER), ErrorCode.INVALID_REQUEST),
        (a_whole({"root": "INFO"}, "1", LOGGER), ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_cannot_be_is_refused(
    tmp_path: Path, whole: ReplacedConfigsResource, code: int
) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1, {"flush.ms": "1"})
        (result,) = await replaced(broker, whole)
        assert result.error_code == code
        assert broker.topics.known("a").options == {"flush.ms": "1"}


async def test_all_options_of_the_broker_are_replaced(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await replaced(broker, a_whole({"log.roll.ms": "5"}, "", BROKER))
        await replaced(broker, a_whole({"log.retention.ms": "5"}, "", BROKER))
        assert broker.services.config.log_roll_ms is None
        assert broker.services.config.log_retention_ms == 5
