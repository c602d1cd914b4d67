from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.options.option import Kind
from odradek.broker.handlers.options.describe_configs import refuse_describe_configs
from odradek.protocol.errors import ErrorCode, NotEnoughReplicas
from odradek.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResult,
)
from tests.fakes.topics import TopicBroker, topic_broker

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


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
        (BROKER, "x", ErrorCode.INVALID_REQUEST, "must be an integer"),
        (LOGGER, "9", ErrorCode.INVALID_REQUEST, "expected 1 but received 9"),
        (LOGGER, "", ErrorCode.INVALID_REQUEST, "must not be empty"),
        (METRICS, "", ErrorCode.INVALID_REQUEST, "must not be empty"),
        (GROUP, "", ErrorCode.INVALID_REQUEST, "must not be empty"),
        (99, "1", ErrorCode.INVALID_REQUEST, "Unknown resource type 99"),
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


def test_a_refused_request_has_the_error_at_every_resource() -> None:
    shown = DescribeConfigsRequest(resources=[of_topic("a")])
    results = refuse_describe_configs(shown, NotEnoughReplicas("no")).results
    assert [each.error_message for each in results] == ["no"]


async def test_loggers_groups_and_subscriptions_are_shown(tmp_path: Path) -> None:
    async with topic_broker(tmp_path) as broker:
        for kind, name, option, value in (
            (LOGGER, "1", "root", None),
            (METRICS, "anything", "interval.ms", "300000"),
            (GROUP, "anything", "consumer.session.timeout.ms", "45000"),
        ):
            resource = DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=[option]
            )
            [found] = (await described(broker, resource)).configs
            assert found.name == option
            assert not found.read_only
            assert value in (None, found.value)


async def test_a_secret_is_not_shown(tmp_path: Path) -> None:
    options = {"ssl_key_password": "secret", "explicit": {"ssl.key.password"}}
    async with topic_broker(tmp_path, **options) as broker:
        resource = DescribeConfigsResource(
            resource_type=BROKER,
            resource_name="1",
            configuration_keys=["ssl.key.password"],
        )
        [found] = (await described(broker, resource, include_synonyms=True)).configs
        assert found.is_sensitive
        assert found.value is None
        assert [each.value for each in found.synonyms] == [None]
