from pathlib import Path
from typing import Any

import pytest

from broker.config.option import Kind
from broker.handlers.configs import (
    refuse_describe_configs,
    refuse_incremental_alter_configs,
)
from protocol.errors import ErrorCode, NotEnoughReplicas
from protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
)
from tests.fakes.topics import TopicBroker, topic_broker

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)


def of_topic(name: str, *keys: str) -> DescribeConfigsResource:
    return DescribeConfigsResource(
        resource_type=TOPIC, resource_name=name, configuration_keys=list(keys) or None
    )


async def described(
    broker: TopicBroker,
    resource: DescribeConfigsResource,
    version: int = 4,
    **more: bool,
) -> DescribeConfigsResult:
    request = DescribeConfigsRequest(resources=[resource], **more)
    answer: Any = await broker.ask(request, version)
    (result,) = answer.results
    assert isinstance(result, DescribeConfigsResult)
    return result


@pytest.mark.parametrize("version", range(1, 5))
async def test_a_topics_options_are_shown(tmp_path: Path, version: int) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1, {"retention.ms": "5"})
        result = await described(broker, of_topic("a"), version)
        assert (result.error_code, result.error_message) == (0, "")
        assert (result.resource_type, result.resource_name) == (TOPIC, "a")
        assert len(result.configs) == 33
        values = {each.name: each for each in result.configs}
        assert values["retention.ms"].value == "5"
        assert values["retention.ms"].config_source == 1
        assert values["segment.ms"].config_source == 5
        assert not any(each.read_only or each.is_sensitive for each in result.configs)
        assert not any(each.synonyms for each in result.configs)
        if version >= 3:
            assert values["retention.ms"].config_type == Kind.LONG
            assert values["retention.ms"].documentation is None


async def test_synonyms_and_meaning_are_shown_to_those_who_ask(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        resource = of_topic("a", "segment.bytes", "no.such")
        result = await described(
            broker, resource, include_synonyms=True, include_documentation=True
        )
        (option,) = result.configs
        (synonym,) = option.synonyms
        assert (synonym.name, synonym.source) == ("log.segment.bytes", 5)
        assert option.documentation == "Size at which a segment rolls."


async def test_a_resource_that_is_asked_for_twice_is_shown_once(
    tmp_path: Path,
) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        request = DescribeConfigsRequest(resources=[of_topic("a")] * 1000)
        assert len((await broker.ask(request, 4)).results) == 1


async def test_no_keys_means_all_keys(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        await broker.topics.create_topic("a", 1)
        resource = DescribeConfigsResource(
            resource_type=TOPIC, resource_name="a", configuration_keys=[]
        )
        assert len((await described(broker, resource)).configs) == 33


async def test_the_brokers_options_are_shown_and_read_only(tmp_path: Path) -> None:
    async with topic_broker(tmp_path, node_id=3) as broker:
        resource = DescribeConfigsResource(
            resource_type=BROKER,
            resource_name="3",
            configuration_keys=["num.partitions", "listeners"],
        )
        result = await described(broker, resource)
        assert [(each.name, each.value) for each in result.configs] == [
            ("listeners", "PLAINTEXT://127.0.0.1:9092"),
            ("num.partitions", "1"),
        ]
        assert all(each.read_only for each in result.configs)
        resource.resource_name = ""
        assert (await described(broker, resource)).configs == []


@pytest.mark.parametrize(
    ("resource_type", "name", "code", "message"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "does not exist"),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid"),
        (BROKER, "9", ErrorCode.INVALID_REQUEST, "expected 1 or empty string"),
        (BROKER, "x", ErrorCode.INVALID_REQUEST, "expected 1 or empty string"),
        (LOGGER, "1", ErrorCode.INVALID_REQUEST, "only topics (2) and brokers (4)"),
        (99, "1", ErrorCode.INVALID_REQUEST, "only topics (2) and brokers (4)"),
    ],
)
async def test_what_has_no_options_says_so(
    tmp_path: Path, resource_type: int, name: str, code: int, message: str
) -> None:
    async with topic_broker(tmp_path) as broker:
        resource = DescribeConfigsResource(
            resource_type=resource_type, resource_name=name, configuration_keys=None
        )
        result = await described(broker, resource)
        assert result.error_code == code
        assert message in (result.error_message or "")
        assert result.configs == []


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
        "set them in its configuration and restart",
    ),
    "a logger": (
        a_change(("x", SET, "1"), name="1", resource_type=LOGGER),
        ErrorCode.INVALID_REQUEST,
        "Unexpected resource type 8",
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
    shown = DescribeConfigsRequest(resources=[of_topic("a")])
    results = refuse_describe_configs(shown, NotEnoughReplicas("no")).results
    assert [each.error_message for each in results] == ["no"]
    change = IncrementalAlterConfigsRequest(resources=[a_change()])
    responses = refuse_incremental_alter_configs(
        change, NotEnoughReplicas("no")
    ).responses
    assert [each.error_message for each in responses] == ["no"]
